"""Real accounts for the tests marked `live`: their settings come from the environment, as the product's do."""

from collections.abc import MutableMapping

import pytest

_ACCOUNTS: dict[str, str] = {}


def take(environ: MutableMapping[str, str]) -> None:
    """Take real accounts out of the environment: no other test, and no process that one starts, may meet them."""
    for name in [name for name in environ if name.startswith(("AZURE_", "OPENAI_", "SPEECHKIT_"))]:
        _ACCOUNTS[name] = environ.pop(name)


def setting(name: str, default: str = "") -> str:
    """A setting of a real account; live tests need it."""
    value = _ACCOUNTS.get(name, default)
    if not value:
        raise pytest.UsageError(f"live tests need {name}")
    return value
