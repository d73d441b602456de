"""Passwords of files, sealed for the short time that they lie in a job's row, and bound to the document they open."""

from collections.abc import Callable

from webapp.accounts.seal import CantUnseal, Seal

__all__ = ["CHARACTERS_MAX", "HAS_PASSWORD", "CantUnseal", "PasswordSeal"]

CHARACTERS_MAX = 255
# The payload's entry of a job that was queued with a password; the password itself is gone after an attempt.
HAS_PASSWORD = "has_password"  # noqa: S105 - the name of an entry
_PURPOSE = b"docmill: passwords of files"


class PasswordSeal(Seal):
    """Seals passwords of files and unseals them."""

    def __init__(self, secret_key: Callable[[], str]) -> None:
        super().__init__(secret_key, _PURPOSE)
