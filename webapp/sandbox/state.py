"""Which locks work on this machine, as a child finds them: for the log, operators and SANDBOX=require."""

import logging
from functools import cache

from webapp.provider_errors import ProviderError
from webapp.sandbox.child import Report
from webapp.sandbox.sandbox import Sandbox

LOOK_SECONDS = 20.0

_log = logging.getLogger(__name__)


def tell(_: dict[str, object], report: Report) -> dict[str, bool]:
    """The sandboxed job: each lock's name, and whether it works."""
    return report.locks


@cache
def locks() -> dict[str, bool]:
    """Ask a child once; ProviderUnavailable where none can be started."""
    sandbox = Sandbox((__name__,))
    try:
        told = sandbox.run(f"{__name__}:tell", {}, timeout_seconds=LOOK_SECONDS)
    finally:
        sandbox.close()
    if not isinstance(told, dict):
        return {}
    return {str(name): holds is True for name, holds in told.items()}


def missing() -> list[str]:
    """The locks that this machine does not offer."""
    return [name for name, holds in locks().items() if not holds]


def log_locks() -> None:
    """Log at the start which locks work, and which don't."""
    try:
        lacking = missing()
    except ProviderError as error:
        _log.warning("no file can be read: %s", error.message)
        return
    if lacking:
        _log.warning("files are read without these locks, which this machine does not offer: %s", ", ".join(lacking))
    else:
        _log.info("files are read under these locks: %s", ", ".join(locks()))


def refusal(*, required: bool) -> str | None:
    """Why Docmill does not start here: SANDBOX=require, and a lock is missing."""
    if not required:
        return None
    try:
        lacking = missing()
    except ProviderError as error:
        return f"SANDBOX=require: {error.message}."
    if not lacking:
        return None
    return f"SANDBOX=require: these locks are missing here: {', '.join(lacking)}. See “Locks” in docs/operations.md."
