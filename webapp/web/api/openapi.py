"""The description of the API in the format OpenAPI 3.1, made from the routes of the application."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from flask import Flask
from werkzeug.routing import Rule

from webapp.web import idempotency
from webapp.web.access import Access, access_of
from webapp.web.api.query import parameter
from webapp.web.api.routes import JSON, SECTIONS, Described
from webapp.web.parameters import KNOWN

_SCHEMAS = "#/components/schemas/"
_CONVERTER = re.compile(r"<(?:(?P<type>\w+):)?(?P<name>\w+)>")
_PATH_TYPES: Mapping[str | None, dict[str, Any]] = {
    "uuid": {"type": "string", "format": "uuid"},
    "int": {"type": "integer", "minimum": 0},
    "path": {"type": "string", "minLength": 1},
    None: {"type": "string"},
}
_NEEDS = {
    Access.UPLOAD: "Needs a token that may upload.",
    Access.WRITE: "Needs a token that may write.",
    Access.OPS: "Needs the role ops.",
    Access.OPERATOR: "Needs the role operator.",
    Access.METRICS: "Needs the role metrics or ops.",
    Access.WORKER: "Needs the role worker.",
}
_PROBLEM = {
    "type": "object",
    "description": "Why it was refused (RFC 9457). More members may follow.",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "A sentence for a person."},
        "reason": {"type": "string", "description": "A word for a program."},
        "reference": {"type": "string", "description": "What to look for in the log."},
    },
}
_REFUSED = {
    "description": "It was refused; the body says why.",
    "content": {"application/problem+json": {"schema": {"$ref": f"{_SCHEMAS}Problem"}}},
}


def describe(app: Flask) -> dict[str, Any]:
    """The whole description."""
    # Types are called DocumentJson here, to be told from the rows; programs know no rows.
    whole: dict[str, Any] = json.loads(json.dumps(_describe(app)).replace('Json"', '"'))
    return whole


def _describe(app: Flask) -> dict[str, Any]:
    described = [each for section in SECTIONS.values() for each in section.values()]
    types = [one for each in described for one in (each.answer, each.body, *each.others.values()) if one is not None]
    found, components = msgspec.json.schema_components(types, ref_template=_SCHEMAS + "{name}")
    schemas = dict(zip(map(id, types), found, strict=True))
    paths: dict[str, Any] = {}
    for section, rule, method, each in _operations(app):
        operation = _operation(app, rule, method, each, schemas)
        paths.setdefault(_CONVERTER.sub(r"{\g<name>}", rule.rule), {})[method.lower()] = {
            "tags": [section],
            **operation,
        }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Docmill",
            "version": "1",
            "description": "Upload files, follow their processing, read what was found in them, and search.",
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "tags": [{"name": name} for name in SECTIONS],
        "paths": paths,
        "components": {
            "schemas": {**components, "Problem": _PROBLEM},
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "An API token: page Account, or the CLI."}
            },
        },
    }


def _operations(app: Flask) -> Iterator[tuple[str, Rule, str, Described]]:
    """Each section's routes, in the order of the table."""
    rules = {rule.endpoint: rule for rule in app.url_map.iter_rules()}
    for section, routes in SECTIONS.items():
        for endpoint, each in routes.items():
            for method in sorted((rules[endpoint].methods or set()) - {"HEAD", "OPTIONS"}):
                yield section, rules[endpoint], method, each


def _operation(
    app: Flask, rule: Rule, method: str, each: Described, schemas: Mapping[int, dict[str, Any]]
) -> dict[str, Any]:
    access = access_of(app, rule.endpoint)
    needs = (
        "Needs a token that may write." if access is Access.READ_OR_WRITE and method != "GET" else _NEEDS.get(access)
    )
    body = _body(each, schemas)
    return {
        "operationId": rule.endpoint.replace(".", "_"),
        "summary": each.summary,
        **({"description": needs} if needs else {}),
        "parameters": [
            *_path_parameters(rule),
            *_query_parameters(rule.endpoint),
            *([idempotency.PARAMETER] if idempotency.takes_keys(app, rule.endpoint, method) else []),
        ],
        **({"requestBody": body} if body else {}),
        "responses": {**_answer(each, schemas), "default": _REFUSED},
        **({"security": []} if access is Access.PUBLIC else {}),
    }


def _path_parameters(rule: Rule) -> Iterator[dict[str, Any]]:
    for found in _CONVERTER.finditer(rule.rule):
        yield {"name": found["name"], "in": "path", "required": True, "schema": _PATH_TYPES[found["type"]]}


def _query_parameters(endpoint: str) -> Iterator[dict[str, Any]]:
    for name in KNOWN.get(endpoint, ()):
        known = parameter(endpoint, name)
        if known is not None:
            yield {"name": name, "in": "query", "description": known.description, "schema": dict(known.schema)}


def _body(each: Described, schemas: Mapping[int, dict[str, Any]]) -> dict[str, Any] | None:
    if each.form is not None:
        schema = {"type": "object", "required": ["file"], "properties": dict(each.form)}
        return {"required": True, "content": {"multipart/form-data": {"schema": schema}}}
    if each.body is None:
        return None
    media = "application/x-www-form-urlencoded" if each.is_form else JSON
    return {"required": each.is_body_required, "content": {media: {"schema": schemas[id(each.body)]}}}


def _bodies(types: Mapping[int, Any], schemas: Mapping[int, dict[str, Any]]) -> dict[str, Any]:
    return {
        str(status): {"description": "Done.", "content": {JSON: {"schema": schemas[id(each)]}}}
        for status, each in types.items()
    }


def _answer(each: Described, schemas: Mapping[int, dict[str, Any]]) -> dict[str, Any]:
    if each.answer is not None:
        return _bodies({each.status: each.answer, **each.others}, schemas)
    if each.media is None:
        return {str(each.status): {"description": "Done; there is no body."}, **_bodies(each.others, schemas)}
    file = {"description": "The file.", "content": {each.media: {"schema": {"type": "string", "format": "binary"}}}}
    if not each.has_ranges:
        return {"200": file, "304": {"description": "It has not changed since."}}
    return {"200": file, "206": {**file, "description": "A part of the file."}, "304": {"description": "Unchanged."}}
