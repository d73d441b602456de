"""Passwords of files, sealed for the short time that they lie in a job's row.

A password is encrypted with a key that is derived from SECRET_KEY, and bound to the document whose file it opens: in
the row of another document it can't be unsealed.
"""

import os
from collections.abc import Callable
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

CHARACTERS_MAX = 255
# The payload's entry of a job that was queued with a password; the password itself is gone after an attempt.
HAS_PASSWORD = "has_password"  # noqa: S105 - the name of an entry
_PURPOSE = b"docmill: passwords of files"
_KEY_BYTES, _NONCE_BYTES = 32, 12


class CantUnseal(Exception):
    """The password was sealed with another key, or for another document."""


class PasswordSeal:
    """Seals passwords and unseals them; `secret_key` gives the key of the installation when it is first needed."""

    def __init__(self, secret_key: Callable[[], str]) -> None:
        self._secret_key = secret_key

    def seal(self, password: str, document_id: UUID) -> bytes:
        """Encrypt the password of a document's file."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._cipher().encrypt(nonce, password.encode(), document_id.bytes)

    def unseal(self, sealed: bytes, document_id: UUID) -> str:
        """Decrypt what `seal` made; CantUnseal."""
        nonce, encrypted = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        try:
            return self._cipher().decrypt(nonce, encrypted, document_id.bytes).decode()
        except (InvalidTag, ValueError) as error:
            raise CantUnseal("sealed with another SECRET_KEY, or for another document") from error

    def _cipher(self) -> AESGCM:
        return AESGCM(HKDF(SHA256(), _KEY_BYTES, None, _PURPOSE).derive(self._secret_key().encode()))
