"""Real English speech for the tests of the recogniser on this machine.

Debian's espeak-ng speaks it where that is installed. Elsewhere it is the half minute of a
telephone call that comes inside the wheel of pyannote.audio (MIT), downloaded once beside the
models, checked, and never installed.
"""

import io
import tempfile
import wave
import zipfile
from functools import cache
from pathlib import Path

import numpy as np

from tests import sounds
from tests.postgres import ROOT
from webapp.providers.models.wheel import Wheel, fetch

WHEEL = Wheel(
    "pyannote_audio-4.0.7-py3-none-any.whl", "852ea15c4d85bc34773e618267603ffca6a521669a74d33742692cc67fc700d6", {}
)
MEMBER = "pyannote/audio/sample/sample.wav"
KEPT = ROOT / ".cache" / "speech-clip.wav"
SPOKEN_WORDS = ("harbour", "invoice", "customer", "meeting", "lighthouse")
CALL_WORDS = ("hello", "new jersey", "texas", "chicago", "yankee")


@cache
def english() -> bytes:
    """A WAV file in which somebody speaks."""
    return sounds.spoken() or _call()


def english_words() -> tuple[str, ...]:
    """Words that are said in it."""
    return SPOKEN_WORDS if sounds.spoken() else CALL_WORDS


def in_left_channel() -> bytes:
    """The same on the left, and tones in its pauses and after it on the right."""
    with wave.open(io.BytesIO(english())) as file:
        rate = file.getframerate()
        left = np.frombuffer(file.readframes(1 << 30), "<i2")
    right = np.concatenate([np.zeros(len(left), np.int16), sounds.babble(len(left) / rate / 3, rate=rate)])
    left = np.concatenate([left, np.zeros(len(right) - len(left), np.int16)])
    return sounds.wav(np.stack([left, right], axis=1).reshape(-1), channels=2, rate=rate)


def _call() -> bytes:
    if not KEPT.exists():
        KEPT.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(fetch(WHEEL, Path(folder))) as archive:
            KEPT.write_bytes(archive.read(MEMBER))
    return KEPT.read_bytes()
