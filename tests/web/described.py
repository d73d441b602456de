"""Checks answers against the description of the API: a member that it doesn't name is as wrong as a missing one."""

from copy import deepcopy
from typing import Any

import jsonschema_rs
from flask import Flask
from werkzeug.test import TestResponse

from webapp.web.api.openapi import describe

_SEEN: dict[tuple[str, str], jsonschema_rs.Validator | None] = {}


def checked(app: Flask, answer: TestResponse) -> TestResponse:
    """The answer that a program got, if it is as described."""
    if answer.mimetype != "application/json":
        return answer
    asked = answer.request
    endpoint, _ = app.url_map.bind("localhost").match(asked.path, asked.method)
    validator = _validator(app, endpoint, str(answer.status_code))
    if validator is not None:
        validator.validate(answer.get_json())
    return answer


def _validator(app: Flask, endpoint: str, status: str) -> jsonschema_rs.Validator | None:
    if (endpoint, status) not in _SEEN:
        _SEEN[endpoint, status] = _make(_strict(app), endpoint, status)
    return _SEEN[endpoint, status]


def _make(whole: dict[str, Any], endpoint: str, status: str) -> jsonschema_rs.Validator | None:
    for methods in whole["paths"].values():
        for operation in methods.values():
            if operation["operationId"] == endpoint.replace(".", "_"):
                answer = operation["responses"].get(status)
                assert answer, f"{endpoint} answered {status}, which the description doesn't have"
                schema = answer["content"]["application/json"]["schema"]
                return jsonschema_rs.validator_for({**schema, "components": whole["components"]})
    return None


def _strict(app: Flask) -> dict[str, Any]:
    """The description, with objects that have no other members than those that it names."""
    whole = deepcopy(describe(app))
    for name, schema in whole["components"]["schemas"].items():
        if "properties" in schema and name != "Problem":
            schema["additionalProperties"] = False
    return whole
