"""The JavaScript client: made from the service's document, with the rules of the Python client."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from faircascade.client import Feedback, Item, RecommendationRequest, operations
from faircascade.client.transport import RetryRule

ROOT = Path(__file__).parents[3]
CLIENT = ROOT / "clients" / "javascript"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")
RULES = {
    "ALWAYS": RetryRule.ALWAYS,
    "IF_NOT_PROCESSED": RetryRule.IF_NOT_PROCESSED,
    "NEVER": RetryRule.NEVER,
}
CALLS = [
    operations.recommend("u"),
    operations.recommend_many([RecommendationRequest("u")]),
    operations.feedback("i"),
    operations.feedback_many([Feedback("i")]),
    operations.put_items([Item("a", [1.0])]),
    operations.remove_item("a"),
    operations.item("a"),
    operations.item_page(0, None),
    operations.user("u"),
    operations.erase_user("u"),
    operations.exposure(),
    operations.exposure_items(),
    operations.exposure_history(),
    operations.policy(),
    operations.ready(),
]
"""What the Python client can ask for."""


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("javascript_client", CLIENT / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["javascript_client"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_the_files_are_what_the_generator_makes_now(generator) -> None:
    for name, text in generator.files().items():
        made = (CLIENT / name).read_text(encoding="utf-8")
        assert made == text, f"{name} is old: run python clients/javascript/generate.py"


def test_it_repeats_what_the_python_client_repeats(generator) -> None:
    rules = {
        (call.method, re.sub(r"\{\w+\}", "*", call.path)): (
            RULES[generator.RETRY.get(call.name, "ALWAYS")],
            frozenset(call.answers),
        )
        for call in generator.operations(generator.openapi())
    }
    for request in map(next, CALLS):
        path = re.sub(r"^(/v1/(?:items|users)/).+", r"\1*", request.path)
        assert rules[request.method, path] == (request.retry, request.answers)


def test_its_numbers_are_those_of_the_python_client() -> None:
    from faircascade.client import retry

    text = (CLIENT / "faircascade.js").read_text(encoding="utf-8")
    constants = dict(re.findall(r"const (\w+_MS) = (\d+);", text))
    for name, value in constants.items():
        assert int(value) == 1000 * getattr(retry, name.removesuffix("_MS"))
    assert len(constants) == 4
    policy = retry.RetryPolicy()
    assert (
        f"timeoutMs = {1000 * policy.timeout:.0f}, deadlineMs = {1000 * policy.deadline:.0f}"
        in text
    )


@needs_node
@pytest.mark.parametrize("name", ["retry", "service"])
def test_in_node(name) -> None:
    assert NODE is not None
    run = subprocess.run(
        [NODE, "--test", str(Path(__file__).with_name(f"{name}.test.mjs"))],
        env=os.environ | {"FAIRCASCADE_PYTHON": sys.executable, "FAIRCASCADE_KEY": ""},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert run.returncode == 0, run.stdout + run.stderr


@needs_node
def test_the_example_of_its_readme_runs(tmp_path) -> None:
    from tests.service.server_process import running

    assert NODE is not None
    readme = (CLIENT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```javascript\n(.*?)```", readme, re.DOTALL)
    script = tmp_path / "example.mjs"
    with running("--demo", "--demo-rate", "0", folder=tmp_path) as server:
        code = code.replace('"faircascade"', json.dumps((CLIENT / "faircascade.js").as_uri()))
        script.write_text(code.replace("http://127.0.0.1:8000", server.url), encoding="utf-8")
        run = subprocess.run([NODE, str(script)], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "the second item was clicked"
