"""Random secrets that are handed out once and kept as a hash alone.

They carry 256 bits of chance, so a plain SHA-256 is enough: there is nothing to guess, and a
request that brings one must not cost the work of a password.
"""

import hashlib
import secrets


def new_secret() -> str:
    """A secret that nobody will ever guess, safe in URLs and cookies."""
    return secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """What is stored and looked up instead of the secret."""
    # A cookie or a header may bring anything at all, lone surrogates included.
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
