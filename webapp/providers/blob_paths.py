"""The blob paths that every store allows: those that we make ourselves, nothing else."""

import re

PATH_CHARACTERS_MAX = 512
# A name begins with a letter or digit, so neither "..", hidden files nor options can be written.
SEGMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=-]{0,199}")


def checked_path(path: str) -> str:
    """Give the path back, or ValueError: a name that people chose must never get this far."""
    if len(path) > PATH_CHARACTERS_MAX or not all(SEGMENT.fullmatch(part) for part in path.split("/")):
        raise ValueError(f"not a blob path: {path[:80]!r}")
    return path


def checked_folder(prefix: str) -> str:
    """Give a folder's path without its last slash; "" is the whole store."""
    return checked_path(prefix.removesuffix("/")) if prefix else ""
