"""The language of a recording, as a person or a program gives it with an upload or for a new run."""

from collections.abc import Mapping
from typing import Any

from flask import request

from webapp.providers.spoken import SPOKEN
from webapp.runs.checkpoint import SPOKEN_LANGUAGE
from webapp.web.errors import Problem


def asked_language() -> str | None:
    """The `language` of the form, the JSON object or the address; None where none is given. 422 for an unknown one."""
    plain: object = request.get_json(silent=True) if request.is_json else request.form
    given = plain.get("language") if isinstance(plain, Mapping) else None
    given = request.args.get("language") if given is None else given
    if given is None or given == "":
        return None
    if given not in SPOKEN:
        raise Problem(422, detail=f"language must be one of {', '.join(SPOKEN)}.")
    return str(given)


def as_checkpoint(language: str | None) -> dict[str, Any]:
    """What the first job of a run is told of it."""
    return {} if language is None else {SPOKEN_LANGUAGE: language}
