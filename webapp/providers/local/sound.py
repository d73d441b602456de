"""Reads the sound of recordings on this machine, in sandboxed children; no account, no network."""

from collections.abc import Callable, Mapping
from pathlib import Path

from webapp.provider_errors import BadInput, BlobMissing, FailureCode, ParserCrashed
from webapp.providers.local.versions import installed
from webapp.providers.speech_ports import Clip, Sound
from webapp.readers.filetypes import filetype
from webapp.sandbox.call import ChildLimits
from webapp.sandbox.sandbox import Sandbox

# Part of the cache's key: count it up when the same file would give another result.
RULES = 1
MODULE = "webapp.readers.sound.read"
SECONDS_MAX = 4 * 3600.0
# Twice four hours at the rate that is written, and some more.
FILE_BYTES_MAX = 256 << 20
CHECK_SECONDS = 20.0


class AudioDecoder:
    """A SoundReader on FFmpeg's libraries."""

    def __init__(self, *, memory_mb: int = 512, seconds_max: float = SECONDS_MAX, requires_locks: bool = False) -> None:
        self.version = f"{RULES}+av{installed('av')}-{seconds_max:g}"
        self._seconds_max = seconds_max
        limits = ChildLimits(memory_bytes=memory_mb << 20, file_bytes=FILE_BYTES_MAX, requires_locks=requires_locks)
        self._sandbox = Sandbox((MODULE,), limits)

    def accepts(self, content_type: str) -> bool:
        """Say whether this kind of file holds sound that can be read."""
        return bool(filetype(content_type).demuxer)

    def close(self) -> None:
        """End the readers' process."""
        self._sandbox.close()

    def check(self) -> None:
        """Run an empty job: ProviderUnavailable where children can't be started."""
        self._sandbox.run(f"{MODULE}:ready", {}, timeout_seconds=CHECK_SECONDS)

    def read(
        self,
        source: Path,
        content_type: str,
        target: Path,
        *,
        timeout_seconds: float,
        progress: Callable[[float], None],
    ) -> Sound:
        """Write the sound as Ogg Opus to `target`, an empty file, and say what is known of it."""
        arguments = {"demuxer": _demuxer(source, content_type), "seconds_max": self._seconds_max}
        plain = self._run("read_sound", arguments, source, target, timeout_seconds, progress)
        try:
            return Sound.from_plain(plain)
        except ValueError as error:
            raise ParserCrashed("the reader's answer has the wrong form") from error

    def cut(self, audio: Path, clip: Clip, target: Path, *, timeout_seconds: float) -> None:
        """Copy a piece of what `read` wrote to `target`, an empty file, as Ogg Opus."""
        arguments = {"start": clip.start, "end": clip.end, "channel": clip.channel}
        self._run("cut_sound", arguments, audio, target, timeout_seconds, None)

    def _run(
        self,
        job: str,
        arguments: Mapping[str, object],
        source: Path,
        target: Path,
        timeout_seconds: float,
        progress: Callable[[float], None] | None,
    ) -> object:
        return self._sandbox.run(
            f"{MODULE}:{job}",
            {"source": str(source.absolute()), "target": str(target.absolute()), **arguments},
            timeout_seconds=timeout_seconds,
            readable=source,
            writable=target,
            progress=progress,
        )


def _demuxer(source: Path, content_type: str) -> str:
    demuxer = filetype(content_type).demuxer
    if not demuxer:
        raise BadInput(f"no reader for {content_type}", code=FailureCode.UNSUPPORTED)
    try:
        size_bytes = source.stat().st_size
    except FileNotFoundError as error:
        raise BlobMissing("the file to read is gone") from error
    if not size_bytes:
        raise BadInput("the file has no bytes", code=FailureCode.EMPTY)
    return demuxer
