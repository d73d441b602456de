"""Passwords: argon2id with the library's current parameters, and the same work for everybody."""

import threading
import unicodedata
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

LENGTH_MIN = 10
LENGTH_MAX = 1024

_hasher = PasswordHasher()

# One hash takes 64 MB and all of a core for a moment: a burst of sign-ins queues up here
# instead of taking the machine away from the documents.
_turn = threading.BoundedSemaphore(2)


@cache
def _nobody() -> str:
    """A well-formed hash of these parameters that belongs to no password; made at the first sign-in."""
    return _hasher.hash("nobody signs in with this", salt=b"\0" * 16)


def hash_password(password: str) -> str:
    """What is stored."""
    with _turn:
        return _hasher.hash(_bytes(password))


def verify(stored: str | None, password: str) -> bool:
    """Whether this is the password. Without a stored hash it costs as much and is never right."""
    if len(password) > LENGTH_MAX:
        return False
    try:
        with _turn:
            _hasher.verify(stored or _nobody(), _bytes(password))
    except (VerificationError, InvalidHashError):
        return False
    return stored is not None


def needs_rehash(stored: str) -> bool:
    """Whether the hash was made with other parameters than today's."""
    return _hasher.check_needs_rehash(stored)


def is_acceptable(password: str) -> bool:
    """Long enough to withstand guessing; what it is made of is its owner's affair."""
    return LENGTH_MIN <= len(password) <= LENGTH_MAX


def _bytes(password: str) -> bytes:
    """Keyboards spell the same letter in different ways; a terminal may bring what is no letter at all."""
    return unicodedata.normalize("NFKC", password).encode("utf-8", "surrogatepass")
