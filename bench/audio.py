"""How many times faster than they last recordings are read and transcribed on this machine, and in how much memory.

Run as `python -m bench.audio [--minutes N]`. The sound is made here; words are spoken by Debian's
espeak-ng where that is installed, else the recogniser gets none and is left out.
"""

import argparse
import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from bench._table import row, title
from tests import sounds
from webapp.providers.local.analysis import LocalAnalyst
from webapp.providers.local.sound import AudioDecoder
from webapp.providers.local.speech import LocalRecogniser
from webapp.providers.speech_ports import Clip, Sound, Transcript
from webapp.readers.sound.levels import clips

TIMEOUT_SECONDS = 3_600.0
Result = TypeVar("Result")
FORMATS = {"wav": "audio/wav", "mp3": "audio/mpeg", "m4a": "audio/mp4", "mp4": "video/mp4"}


def main() -> None:
    """Measure and print; each figure in a process of its own, whose memory nothing else has filled."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--models", type=Path, default=Path(os.environ.get("MODELS_DIR", ".cache/models")))
    given = parser.parse_args()
    seconds = given.minutes * 60
    title("A recording, in times of how long it lasts; beside: what it took, and the most memory")
    with tempfile.TemporaryDirectory() as folder:
        for kind in FORMATS:
            _apart(_make, Path(folder), kind, seconds)
            _apart(_reading, Path(folder), kind)
        _apart(_make_talk, Path(folder), seconds)
        _apart(_hearing, Path(folder), given.models)


def _apart(work: Callable[..., None], *arguments: object) -> None:
    process = multiprocessing.get_context("spawn").Process(target=work, args=arguments)
    process.start()
    process.join()


def _make(folder: Path, kind: str, seconds: int) -> None:
    if kind == "wav":
        data = sounds.wav(sounds.babble(seconds, rate=44_100), rate=44_100)
    else:
        data = sounds.encoded(kind, seconds)
    (folder / f"hour.{kind}").write_bytes(data)


def _make_talk(folder: Path, seconds: int) -> None:
    spoken = sounds.spoken()
    if spoken is not None:
        # The header of a stream says no length: the samples are what follows it.
        once = np.frombuffer(spoken[44:], "<i2")
        samples = np.tile(once, 1 + seconds * 22_050 // len(once))[: seconds * 22_050]
        (folder / "talk.wav").write_bytes(sounds.wav(samples, rate=22_050))


def _reading(folder: Path, kind: str) -> None:
    source, reader = folder / f"hour.{kind}", AudioDecoder()
    sound, took = _timed(lambda: _read(reader, source, FORMATS[kind], folder / "hour.ogg"))
    reader.close()
    source.unlink()
    _tell(f"read {kind}", sound.duration_seconds, took)


def _hearing(folder: Path, models: Path) -> None:
    source = folder / "talk.wav"
    if not source.exists():
        row("transcribe", "-", beside="espeak-ng is not installed")
        return
    reader, recogniser = AudioDecoder(), LocalRecogniser(models)
    sound = _read(reader, source, "audio/wav", folder / "talk.ogg")
    transcript, took = _timed(lambda: _transcribe(recogniser, sound, folder / "talk.ogg"))
    reader.close()
    recogniser.close()
    _tell("transcribe", sound.duration_seconds, took)
    words = " ".join(segment.text for part in transcript for segment in part.segments).split()
    segments = [segment for part in transcript for segment in part.segments]
    _, took = _timed(lambda: LocalAnalyst().analyze(segments, timeout_seconds=TIMEOUT_SECONDS))
    row("take notes", f"{took:.2f} s", beside=f"{len(words)} words in {len(segments)} sentences")


def _read(reader: AudioDecoder, source: Path, content_type: str, target: Path) -> Sound:
    target.write_bytes(b"")
    return reader.read(source, content_type, target, timeout_seconds=TIMEOUT_SECONDS, progress=lambda _: None)


def _transcribe(recogniser: LocalRecogniser, sound: Sound, audio: Path) -> list[Transcript]:
    found = []
    for start, end in clips(sound.levels, sound.duration_seconds, recogniser.clip_seconds_max):
        transcript = recogniser.start(audio, Clip(start, end), timeout_seconds=TIMEOUT_SECONDS, progress=lambda _: None)
        assert isinstance(transcript, Transcript)
        found.append(transcript)
    return found


def _timed(work: Callable[[], Result]) -> tuple[Result, float]:
    started = time.perf_counter()
    return work(), time.perf_counter() - started


def _tell(what: str, seconds: float, took: float) -> None:
    # Of all children that have ended so far: the largest.
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    row(what, f"{seconds / took:.0f} x", beside=f"{took:.1f} s for {seconds / 60:.0f} min, {peak:.0f} MB")


if __name__ == "__main__":
    main()
