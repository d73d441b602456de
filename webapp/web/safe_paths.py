"""Addresses that came from outside, and that a browser is to be sent to."""

from urllib.parse import urlsplit


def own_path(address: str | None) -> str | None:
    r"""The path and query of this address if they lie on this site, else nothing.

    A full address loses its host: only the path is ever used, and never one that a browser would
    read as another host (`//host`, `/\host`, or with white space that browsers skip).
    """
    if not address or "\\" in address or any(letter <= " " or letter == "\x7f" for letter in address):
        return None
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    if parts.scheme not in {"", "http", "https"} or not parts.path.startswith("/") or parts.path.startswith("//"):
        return None
    return f"{parts.path}?{parts.query}" if parts.query else parts.path
