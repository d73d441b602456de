"""The folder where uploads are written before they are blobs, and its clean-up after crashes."""

from contextlib import suppress
from pathlib import Path

from webapp import clock
from webapp.provider_errors import FailureCode, ProviderUnavailable

PRIVATE = 0o700


def make_folder(folder: Path) -> Path:
    """Create a folder that is ours alone; ProviderUnavailable if that is refused."""
    try:
        folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    except OSError as error:
        code = FailureCode.STORAGE_UNAVAILABLE
        raise ProviderUnavailable(f"no folder {folder.name}: {error.strerror}", code=code) from error
    return folder


def sweep(folder: Path, older_than_seconds: float) -> int:
    """Remove files that nobody has written to for so long, and count them.

    An upload in progress touches its file all the time, however long it takes altogether.
    """
    oldest = clock.utc_now().timestamp() - older_than_seconds
    swept = 0
    for leftover in folder.iterdir():
        # Another sweeper, or the upload itself, may have been faster.
        with suppress(FileNotFoundError):
            if leftover.is_file() and leftover.stat().st_mtime < oldest:
                leftover.unlink()
                swept += 1
    return swept
