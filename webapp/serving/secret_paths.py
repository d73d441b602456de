"""Paths that hold a secret, as they may be written into a log."""

import re
from urllib.parse import unquote

# A share link, and a link that signs in. A proxy or a client may have spelt the path in another way.
_SECRET = re.compile(r"(?:[a-z]+://[^/?#]*)?/*(s|sign-in)/+[^/?#]")


def without_secret(uri: str) -> str:
    """The same for what holds no secret; else the page without its key."""
    found = _SECRET.match(unquote(uri))
    return f"/{found[1]}/…" if found else uri
