"""Secrets that have to be read again, encrypted for the time that they lie in the database.

The key is derived from SECRET_KEY and a purpose, and what is sealed is bound to the id of what it belongs to: in
another row it can't be unsealed.
"""

import os
from collections.abc import Callable
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

WEBHOOK_SECRETS = b"docmill: secrets of webhooks"
"""The purpose of the key for them."""
_KEY_BYTES, _NONCE_BYTES = 32, 12


class CantUnseal(Exception):
    """The secret was sealed with another key, or for something else."""


class Seal:
    """Seals texts and unseals them; `secret_key` gives the key of the installation when it is first needed."""

    def __init__(self, secret_key: Callable[[], str], purpose: bytes) -> None:
        self._secret_key = secret_key
        self._purpose = purpose

    def seal(self, text: str, owner_id: UUID) -> bytes:
        """Encrypt a secret of this owner."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._cipher().encrypt(nonce, text.encode(), owner_id.bytes)

    def unseal(self, sealed: bytes, owner_id: UUID) -> str:
        """Decrypt what `seal` made; CantUnseal."""
        nonce, encrypted = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        try:
            return self._cipher().decrypt(nonce, encrypted, owner_id.bytes).decode()
        except (InvalidTag, ValueError) as error:
            raise CantUnseal("sealed with another SECRET_KEY, or for something else") from error

    def _cipher(self) -> AESGCM:
        return AESGCM(HKDF(SHA256(), _KEY_BYTES, None, self._purpose).derive(self._secret_key().encode()))
