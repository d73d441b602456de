"""How many times faster than they last recordings are read and transcribed on this machine, and in how much memory.

Run as `python -m bench.audio [--minutes N] [--words-only]`. The sound is made here; an hour of talk is spoken by
Debian's espeak-ng where that is installed. How well speech is understood is measured on recorded sentences out of
Debian's packages, beside faster-whisper called bare on the same samples; this needs apt-get.
"""

import argparse
import multiprocessing
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from faster_whisper import WhisperModel

from bench import _spoken
from bench._spoken import Spoken
from bench._table import row, title
from tests import sounds
from webapp.providers.local.analysis import LocalAnalyst
from webapp.providers.local.sound import AudioDecoder
from webapp.providers.local.speech import LocalRecogniser
from webapp.providers.models.whisper import BASE
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
    parser.add_argument("--words-only", action="store_true", help="only how well recorded sentences are understood")
    given = parser.parse_args()
    if not given.words_only:
        _hours(given.minutes * 60, given.models)
    _words(given.models)


def _hours(seconds: int, models: Path) -> None:
    title("A recording, in times of how long it lasts; beside: what it took, and the most memory")
    with tempfile.TemporaryDirectory() as folder:
        for kind in FORMATS:
            _apart(_make, Path(folder), kind, seconds)
            _apart(_reading, Path(folder), kind)
        _apart(_make_talk, Path(folder), seconds)
        _apart(_hearing, Path(folder), models)


def _words(models: Path) -> None:
    title("Recorded sentences: wrong words, and the speed in times of how long they last")
    if shutil.which("apt-get") is None:
        row("understand", "-", beside="there is no apt-get")
        return
    with tempfile.TemporaryDirectory() as folder:
        for spoken in (_spoken.russian(120), _spoken.english(60)):
            for work in (_understanding, _bare):
                _apart(work, Path(folder), models, spoken)


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


def _understanding(folder: Path, models: Path, spoken: Spoken) -> None:
    source = folder / "spoken.wav"
    source.write_bytes(sounds.wav(spoken.samples, rate=_spoken.RATE))
    reader, recogniser = AudioDecoder(), LocalRecogniser(models, language=spoken.language)
    sound = _read(reader, source, "audio/wav", folder / "spoken.ogg")
    reader.close()
    transcript, took = _timed(lambda: _transcribe(recogniser, sound, folder / "spoken.ogg"))
    recogniser.close()
    heard = " ".join(segment.text for part in transcript for segment in part.segments)
    (folder / "took").write_text(str(took), encoding="ascii")
    _tell_words(spoken, heard, took, resource.RUSAGE_CHILDREN)


def _bare(folder: Path, models: Path, spoken: Spoken) -> None:
    """faster-whisper with its own settings and the same model, its loading included, as ours is."""
    samples = spoken.samples.astype(np.float32) / np.float32(32768)

    def work() -> str:
        model = WhisperModel(str(BASE.folder(models)), compute_type="int8", cpu_threads=2, local_files_only=True)
        found, _ = model.transcribe(samples, language=spoken.language)
        return " ".join(segment.text for segment in found)

    heard, took = _timed(work)
    ours = float((folder / "took").read_text(encoding="ascii"))
    _tell_words(spoken, heard, took, resource.RUSAGE_SELF, f", ours takes {ours / took:.2f} times as long")


def _tell_words(spoken: Spoken, heard: str, took: float, whose: int, more: str = "") -> None:
    seconds, peak = len(spoken.samples) / _spoken.RATE, resource.getrusage(whose).ru_maxrss / 1024
    what = f"{spoken.language} {'faster-whisper bare' if more else 'ours'}"
    wrong = _spoken.wrong_words(spoken.text, heard)
    row(what, f"{wrong:.3f}", beside=f"{seconds / took:.1f} x, {took:.1f} s for {seconds:.0f} s, {peak:.0f} MB{more}")


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
