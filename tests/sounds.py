# ruff: noqa: RUF001 - Russian words are the point here
"""Recordings for the tests, made in code: sound that has the rhythm of speech, in every container."""

import io
import shutil
import subprocess
import wave
from functools import cache
from typing import cast

import av
import numpy as np
from av.audio.stream import AudioStream
from av.video.stream import VideoStream
from numpy.typing import NDArray

RATE = 16_000
WORDS = (
    "Good morning everyone. Today we talk about the harbour contract. I will send the signed invoice by Friday. "
    "Who is going to call the customer? Please remember to book the meeting room. "
    "We promise to deliver the lighthouse plans next week."
)
RUSSIAN = (
    "Доброе утро, коллеги. Сегодня мы говорим о договоре на ремонт маяка. Я пришлю подписанный счёт до пятницы. "
    "Кто позвонит заказчику? Цена лампы четыреста рублей. Не забудьте забронировать переговорную комнату."
)


def babble(seconds: float, pitch: float = 120.0, rate: int = RATE) -> NDArray[np.int16]:
    """Tones that come and go as syllables and phrases do."""
    time = np.arange(int(seconds * rate)) / rate
    tones = sum((np.sin(2 * np.pi * pitch * part * time) / part for part in (1, 2, 3, 6, 11)), np.zeros_like(time))
    syllables = 0.55 + 0.45 * np.sin(2 * np.pi * 3.1 * time)
    phrases = np.sin(2 * np.pi * 0.23 * time + 0.3) > -0.6
    return (tones * syllables * phrases * 6_000).astype(np.int16)


def silence(seconds: float, rate: int = RATE) -> NDArray[np.int16]:
    """Nothing at all."""
    return np.zeros(int(seconds * rate), np.int16)


def two_speakers(seconds: float, turn: float = 2.0) -> NDArray[np.int16]:
    """Two channels that take turns, interleaved."""
    time = np.arange(int(seconds * RATE)) / RATE
    is_left = (time // turn).astype(int) % 2 == 0
    left, right = babble(seconds, 110) * is_left, babble(seconds, 190) * ~is_left
    return np.stack([left, right], axis=1).reshape(-1).astype(np.int16)


def room(seconds: float) -> NDArray[np.int16]:
    """Stereo of one room: both sides hear the same, one a little softer."""
    sound = babble(seconds)
    return np.stack([sound, (sound * 0.8).astype(np.int16)], axis=1).reshape(-1)


def wav(samples: NDArray[np.int16], channels: int = 1, rate: int = RATE) -> bytes:
    """A WAV file."""
    target = io.BytesIO()
    with wave.open(target, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples.astype("<i2").tobytes())
    return target.getvalue()


# Muxer, encoder and rate of each kind.
KINDS = {
    "mp3": ("mp3", "libmp3lame", 44_100),
    "m4a": ("ipod", "aac", 44_100),
    "mp4": ("mp4", "aac", 44_100),
    "mov": ("mov", "aac", 44_100),
    "ogg": ("ogg", "libopus", 48_000),
    "flac": ("flac", "flac", 44_100),
    "amr": ("amr", "libopencore_amrnb", 8_000),
    "aac": ("adts", "aac", 44_100),
    "webm": ("webm", "libopus", 48_000),
    "mkv": ("matroska", "aac", 44_100),
    "aiff": ("aiff", "pcm_s16be", 44_100),
}
WITH_PICTURES = {"mp4", "mov", "webm", "mkv"}


def encoded(kind: str, seconds: float = 4.0, title: str | None = None, *, sound: bool = True) -> bytes:
    """A file of this kind; those that can have pictures have some."""
    muxer, encoder, rate = KINDS[kind]
    target = io.BytesIO()
    with av.open(target, "w", format=muxer) as container:
        if title:
            container.metadata["title"] = title
        pictures: VideoStream | None = None
        if kind in WITH_PICTURES:
            pictures = container.add_stream("libvpx" if kind == "webm" else "mpeg4", rate=10)
            pictures.width, pictures.height, pictures.pix_fmt = 64, 48, "yuv420p"
        stream = cast("AudioStream", container.add_stream(encoder, rate=rate, layout="mono")) if sound else None
        if stream is not None:
            frame = av.AudioFrame.from_ndarray(babble(seconds, rate=rate).reshape(1, -1), format="s16", layout="mono")
            frame.sample_rate = rate
            resampler = av.AudioResampler(
                format=stream.format, layout="mono", rate=rate, frame_size=stream.frame_size or 0
            )
            for part in [*resampler.resample(frame), *resampler.resample(None)]:
                container.mux(stream.encode(part))
            container.mux(stream.encode(None))
        if pictures is not None:
            for number in range(int(seconds * 10)):
                picture = av.VideoFrame.from_ndarray(np.full((48, 64, 3), number % 256, np.uint8), format="rgb24")
                container.mux(pictures.encode(picture))
            container.mux(pictures.encode(None))
    return target.getvalue()


@cache
def spoken(text: str = WORDS, voice: str = "en-us") -> bytes | None:
    """A WAV file of real words, by Debian's espeak-ng; None where that is not installed."""
    program = shutil.which("espeak-ng")
    if program is None:
        return None
    return subprocess.run([program, "-v", voice, "-s", "150", "--stdout", text], check=True, capture_output=True).stdout
