"""What the Helm chart makes of its values, as far as it can be seen without Helm and a cluster."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

import faircascade
from tests.deploy.chart import ABOUT, CHART, DEFAULTS, SCHEMA, Document, render
from tests.deploy.go_template import TemplateError

NEEDED = {
    "image": {"repository": "repo/faircascade"},
    "store": {"existingSecret": "redis"},
    "keys": {"existingSecret": "api-keys"},
}
EVERYTHING = {
    "image": {"repository": "repo/faircascade", "tag": "7"},
    "imagePullSecrets": [{"name": "pull"}],
    "replicas": 3,
    "workers": 2,
    "store": {"url": 'rediss://:it\'s "odd"@redis:6379/0'},
    "keys": {"file": '{"keys": []}\n'},
    "items": {"file": 'item_id,f1\n"a",1\n'},
    "options": ["--policy=ealinucb", '--topics="a b"'],
    "eventLog": {"existingClaim": "history", "rotate": "30m"},
    "ttl": 1.5,
    "noClickAfter": 30,
    "noClickShown": 3,
    "coldStart": 20,
    "rateLimit": 200,
    "traces": "http://collector:4318",
    "rules": "at_most = {group = 2}\n",
    "rewards": "[values]\nplayed = 0.5\n",
    "proxies": ["10.0.0.0/8", "fd00::/8"],
    "serviceMonitor": {"enabled": True, "keySecret": "wall", "labels": {"release": "prometheus"}},
    "podAnnotations": {"team": "shop"},
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "a", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
}
CASES = {
    "needed": NEEDED,
    "everything": EVERYTHING,
    "claim": NEEDED | {"items": {"existingClaim": "catalogue", "name": "items.parquet"}},
    "config map": NEEDED | {"items": {"existingConfigMap": "catalogue"}},
    "no budget": NEEDED | {"podDisruptionBudget": {"enabled": False}},
}
KINDS = {
    "Deployment": ("apps/v1", {"replicas", "selector", "template"}),
    "Service": ("v1", {"selector", "ports", "type"}),
    "PodDisruptionBudget": ("policy/v1", {"selector", "maxUnavailable"}),
    "Secret": ("v1", None),
    "ConfigMap": ("v1", None),
    "ServiceMonitor": ("monitoring.coreos.com/v1", {"selector", "endpoints"}),
}
"""The version of each kind, and what its spec must say."""


def _only(documents: list[Document], kind: str) -> Document:
    (document,) = [document for document in documents if document["kind"] == kind]
    return document


def _pod(documents: list[Document]) -> dict[str, Any]:
    pod: dict[str, Any] = _only(documents, "Deployment")["spec"]["template"]["spec"]
    return pod


@pytest.mark.parametrize("values", CASES.values(), ids=CASES)
def test_documents_have_the_fields_that_kubernetes_requires(values) -> None:
    documents = render(values)
    for document in documents:
        version, fields = KINDS[document["kind"]]
        assert document["apiVersion"] == version
        assert document["metadata"]["name"].startswith("shop")
        assert all(isinstance(v, str) for v in document["metadata"]["labels"].values())
        if fields is not None:
            assert fields <= document["spec"].keys()
    named = [(document["kind"], document["metadata"]["name"]) for document in documents]
    assert len(set(named)) == len(named)


@pytest.mark.parametrize("values", CASES.values(), ids=CASES)
def test_documents_find_one_another(values) -> None:
    documents = render(values)
    deployment, service = _only(documents, "Deployment"), _only(documents, "Service")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert service["spec"]["selector"].items() <= labels.items()
    for document in documents:
        if document["kind"] in ("PodDisruptionBudget", "ServiceMonitor"):
            assert document["spec"]["selector"]["matchLabels"].items() <= labels.items()

    pod = _pod(documents)
    (container,) = pod["containers"]
    ports = {port["name"] for port in container["ports"]}
    assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports
    assert {mount["name"] for mount in container["volumeMounts"]} == {
        v["name"] for v in pod["volumes"]
    }

    made = {d["metadata"]["name"] for d in documents if d["kind"] in ("Secret", "ConfigMap")}
    given = {"redis", "api-keys", "catalogue", "history"}
    used = {container["env"][0]["valueFrom"]["secretKeyRef"]["name"]}
    for volume in pod["volumes"]:
        used |= {volume[kind][field] for kind, field in _SOURCES.items() if kind in volume}
    assert used - given == made


_SOURCES = {"secret": "secretName", "configMap": "name", "persistentVolumeClaim": "claimName"}


@pytest.mark.parametrize("values", CASES.values(), ids=CASES)
def test_the_container_is_locked_down_and_limited(values) -> None:
    pod = _pod(render(values))
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert f"--uid {pod['securityContext']['runAsUser']} " in (
        CHART.parents[1] / "Containerfile"
    ).read_text(encoding="utf-8")
    assert pod["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    for kind in ("requests", "limits"):
        assert container["resources"][kind].keys() == {"cpu", "memory"}


def test_values_arrive_as_they_are() -> None:
    documents = render(EVERYTHING)
    (container,) = _pod(documents)["containers"]
    assert container["image"] == "repo/faircascade:7"
    assert container["args"] == [
        "--keys=/keys/keys.json",
        "--log-format=json",
        "--workers=2",
        "--ttl=1.5",
        "--items=/items/items.csv",
        "--event-log=/event-log",
        "--event-log-format=parquet",
        "--event-log-rotate=30m",
        "--rules=/settings/rules.toml",
        "--rewards=/settings/rewards.toml",
        "--no-click-after=30",
        "--no-click-shown=3",
        "--cold-start=20",
        "--rate-limit=200",
        "--traces=http://collector:4318",
        "--proxy=10.0.0.0/8",
        "--proxy=fd00::/8",
        "--policy=ealinucb",
        '--topics="a b"',
    ]
    secrets = {d["metadata"]["name"]: d["stringData"] for d in documents if d["kind"] == "Secret"}
    assert secrets["shop-store"]["store"] == EVERYTHING["store"]["url"]
    assert secrets["shop-keys"]["keys.json"] == EVERYTHING["keys"]["file"]
    maps = {d["metadata"]["name"]: d["data"] for d in documents if d["kind"] == "ConfigMap"}
    assert maps["shop-items"]["items.csv"] == EVERYTHING["items"]["file"]
    assert maps["shop-settings"] == {
        f"{name}.toml": EVERYTHING[name] for name in ("rules", "rewards")
    }


@pytest.mark.parametrize(
    "values",
    [
        lambda n: {"items": {"file": f"item_id,f1\na,{n}\n"}},
        lambda n: {"rules": f"at_most = {{group = {n}}}"},
        lambda n: {"rewards": f"values = {{played = 0.{n}}}"},
    ],
    ids=["items", "rules", "rewards"],
)
def test_other_files_restart_the_pods(values) -> None:
    def template(n: int) -> Any:
        return _only(render(NEEDED | values(n)), "Deployment")["spec"]["template"]

    assert template(1) == template(1)
    assert template(1) != template(2)


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_requests_and_limits_grow_with_the_workers(workers) -> None:
    (container,) = _pod(render(NEEDED | {"workers": workers}))["containers"]
    assert container["resources"] == {
        "requests": {"cpu": f"{500 * workers}m", "memory": f"{256 * workers}Mi"},
        "limits": {"cpu": workers + 1, "memory": f"{workers}Gi"},
    }
    given = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "2Gi"}}
    (container,) = _pod(render(NEEDED | {"workers": workers, "resources": given}))["containers"]
    assert container["resources"] == given


@pytest.mark.parametrize(
    ("without", "message"), [("image", "repository"), ("store", "Redis"), ("keys", "keys new")]
)
def test_what_has_no_default_is_asked_for(without, message) -> None:
    with pytest.raises(TemplateError, match=message):
        render({name: value for name, value in NEEDED.items() if name != without})


@pytest.mark.parametrize(
    "wrong",
    [
        {"store": {"url": "sqlite:faircascade.db"}},
        {"options": ["--keys=/other"]},
        {"options": ["policy"]},
        {"replicas": "two"},
        {"workers": 0},
        {"options": ["--workers=2"]},
        {"eventLog": {"existingClaim": "history", "format": "csv"}},
        {"itmes": {}},
    ],
)
def test_values_that_cannot_work_are_refused(wrong) -> None:
    with pytest.raises(jsonschema.ValidationError):
        render(NEEDED | wrong)


def test_the_schema_knows_every_value() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    jsonschema.validate(DEFAULTS, SCHEMA)
    assert SCHEMA["properties"].keys() - {"global"} == DEFAULTS.keys()


def test_the_chart_has_the_version_of_the_project() -> None:
    assert ABOUT["version"] == ABOUT["appVersion"] == faircascade.__version__
