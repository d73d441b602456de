"""The key that everything secret of an installation is derived from."""

import secrets

from webapp.accounts.agreed_values import agree
from webapp.config import Settings


def secret_key(settings: Settings) -> str:
    """SECRET_KEY, or the one that all processes have in the database."""
    if settings.secret_key:
        return settings.secret_key
    earlier = settings.data_dir / "secret_key"
    proposed = earlier.read_text(encoding="ascii").strip() if earlier.exists() else secrets.token_urlsafe(32)
    return agree("secret_key", proposed)
