"""Fetches the files out of containers on this machine, in sandboxed children."""

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

from webapp.provider_errors import ParserCrashed
from webapp.providers.ports import Load
from webapp.readers.archives.members import Unpacked, UnpackLimits, clean_path
from webapp.readers.archives.read import ARCHIVES
from webapp.readers.filetypes import MAIL, MAILBOX, MSG, PDF
from webapp.sandbox.call import ChildLimits
from webapp.sandbox.sandbox import Sandbox

MODULE = "webapp.readers.archives.unpack"


class LocalUnpacker:
    """An Unpacker for archives, mail and PDFs."""

    def __init__(self, limits: UnpackLimits, *, memory_mb: int = 1024, requires_locks: bool = False) -> None:
        self.limits = limits
        # Behind the last file that fits there may be one of the largest size.
        most = limits.total_bytes + limits.member_bytes
        self._sandbox = Sandbox(
            (MODULE,), ChildLimits(memory_bytes=memory_mb << 20, file_bytes=most, requires_locks=requires_locks)
        )

    def close(self) -> None:
        """End the children."""
        self._sandbox.close()

    def accepts(self, content_type: str) -> bool:
        """Say whether files may lie in this kind of file."""
        return content_type in ARCHIVES or content_type in {MAIL, MAILBOX, MSG, PDF}

    def count(self, source: Path, content_type: str, *, timeout_seconds: float) -> int:
        """Count the files in a container."""
        arguments = self._arguments(source, content_type)
        found = self._sandbox.run(f"{MODULE}:count", arguments, timeout_seconds=timeout_seconds, readable=source)
        if not isinstance(found, int):
            raise ParserCrashed("the parser's answer has the wrong form")
        return found

    def unpack(
        self,
        source: Path,
        content_type: str,
        target: Path,
        load: Load,
        *,
        timeout_seconds: float,
        progress: Callable[[float], None],
    ) -> Unpacked:
        """Write files of a container to `target`, an empty file, one after the other."""
        arguments = {
            **self._arguments(source, content_type),
            "target": str(target.absolute()),
            "first": load.first,
            "most": load.most,
            "most_bytes": load.most_bytes,
        }
        answer = self._sandbox.run(
            f"{MODULE}:unpack",
            arguments,
            timeout_seconds=timeout_seconds,
            readable=source,
            writable=target,
            progress=progress,
        )
        return _checked(answer, load, target.stat().st_size)

    def _arguments(self, source: Path, content_type: str) -> dict[str, object]:
        return {"source": str(source.absolute()), "content_type": content_type, "limits": asdict(self.limits)}


def _checked(answer: object, load: Load, size: int) -> Unpacked:
    """The answer, if it speaks of the next members and of bytes that were written."""
    try:
        found = Unpacked.from_plain(answer)
    except ValueError as error:
        raise ParserCrashed("the parser's answer has the wrong form") from error
    entries = found.entries
    is_next = [each.number for each in entries] == list(range(load.first, load.first + len(entries)))
    is_written = all(min(each.offset, each.size) >= 0 and each.offset + each.size <= size for each in entries)
    if not is_next or not is_written or not (entries or found.is_last) or len(entries) > load.most:
        raise ParserCrashed("the parser's answer is about other files")
    # Whoever took over the child may have written any name.
    return replace(found, entries=tuple(replace(each, path=each.path and clean_path(each.path)) for each in entries))
