"""Opens files that are locked by a password on this machine, in sandboxed children."""

from pathlib import Path

from webapp.provider_errors import BadInput, ParserCrashed, ProviderError
from webapp.sandbox.call import ChildLimits
from webapp.sandbox.sandbox import Sandbox

MODULE = "webapp.readers.locked.open"
MEMORY_BYTES = 2 << 30
# An opened copy is hardly ever larger than the file; one that grows beyond this is a flood.
FILE_BYTES_MAX = 2 << 30


class LocalOpener:
    """A FileOpener for PDF and Office files, and for archives."""

    def __init__(self, *, requires_locks: bool = False) -> None:
        limits = ChildLimits(memory_bytes=MEMORY_BYTES, file_bytes=FILE_BYTES_MAX, requires_locks=requires_locks)
        self._sandbox = Sandbox((MODULE,), limits)

    def close(self) -> None:
        """End the children."""
        self._sandbox.close()

    def open(self, source: Path, target: Path, password: str, *, timeout_seconds: float) -> None:
        """Write what the file holds behind its password to `target`, an empty file."""
        arguments = {"source": str(source.absolute()), "target": str(target.absolute()), "password": password}
        try:
            self._sandbox.run(
                f"{MODULE}:open_file", arguments, timeout_seconds=timeout_seconds, readable=source, writable=target
            )
        except ProviderError as error:
            raise _without(password, error) from None


def _without(password: str, error: ProviderError) -> ProviderError:
    """The same error, but for a message that quotes the password, which nothing of ours does."""
    if password not in error.message:
        return error
    kind = BadInput if isinstance(error, BadInput) else ParserCrashed
    return kind("the file could not be opened", code=error.code)
