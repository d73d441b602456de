"""Styles and scripts are fetched once: their addresses change with their content, so browsers may keep them."""

import hashlib
from pathlib import Path
from typing import Any

from flask import Flask, Response, request

_VERSION_CHARACTERS = 12
_KEPT = "public, max-age=31536000, immutable"


def init_assets(app: Flask) -> None:
    """Put the version into each address of a static file. While developing, files change without a restart."""
    if app.debug or app.static_folder is None:
        return
    version = _version(Path(app.static_folder))

    @app.url_defaults
    def _add_version(endpoint: str, values: dict[str, Any]) -> None:
        if endpoint == "static":
            values.setdefault("v", version)

    @app.after_request
    def _keep(response: Response) -> Response:
        # Scripts import one another without a version: those are asked for again, and seldom sent.
        if request.endpoint == "static" and request.args.get("v") == version and response.status_code == 200:
            response.headers["Cache-Control"] = _KEPT
        return response


def _version(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:_VERSION_CHARACTERS]
