"""Opens recordings with FFmpeg's libraries, restricted to a named demuxer, local files and one thread.

Only sandboxed children import this.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import av
import numpy as np
from av.audio.frame import AudioFrame
from av.audio.resampler import AudioResampler
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.stream import Discard
from numpy.typing import NDArray

from webapp.provider_errors import BadInput, FailureCode

# Opus knows no other rate that every player likes.
RATE = 48_000
OPEN_OPTIONS = {"protocol_whitelist": "file", "enable_drefs": "0"}
LAYOUTS = {1: "mono", 2: "stereo"}


@dataclass
class OpenRecording:
    """An open file, its sound, and what went wrong while it was read."""

    container: InputContainer
    stream: AudioStream
    packets: int = field(default=0)
    broken: int = field(default=0)

    @property
    def announced_seconds(self) -> float | None:
        """How long it is by its own words."""
        return self.container.duration / 1_000_000 if self.container.duration else None

    def frames(self) -> Iterator[AudioFrame]:
        """All that can be decoded; a packet that can't be is left out and counted."""
        try:
            for packet in self.container.demux(self.stream):
                self.packets += 1
                yield from self._decoded(packet)
        except av.error.FFmpegError:
            # The file ends in the middle of something.
            self.broken += 1

    def _decoded(self, packet: "av.Packet[AudioStream]") -> list[AudioFrame]:
        try:
            return list(packet.decode())
        except av.error.EOFError:
            return []
        except av.error.FFmpegError:
            self.broken += 1
            return []


@contextmanager
def opened(source: str, demuxer: str) -> Iterator[OpenRecording]:
    """Open a file that must be of this kind; BadInput where it is not, or has no sound."""
    try:
        container = av.open(source, format=demuxer, options=OPEN_OPTIONS)
    except (av.error.FFmpegError, UnicodeDecodeError) as error:
        raise BadInput(f"not opened as {demuxer}: {type(error).__name__}", code=FailureCode.CORRUPT) from error
    with container:
        if not container.streams.audio:
            raise BadInput("there is no sound track", code=FailureCode.NO_SOUND)
        stream = container.streams.audio[0]
        if stream.codec_context is None:
            raise BadInput("no decoder for the sound", code=FailureCode.UNSUPPORTED)
        stream.codec_context.thread_count = 1
        for other in container.streams:
            if other is not stream:
                # Pictures are not even parsed.
                other.discard = Discard.all
        yield OpenRecording(container, stream)


class Resampled:
    """Brings frames of any form to 16-bit samples; the form may change in the middle of a file."""

    def __init__(self, channels: int, rate: int) -> None:
        self._layout, self._rate = LAYOUTS[channels], rate
        self._resampler: AudioResampler | None = None
        self._form: tuple[object, ...] = ()

    def add(self, frame: AudioFrame) -> Iterator[AudioFrame]:
        """Resample a frame."""
        form = (frame.format.name, frame.layout.name, frame.sample_rate)
        if form != self._form:
            yield from self.end()
            self._form = form
            self._resampler = AudioResampler(format="s16", layout=self._layout, rate=self._rate)
        # Damaged files have times that jump about; what counts is the order.
        frame.pts = None
        if self._resampler is not None:
            yield from self._resampler.resample(frame)

    def end(self) -> Iterator[AudioFrame]:
        """Give what is left inside."""
        if self._resampler is not None:
            yield from self._resampler.resample(None)
            self._resampler = None


def samples_of(frame: AudioFrame) -> NDArray[np.int16]:
    """The interleaved samples of a resampled frame."""
    samples: NDArray[np.int16] = np.asarray(frame.to_ndarray().reshape(-1), dtype=np.int16)
    return samples


def piece(source: str, clip: tuple[float, float], channels: int | None, rate: int) -> Iterator[NDArray[np.int16]]:
    """The samples between two moments of an Ogg file that we made, interleaved.

    `channels` is how many are wanted: 1 mixes them; None takes what there is.
    """
    start, end = clip
    with opened(source, "ogg") as recording:
        stream = recording.stream
        # A little earlier: Opus needs some packets until it sounds right.
        if start > 1 and stream.time_base is not None:
            recording.container.seek(int((start - 1) / stream.time_base), stream=stream)
        resampled = Resampled(channels or stream.layout.nb_channels, rate)
        for frame in recording.frames():
            moment = frame.time or 0.0
            if moment >= end:
                break
            if moment + frame.samples / frame.sample_rate <= start:
                continue
            for part in resampled.add(frame):
                yield samples_of(part)
        for part in resampled.end():
            yield samples_of(part)


def channels_of(source: str) -> int:
    """How many channels an Ogg file has that we made."""
    with opened(source, "ogg") as recording:
        return recording.stream.layout.nb_channels
