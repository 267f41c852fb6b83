"""Make the JavaScript client from the service's OpenAPI document and the templates here.

python clients/javascript/generate.py
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import faircascade as fc
from faircascade.service import Service, SQLiteStore, create_app

HERE = Path(__file__).parent
HEADER = """\
// The client of faircascade {version}. MIT licence.
// Made by generate.py from the service's OpenAPI document and {template}: change those."""
WIDTH = 100

RETRY = {
    "recommend": "IF_NOT_PROCESSED",
    "recommendMany": "IF_NOT_PROCESSED",
    "getHealth": "NEVER",
    "getReadiness": "NEVER",
}
"""When an operation may be repeated, if not always; the same as in the Python client."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Operation:
    """A method of the client."""

    name: str
    method: str
    path: str
    about: str
    path_parameters: tuple[Json, ...]
    query_parameters: tuple[Json, ...]
    body: Json | None
    """Schema of the request body."""
    result: Json | None
    """Schema of the answer; None for an empty one."""
    accept: str
    """What kind of document the answer is."""
    answers: tuple[int, ...]
    """Error statuses that come with such an answer too."""

    @property
    def query_type(self) -> str:
        """Name of the type of its query."""
        return f"{self.name[0].upper()}{self.name[1:]}Query"


def openapi() -> Json:
    """Return the document of a service; its limits do not matter here."""
    with TemporaryDirectory() as folder:
        store = SQLiteStore(str(Path(folder, "none.db")))
        document: Json = create_app(Service(fc.LinUCB(), store, dim=10)).openapi()
    return document


def operations(document: Json) -> Iterator[Operation]:
    """Read the operations out of the document, in its order."""
    for path, methods in document["paths"].items():
        for method, entry in methods.items():
            parameters = entry.get("parameters", ())
            contents = {
                int(status): response.get("content", {})
                for status, response in entry["responses"].items()
            }
            success = next(content for status, content in contents.items() if status < 300)
            accept, media = next(iter(success.items()), ("application/json", None))
            body = entry.get("requestBody")
            yield Operation(
                name=entry["operationId"],
                method=method.upper(),
                path=path,
                about=entry["description"],
                path_parameters=tuple(p for p in parameters if p["in"] == "path"),
                query_parameters=tuple(p for p in parameters if p["in"] == "query"),
                body=body and body["content"]["application/json"]["schema"],
                result=media and media["schema"],
                accept=accept,
                answers=tuple(s for s, c in contents.items() if s >= 400 and accept in c),
            )


def files() -> dict[str, str]:
    """Return the text of every file that is made, by its name."""
    document = openapi()
    version = document["info"]["version"]
    calls = list(operations(document))
    if unknown := RETRY.keys() - {call.name for call in calls}:
        raise ValueError(f"RETRY names operations that the service does not have: {unknown}")
    return {
        "faircascade.js": _filled(
            "template.js", version, operations="\n\n".join(map(_javascript, calls))
        ),
        "faircascade.d.ts": _filled(
            "template.d.ts",
            version,
            types="\n\n".join(_types(document, calls)),
            operations="\n\n".join(map(_declaration, calls)),
        ),
        "package.json": _package(version),
    }


def _filled(template: str, version: str, **parts: str) -> str:
    text = (HERE / template).read_text(encoding="utf-8")
    parts["header"] = HEADER.format(version=version, template=template)
    for name, part in parts.items():
        mark = re.search(rf"^ *// @{name}$", text, re.MULTILINE)
        if mark is None:
            raise ValueError(f"{template} must have a line // @{name}")
        text = text[: mark.start()] + part + text[mark.end() :]
    return text


# methods


def _javascript(call: Operation) -> str:
    path = json.dumps(call.path)
    names = [p["name"] for p in call.path_parameters]
    if names:
        encoded = re.sub(r"\{(\w+)\}", r'${segment("\1", \1)}', call.path)
        path = f"`{encoded}`"
    fields = [f'method: "{call.method}"', f"path: {path}"]
    if call.body is not None:
        names.append("body")
        fields.append("body")
    if call.query_parameters:
        names.append("query")
        fields.append("query")
    fields.append(f"retry: {RETRY.get(call.name, 'ALWAYS')}")
    if call.accept != "application/json":
        fields.append(f'accept: "{call.accept}"')
    if call.answers:
        fields.append(f"answers: {list(call.answers)}")
    request = "\n".join(f"        {field}," for field in fields)
    return (
        f"{_comment(call.about, '  ')}\n"
        f"  async {call.name}({', '.join([*names, 'options'])}) {{\n"
        f"    return this.#call(\n      {{\n{request}\n      }},\n      options,\n    );\n  }}"
    )


def _declaration(call: Operation) -> str:
    parameters = [f"{p['name']}: string" for p in call.path_parameters]
    if call.body is not None:
        parameters.append(f"body: {_type(call.body)}")
    if call.query_parameters:
        parameters.append(f"query?: {call.query_type}")
    parameters.append("options?: CallOptions")
    result = "void" if call.result is None else _type(call.result)
    head = f"  {call.name}({', '.join(parameters)}): Promise<{result}>;"
    about = [call.about]
    about += [f"@param {p['name']} {p['description']}" for p in call.path_parameters]
    return f"{_comment(chr(10).join(about), '  ')}\n{head}"


# types


def _types(document: Json, calls: Iterable[Operation]) -> Iterator[str]:
    for name, schema in document["components"]["schemas"].items():
        fields = [
            _field(field, entry, field in schema.get("required", ()))
            for field, entry in schema["properties"].items()
        ]
        others = schema.get("additionalProperties")
        if "properties" in schema and isinstance(others, dict):
            fields.append(f"  [name: string]: {_type(others)};")
        yield _interface(name, fields, schema.get("description"))
    for call in calls:
        if call.query_parameters:
            fields = [_field(p["name"], p["schema"], False) for p in call.query_parameters]
            yield _interface(call.query_type, fields, f"What `{call.name}` may be asked for.")


def _interface(name: str, fields: list[str], about: str | None) -> str:
    comment = _comment(about, "") + "\n" if about else ""
    return f"{comment}export interface {name} {{\n" + "\n".join(fields) + "\n}"


def _field(name: str, schema: Json, required: bool) -> str:
    about = schema.get("description", "")
    if schema.get("default") not in (None, [], {}, "about:blank"):
        about = f"{about} {json.dumps(schema['default'])} by default.".strip()
    comment = _comment(about, "  ") + "\n" if about else ""
    return f"{comment}  {name}{'' if required else '?'}: {_type(schema)};"


def _type(schema: Json) -> str:
    match schema:
        case {"$ref": reference}:
            return str(reference).rsplit("/", 1)[-1]
        case {"anyOf": options}:
            return " | ".join(_type(option) for option in options)
        case {"enum": values}:
            return " | ".join(json.dumps(value) for value in values)
        case {"const": value}:
            return json.dumps(value)
        case {"type": "array", "items": items}:
            inner = _type(items)
            return f"({inner})[]" if " | " in inner else f"{inner}[]"
        case {"type": "object", "patternProperties": patterns}:
            return f"Record<string, {' | '.join(map(_type, patterns.values()))}>"
        case {"type": "object", "additionalProperties": True}:
            return "Record<string, unknown>"
        case {"type": "object", "additionalProperties": values}:
            names = schema.get("propertyNames", {})
            if "enum" in names and "default" in schema:
                return f"Partial<Record<{_type(names)}, {_type(values)}>>"
            named = "enum" in names or "$ref" in names
            return f"Record<{_type(names) if named else 'string'}, {_type(values)}>"
        case {"type": "integer" | "number"}:
            return "number"
        case {"type": "string" | "boolean" | "null" as kind}:
            return str(kind)
    raise ValueError(f"no TypeScript for {schema}")


# text


def _comment(text: str, indent: str) -> str:
    lines = []
    for line in text.strip().replace("*/", "* /").splitlines():
        lines += textwrap.wrap(line, WIDTH - len(indent) - 3) or [""]
    if len(lines) == 1 and len(indent) + len(lines[0]) + 7 <= WIDTH:
        return f"{indent}/** {lines[0]} */"
    body = "\n".join(f"{indent} * {line}".rstrip() for line in lines)
    return f"{indent}/**\n{body}\n{indent} */"


def _package(version: str) -> str:
    package = {
        "name": "faircascade",
        "version": version,
        "description": "Client of the faircascade service: recommend, learn, share exposure.",
        "license": "MIT",
        "type": "module",
        "exports": {".": {"types": "./faircascade.d.ts", "default": "./faircascade.js"}},
        "types": "./faircascade.d.ts",
        "files": ["faircascade.js", "faircascade.d.ts"],
        "engines": {"node": ">=18"},
        "sideEffects": False,
    }
    return json.dumps(package, indent=2) + "\n"


def main() -> None:
    """Write the files."""
    for name, text in files().items():
        (HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
