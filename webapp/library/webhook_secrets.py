"""Secrets of webhooks, and the signatures that are made with them, as Standard Webhooks describes both."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence

_PREFIX, _SECRET_BYTES = "whsec_", 32


def new_secret() -> str:
    """A fresh secret: `whsec_` and 32 random bytes as base64."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode("ascii")


def headers(keys: Sequence[str], event_id: str, at_seconds: int, body: bytes) -> dict[str, str]:
    """The headers that say which event this is, when it was sent, and that who knows one of the secrets sent it."""
    signed = f"{event_id}.{at_seconds}.".encode() + body
    signatures = " ".join(f"v1,{_signature(key, signed)}" for key in keys)
    return {"webhook-id": event_id, "webhook-timestamp": str(at_seconds), "webhook-signature": signatures}


def _signature(key: str, signed: bytes) -> str:
    secret = base64.b64decode(key.removeprefix(_PREFIX))
    return base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode("ascii")
