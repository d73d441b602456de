"""The sandboxed jobs that read recordings and cut them."""

from base64 import b64encode
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

import av
import numpy as np
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import OutputContainer
from numpy.typing import NDArray

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.cleaning import clean_line
from webapp.readers.sound.levels import Loudness, are_speakers_apart, is_silent
from webapp.readers.sound.recording import (
    LAYOUTS,
    RATE,
    OpenRecording,
    Resampled,
    channels_of,
    opened,
    piece,
    samples_of,
)
from webapp.sandbox.child import Report

# Demuxers of files that say in their header how long they are; of the others FFmpeg only estimates it.
EXACT = frozenset({"wav", "mov", "ogg", "flac", "aiff", "matroska", "avi"})
BITS_PER_SECOND = 24_000
# Speech at this rate is as clear as it was; four hours of it are 43 MB.
ENCODER_OPTIONS = {"application": "voip", "frame_duration": "60"}
PROBE_SECONDS = 300
SHORTEST_SECONDS = 0.1
BROKEN_SHARE_MAX = 0.5
MISSING_SHARE = 0.05
WAV_BYTES_UNKNOWN = 0x7FFF0000
BREAKS_OFF = "The recording breaks off after {minutes} min {seconds:02} s: the rest of the file is missing or damaged."
HAS_GAPS = "Some parts of the recording are damaged and were left out."


def read_sound(arguments: dict[str, object], report: Report) -> dict[str, Any]:
    """Write the sound of `source` to `target`; the answer is a Sound as plain data."""
    source, demuxer = str(arguments["source"]), str(arguments["demuxer"])
    seconds_max = float(str(arguments["seconds_max"]))
    channels = _channels(source, demuxer)
    with opened(source, demuxer) as recording:
        announced = recording.announced_seconds
        if demuxer in EXACT and announced is not None and announced > seconds_max:
            raise _too_long(seconds_max)
        title = clean_line(recording.container.metadata.get("title"))
        with _Writer(str(arguments["target"]), channels) as writer:
            _copy(recording, Resampled(channels, RATE), writer, report, seconds_max)
        duration, levels = writer.seconds, writer.loudness.levels()
        _check(recording, duration, levels)
        if demuxer == "wav":
            announced = _announced_by_wav(source, duration)
        warnings = _warnings(recording, duration, announced if demuxer in EXACT else None)
    return {
        "duration_seconds": duration,
        "channels": channels,
        "levels": b64encode(levels).decode(),
        "title": title,
        "warnings": warnings,
    }


def cut_sound(arguments: dict[str, object], _: Report) -> bool:
    """Write a piece of an Ogg Opus file that we made to `target`."""
    source, clip = str(arguments["source"]), (float(str(arguments["start"])), float(str(arguments["end"])))
    channel = None if arguments["channel"] is None else int(str(arguments["channel"]))
    channels = channels_of(source) if channel is None else 1
    with _Writer(str(arguments["target"]), channels) as writer:
        for samples in piece(source, clip, None, RATE):
            writer.add(_frame(samples if channel is None else samples[channel::2], channels))
    return True


def ready(_: dict[str, object], __: Report) -> bool:
    """Answer: that is all it takes to see that children can be started."""
    return True


class _Writer:
    """Writes Ogg Opus, and measures how loud it is."""

    def __init__(self, target: str, channels: int) -> None:
        self._container: OutputContainer = av.open(target, "w", format="ogg")
        stream = self._container.add_stream("libopus", rate=RATE, layout=LAYOUTS[channels])
        assert isinstance(stream, AudioStream)  # noqa: S101 - libopus makes no other
        stream.bit_rate = BITS_PER_SECOND * channels
        stream.options = dict(ENCODER_OPTIONS)
        self._stream = stream
        self._samples = 0
        self.loudness = Loudness(channels, RATE)

    @property
    def seconds(self) -> float:
        return self._samples / RATE

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self._samples:
            self._container.mux(self._stream.encode(None))
        self._container.close()

    def add(self, frame: AudioFrame) -> None:
        frame.pts, frame.time_base = self._samples, Fraction(1, RATE)
        self._samples += frame.samples
        self.loudness.add(samples_of(frame))
        self._container.mux(self._stream.encode(frame))


def _channels(source: str, demuxer: str) -> int:
    """2 where the channels carry a speaker each, by the first minutes."""
    with opened(source, demuxer) as recording:
        if recording.stream.layout.nb_channels != 2:
            return 1
        loudness, resampled, heard = Loudness(2, RATE), Resampled(2, RATE), 0
        for frame in recording.frames():
            for part in resampled.add(frame):
                loudness.add(samples_of(part))
                heard += part.samples
            if heard > PROBE_SECONDS * RATE:
                break
        levels = loudness.levels()
    half = len(levels) // 2
    return 2 if are_speakers_apart(levels[:half], levels[half:]) else 1


def _copy(recording: OpenRecording, resampled: Resampled, writer: _Writer, report: Report, seconds_max: float) -> None:
    announced, told = recording.announced_seconds, 0.0
    for frame in recording.frames():
        for part in resampled.add(frame):
            writer.add(part)
        if writer.seconds > seconds_max:
            raise _too_long(seconds_max)
        done = min(0.99, writer.seconds / announced) if announced else 0.0
        if done >= told + 0.02:
            told = done
            report.progress(done)
    for part in resampled.end():
        writer.add(part)


def _check(recording: OpenRecording, duration: float, levels: bytes) -> None:
    if recording.broken > max(1, BROKEN_SHARE_MAX * recording.packets):
        raise BadInput(f"{recording.broken} of {recording.packets} packets are broken", code=FailureCode.CORRUPT)
    if duration < SHORTEST_SECONDS:
        code = FailureCode.CORRUPT if recording.broken else FailureCode.EMPTY
        raise BadInput(f"{duration:.2f} s of sound", code=code)
    if is_silent(levels):
        raise BadInput("nothing can be heard", code=FailureCode.SILENT)


def _warnings(recording: OpenRecording, duration: float, announced: float | None) -> list[str]:
    if announced is not None and duration < announced * (1 - MISSING_SHARE) - 1:
        minutes, seconds = divmod(int(duration), 60)
        return [BREAKS_OFF.format(minutes=minutes, seconds=seconds)]
    # The last packet of a file is often cut short, and nothing is lost by it.
    return [HAS_GAPS] if recording.broken > 1 else []


def _announced_by_wav(source: str, duration: float) -> float | None:
    """How long a WAV file should be: FFmpeg believes the file's length, not its header."""
    size = Path(source).stat().st_size
    with Path(source).open("rb") as file:
        announced = int.from_bytes(file.read(8)[4:8], "little") + 8
    # A program that writes to a pipe does not know the length, and puts something very large there.
    return duration * announced / size if size < announced < WAV_BYTES_UNKNOWN else None


def _too_long(seconds_max: float) -> BadInput:
    return BadInput(f"longer than {seconds_max:g} s", code=FailureCode.TOO_LONG)


def _frame(samples: NDArray[np.int16], channels: int) -> AudioFrame:
    packed = np.ascontiguousarray(samples).reshape(1, -1)
    frame = AudioFrame.from_ndarray(packed, format="s16", layout=LAYOUTS[channels])
    frame.sample_rate = RATE
    return frame
