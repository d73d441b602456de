"""The product's own parts, as it runs them, around one hostile file after the other; and what each ended in."""

import os
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Self, TypeVar

from tests import locked, scans
from tests.fuzz.judge import faults_of, faults_of_sound
from tests.fuzz.seeds import PDF_PASSWORD, Kind
from webapp.provider_errors import BadInput, ParserCrashed, ProviderError
from webapp.providers.local.extract import LocalExtractor
from webapp.providers.local.ocr import PagesOf
from webapp.providers.local.opener import LocalOpener
from webapp.providers.local.pictures import LocalPictures
from webapp.providers.local.sound import FILE_BYTES_MAX, AudioDecoder
from webapp.providers.local.unpacker import LocalUnpacker
from webapp.providers.ports import Load
from webapp.readers.archives.members import UnpackLimits
from webapp.readers.extraction import Extraction
from webapp.readers.sniff import HEAD_BYTES, mismatch, sniff
from webapp.sandbox.restrictions import landlock_version
from webapp.sandbox.sandbox import Sandbox

# A busy machine needs its time; what counts is the processor's time.
WALL_SECONDS = 200.0
CPU_SECONDS_MAX = 30.0
MEMORY_MB = 512
PAGES_MAX = 1_000
FILES_MAX, UNPACKED_BYTES_MAX = 1_000, 64 << 20
SOUND_SECONDS_MAX = 60.0
BOX = (600, 800)
SECRET = "the canary of the fuzzer sings at 4 and at 9"
NAMES = ("a.pdf", "a.txt", "a.csv", "a.docx", "a.html", "a.eml", "a", "")
# How a child may end whose library aborts or follows a bad pointer; the product says so with a code of its own.
SIGNALS = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE", "SIGTRAP", "memory limit", "SIGXFSZ (file size limit)")


_PASSWORDS = {b"\xd0\xcf": locked.PASSWORD, b"PK": locked.ZIP_PASSWORD, b"7z": locked.SEVEN_ZIP_PASSWORD}
Closable = TypeVar("Closable", LocalExtractor, LocalPictures, AudioDecoder, LocalOpener, LocalUnpacker)


class Ending(StrEnum):
    """What became of a file."""

    READ = "read"
    REFUSED = "refused"
    """A clear error that says why."""
    DIED = "died"
    """The library in the child aborted or met a limit; nothing else was hurt, and the error says so."""
    FAULT = "fault"
    """What must not be."""


@dataclass(frozen=True)
class Verdict:
    """What became of a file, why, and how long its child worked."""

    ending: Ending
    why: str
    seconds: float


class Rig:
    """Reads files as the product does, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._stack = ExitStack()
        self._job, self._beside = folder / "job", folder / "beside"
        self._source, self._target = self._job / "source", self._job / "target"
        for each in (self._job, self._beside):
            each.mkdir(parents=True)
        (self._beside / "secret.txt").write_text(SECRET)
        is_strict = landlock_version() > 0
        self._extractor = self._closed_with(
            LocalExtractor(memory_mb=MEMORY_MB, pages_max=PAGES_MAX, requires_locks=is_strict)
        )
        self._ocr = scans.reader(languages=("en",))
        self._looking = self._closed_with(
            LocalExtractor(memory_mb=MEMORY_MB, pages_max=20, ocr=self._ocr, requires_locks=is_strict)
        )
        self._artist = self._closed_with(LocalPictures(requires_locks=is_strict))
        self._decoder = self._closed_with(AudioDecoder(seconds_max=SOUND_SECONDS_MAX, requires_locks=is_strict))
        self._opener = self._closed_with(LocalOpener(requires_locks=is_strict))
        limits = UnpackLimits(FILES_MAX, UNPACKED_BYTES_MAX, UNPACKED_BYTES_MAX, ratio=200)
        self._unpacker = self._closed_with(LocalUnpacker(limits, memory_mb=MEMORY_MB, requires_locks=is_strict))
        self._server = self._stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        self._server.setblocking(False)
        self._works: dict[str, Callable[[Kind, Path], list[str]]] = {
            "documents": self._read, "pdfs": self._read_and_draw, "pictures": self._count_and_draw, "ocr": self._look,
            "sound": self._listen, "locked": self._open, "containers": self._read_and_unpack,
        }  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _closed_with(self, part: Closable) -> Closable:
        return self._stack.enter_context(closing(part))

    @property
    def address(self) -> bytes:
        """An address that must never be asked for anything."""
        return b"http://127.0.0.1:%d/x" % self._server.getsockname()[1]

    def run(self, kind: Kind, data: bytes) -> Verdict:
        """Read one file, and look at what came of it, and at everything around it."""
        self._source.write_bytes(data)
        self._target.write_bytes(b"")
        before, worked = self._around(), self._worked()
        ending, why = self._ending(kind, data)
        seconds = self._worked() - worked
        if ending is not Ending.FAULT:
            faults = [*self._seen_around(before, data), *([f"{seconds:.0f} s"] if seconds > CPU_SECONDS_MAX else [])]
            if faults:
                ending, why = Ending.FAULT, "; ".join(faults)
        return Verdict(ending, why, seconds)

    def _ending(self, kind: Kind, data: bytes) -> tuple[Ending, str]:
        try:
            for name in NAMES:
                mismatch(name, sniff(data[:HEAD_BYTES], name).content_type)
            faults = self._works[kind.work](kind, self._source)
        except BadInput as error:
            return Ending.REFUSED, f"{error.code}: {error.message}"
        except ParserCrashed as error:
            is_known = any(sign in error.message for sign in SIGNALS)
            return Ending.DIED if is_known else Ending.FAULT, f"{error.code}: {error.message}"
        except ProviderError as error:
            return Ending.FAULT, f"{type(error).__name__} {error.code}: {error.message}"
        # Anything else would stop a worker's attempt without a word for its person.
        except Exception as error:  # noqa: BLE001 - see above
            return Ending.FAULT, f"{type(error).__name__} outside of the sandbox: {error}"
        return (Ending.FAULT, "; ".join(faults[:5])) if faults else (Ending.READ, "")

    def _read(self, kind: Kind, source: Path) -> list[str]:
        return _faults(self._extract(self._extractor, kind, source))

    def _extract(self, extractor: LocalExtractor, kind: Kind, source: Path) -> Extraction:
        return extractor.extract(source, kind.content_type, timeout_seconds=WALL_SECONDS, progress=_unheard)

    def _read_and_draw(self, kind: Kind, source: Path) -> list[str]:
        found = self._read(kind, source)
        self._draw(source)
        return found

    def _read_and_unpack(self, kind: Kind, source: Path) -> list[str]:
        """List the files, then fetch some of them."""
        faults = self._read(kind, source)
        load = Load(0, FILES_MAX, UNPACKED_BYTES_MAX)
        found = self._unpacker.unpack(
            source, kind.content_type, self._target, load, timeout_seconds=WALL_SECONDS, progress=_unheard
        )
        size = self._target.stat().st_size
        return faults + (
            [] if all(each.offset + each.size <= size for each in found.entries) else ["bytes are missing"]
        )

    def _draw(self, source: Path) -> None:
        self._artist.draw(source, 1, BOX, timeout_seconds=WALL_SECONDS)

    def _count_and_draw(self, kind: Kind, source: Path) -> list[str]:
        pages = PagesOf(source, is_pdf=False, timeout_seconds=WALL_SECONDS, progress=_unheard)
        found = _faults(self._ocr.picture(pages, PAGES_MAX))
        self._draw(source)
        return found

    def _look(self, kind: Kind, source: Path) -> list[str]:
        with source.open("rb") as file:
            found = sniff(file.read(HEAD_BYTES), "")
        readable = found.content_type if self._looking.accepts(found.content_type) else kind.content_type
        return _faults(self._looking.extract(source, readable, timeout_seconds=WALL_SECONDS, progress=_unheard))

    def _listen(self, kind: Kind, source: Path) -> list[str]:
        found = self._decoder.read(
            source, kind.content_type, self._target, timeout_seconds=WALL_SECONDS, progress=_unheard
        )
        return faults_of_sound(found, self._target.read_bytes())

    def _open(self, kind: Kind, source: Path) -> list[str]:
        with source.open("rb") as file:
            password = _PASSWORDS.get(file.read(2), PDF_PASSWORD)
        self._opener.open(source, self._target, password, timeout_seconds=WALL_SECONDS)
        return [] if self._target.stat().st_size else ["nothing was written"]

    def _around(self) -> Counter[tuple[str, int, int]]:
        """The files beside those of the job."""
        own = {self._source, self._target}
        found = [*self._job.iterdir(), *self._beside.iterdir()]
        return Counter((str(each), each.stat().st_size, each.stat().st_mtime_ns) for each in found if each not in own)

    def _seen_around(self, before: Counter[tuple[str, int, int]], data: bytes) -> Iterator[str]:
        if self._around() != before:
            yield "a file beside the job's changed"
        if self._source.read_bytes() != data:
            yield "the file itself changed"
        if self._target.stat().st_size > FILE_BYTES_MAX:
            yield "more was written than is allowed"
        try:
            self._server.accept()[0].close()
            yield "an address was asked"
        except BlockingIOError:
            pass

    def _worked(self) -> float:
        """How long all children that have ended were on a processor."""
        boxes = [self._extractor._sandbox, self._looking._sandbox, self._ocr._sandbox]
        boxes += [self._artist._sandbox, self._decoder._sandbox, self._opener._sandbox, self._unpacker._sandbox]
        return sum(map(_children_seconds, boxes))


def _children_seconds(box: Sandbox) -> float:
    """The processor's time of the ended children of a sandbox's spawner, as the kernel adds it up."""
    if box._spawner is None or not box._spawner.is_alive():
        return 0.0
    fields = Path(f"/proc/{box._spawner._process.pid}/stat").read_text(encoding="latin-1").rpartition(")")[2].split()
    return sum(map(int, fields[13:15])) / os.sysconf("SC_CLK_TCK")


def _faults(found: Extraction) -> list[str]:
    return faults_of(found, (SECRET, "root:x:0:0"))


def _unheard(_: float) -> None:
    pass
