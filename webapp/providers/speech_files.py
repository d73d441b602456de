"""Pieces of a recording as files of their own, for services that are sent files."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from webapp.providers.speech_ports import Clip, SoundReader

CutFile = Callable[[Path, Clip, float], AbstractContextManager[Path]]


def cut_with(reader: SoundReader) -> CutFile:
    """A function that gives a clip as an Ogg Opus file, which is removed afterwards."""

    @contextmanager
    def cut(audio: Path, clip: Clip, timeout_seconds: float) -> Iterator[Path]:
        if clip.is_whole:
            yield audio
            return
        with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
            target = Path(folder, "clip.ogg")
            target.touch()
            reader.cut(audio, clip, target, timeout_seconds=timeout_seconds)
            yield target

    return cut
