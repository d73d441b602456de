"""GET /openapi.json: the API for programs; GET /api: the same to read."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flask import Blueprint, Flask, Response, current_app, make_response, render_template

from webapp.web.access import public
from webapp.web.api.openapi import describe

pages = Blueprint("api", __name__)


@dataclass(frozen=True)
class ShownMember:
    """A member of a JSON object or a part of a form."""

    name: str
    kind: str
    description: str
    is_required: bool


@dataclass(frozen=True)
class ShownOperation:
    """One thing that programs can do."""

    id: str
    method: str
    path: str
    summary: str
    description: str | None
    parameters: list[dict[str, Any]]
    takes: list[ShownMember]
    takes_as: str | None
    status: str
    gives: list[ShownMember]
    gives_as: str | None


@pages.get("/openapi.json")
@public
def openapi() -> Response:
    """The description of this API in the format OpenAPI 3.1."""
    return Response(json.dumps(_described()), mimetype="application/json")


@pages.get("/api")
def show() -> Response:
    """All that programs can do, to read."""
    whole = _described()
    sections: dict[str, list[ShownOperation]] = {}
    for path, methods in whole["paths"].items():
        for method, operation in methods.items():
            shown = _operation(path, method, operation, whole["components"]["schemas"])
            sections.setdefault(operation["tags"][0], []).append(shown)
    schemas = whole["components"]["schemas"]
    types = {name: list(_members(schema, schemas)) for name, schema in schemas.items() if "properties" in schema}
    return make_response(render_template("api/page.html", sections=sections, types=types))


class ApiDescription:
    """The description of the application, made when it is first asked for: routes don't change while it runs."""

    def __init__(self, app: Flask) -> None:
        self._app = app

    @cached_property
    def whole(self) -> dict[str, Any]:
        """In the format OpenAPI 3.1."""
        return describe(self._app)


def init_api(app: Flask) -> None:
    """Give the application its description."""
    app.extensions["docmill_description"] = ApiDescription(app)


def _described() -> dict[str, Any]:
    found: ApiDescription = current_app.extensions["docmill_description"]
    return found.whole


def _operation(path: str, method: str, operation: dict[str, Any], schemas: dict[str, Any]) -> ShownOperation:
    takes_as, takes = _content(operation.get("requestBody", {}))
    status, answer = next(iter(operation["responses"].items()))
    gives_as, gives = _content(answer)
    return ShownOperation(
        operation["operationId"],
        method.upper(),
        path,
        operation["summary"],
        operation.get("description"),
        operation["parameters"],
        list(_members(takes, schemas)),
        takes_as,
        status,
        list(_members(gives, schemas)),
        gives_as,
    )


def _content(body: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    for media, content in body.get("content", {}).items():
        return media, content["schema"]
    return None, {}


def _members(schema: dict[str, Any], schemas: dict[str, Any]) -> Iterator[ShownMember]:
    schema = _resolved(schema, schemas)
    for name, member in schema.get("properties", {}).items():
        description = member.get("description") or _resolved(member, schemas).get("description", "")
        yield ShownMember(name, _kind(member, schemas), description, name in schema.get("required", ()))


def _kind(schema: dict[str, Any], schemas: dict[str, Any]) -> str:
    """The type in a word or two, as in "list of Hit" or "uuid or null"."""
    if "anyOf" in schema:
        return " or ".join(_kind(each, schemas) for each in schema["anyOf"])
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return " | ".join(map(str, schemas[name]["enum"])) if "enum" in schemas[name] else name
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}), schemas)}"
    return str(schema.get("format") or schema.get("type") or "any value")


def _resolved(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref")
    found: dict[str, Any] = schemas[reference.rpartition("/")[2]] if reference else schema
    return found
