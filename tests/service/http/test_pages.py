"""Pages, what they are made of, and the description of the API."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from faircascade.service.http import schemas
from faircascade.service.http.routes.pages import FOLDER
from faircascade.service.settings import ServiceSettings
from tests.service.http.applications import Client, app_of, calling, new_service


@pytest.mark.parametrize(("path", "name"), [("/", "dashboard.html"), ("/docs", "reference.html")])
def test_pages_are_served_and_closed_to_everything_foreign(
    client: Client, path: str, name: str
) -> None:
    answer = client.get(path)
    assert answer.content == (FOLDER / name).read_bytes()
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.iterdir() if path.is_file()))
def test_every_file_is_served_with_its_type(client: Client, name: str) -> None:
    answer = client.get(f"/static/{name}")
    assert answer.content == (FOLDER / name).read_bytes()
    kinds = {".txt": "plain", ".js": "javascript", ".css": "css", ".html": "html", ".svg": "svg"}
    assert kinds[Path(name).suffix] in answer.headers["content-type"]


def test_a_browser_that_has_the_file_is_told_so(client: Client) -> None:
    first = client.get("/static/base.css")
    assert first.headers["cache-control"] == "no-cache"
    etag = first.headers["etag"]
    for given in (etag, f"W/{etag}", f'"other", {etag}'):
        again = client.get("/static/base.css", headers={"If-None-Match": given})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    assert client.get("/static/base.css", headers={"If-None-Match": '"x"'}).status_code == 200


@pytest.mark.parametrize(
    "name", ["..%2Fschemas.py", "%2e%2e%2fschemas.py", "", "%2Fetc%2Fpasswd", "base.css%00"]
)
def test_nothing_outside_the_folder_is_served(client: Client, name: str) -> None:
    assert client.get(f"/static/{name}").status_code == 404


def test_no_pages_of_others_are_served(client: Client) -> None:
    for path in ("/redoc", "/docs/oauth2-redirect"):
        assert client.get(path).status_code == 404


# the description


def operations(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [operation for path in document["paths"].values() for operation in path.values()]


def test_every_operation_is_described(client: Client) -> None:
    document = client.get("/openapi.json").json()
    tags = {tag["name"] for tag in document["tags"]}
    ids = [operation["operationId"] for operation in operations(document)]
    assert len(ids) == len(set(ids)) == 37
    assert all(name.isalpha() for name in ids)
    for operation in operations(document):
        assert set(operation["tags"]) < tags
        assert operation["summary"]
        assert operation["description"]
        for parameter in operation.get("parameters", []):
            assert parameter.get("description") or parameter["schema"]["description"]


def test_errors_are_described_as_problem_documents(client: Client) -> None:
    for operation in operations(client.get("/openapi.json").json()):
        for status, answer in operation["responses"].items():
            if int(status) >= 400 and (operation["operationId"], status) != ("getReadiness", "503"):
                assert list(answer["content"]) == ["application/problem+json"]


def test_the_description_has_the_limits_of_this_service(tmp_path: Path) -> None:
    settings = ServiceSettings(max_k=7, max_candidates=8, max_batch=9)
    with calling(app_of(new_service(tmp_path, settings=settings))) as client:
        text = client.get("/openapi.json").text
    found = json.loads(text)["components"]["schemas"]
    ask, item = found["RecommendationRequest"]["properties"], found["ItemBody"]["properties"]
    assert (ask["k"]["minimum"], ask["k"]["maximum"]) == (1, 7)
    assert ask["candidates"]["anyOf"][0]["maxItems"] == ask["exclude"]["maxItems"] == 8
    assert found["ItemBatch"]["properties"]["items"]["maxItems"] == 9
    assert (item["features"]["minItems"], item["features"]["maxItems"]) == (4, 4)
    assert "x-limit" not in text


def test_examples_are_what_they_are_examples_of(client: Client) -> None:
    checked = 0
    for name, schema in client.get("/openapi.json").json()["components"]["schemas"].items():
        for example in schema.get("examples", []):
            try:
                getattr(schemas, name).model_validate(example, strict=True)
            except ValidationError as error:
                pytest.fail(f"{name}: {error}")
            checked += 1
    assert checked > 12


def test_an_example_of_an_item_fits_this_catalogue(client: Client) -> None:
    found = client.get("/openapi.json").json()["components"]["schemas"]
    for example in found["ItemBatch"]["examples"]:
        assert client.post("/v1/items", example).status_code == 200
    for example in found["ItemBody"]["examples"]:
        assert client.put("/v1/items/a", example).status_code == 200
