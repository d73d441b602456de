"""The loudness of a recording over time, and what follows from it."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.int16]

LEVELS_PER_SECOND = 5
"""How many loudness values a second of sound has."""
FLOOR_DB = 96
SILENT_LEVEL = FLOOR_DB - 60
"""Nothing that a person could hear is softer than this in all of a recording."""
ACTIVE_LEVEL = FLOOR_DB - 45
APART_DB = 12
APART_SHARE_MIN = 0.7
EACH_SHARE_MIN = 0.05


class Loudness:
    """Measures while the sound passes: a byte for each fifth of a second and channel."""

    def __init__(self, channels: int, rate: int) -> None:
        self._channels = channels
        self._block = rate // LEVELS_PER_SECOND
        self._rest: list[Samples] = []
        self._waiting = 0
        self._levels: list[NDArray[np.uint8]] = []

    def add(self, samples: Samples) -> None:
        """Take interleaved samples."""
        self._rest.append(samples)
        self._waiting += len(samples) // self._channels
        # Some seconds at once: one by one, the calls would cost more than the sums.
        if self._waiting >= 32 * self._block:
            self._measure(self._waiting // self._block)

    def levels(self) -> bytes:
        """All levels so far, one channel after the other."""
        if self._waiting:
            self._measure(-(-self._waiting // self._block))
        if not self._levels:
            return b""
        return np.concatenate(self._levels).T.tobytes()

    def _measure(self, blocks: int) -> None:
        samples = np.concatenate(self._rest).reshape(-1, self._channels)
        used = samples[: blocks * self._block]
        rest = samples[len(used) :]
        self._rest, self._waiting = [rest.reshape(-1)], len(rest)
        if len(used) < blocks * self._block:
            # The last one is filled up with its own loudness.
            used = np.resize(used, (blocks * self._block, self._channels))
        parts = used.reshape(blocks, self._block, self._channels).astype(np.float32)
        power = np.mean(np.square(parts), axis=1) / (1 << 30)
        decibels = 10 * np.log10(np.maximum(power, 1e-12)) + FLOOR_DB
        self._levels.append(np.clip(np.round(decibels), 0, FLOOR_DB).astype(np.uint8))


def is_silent(levels: bytes) -> bool:
    """Whether there is nothing to hear."""
    return max(levels, default=0) < SILENT_LEVEL


def are_speakers_apart(left: bytes, right: bytes) -> bool:
    """Whether two channels carry a speaker each, as telephone systems record them.

    On a stereo recording of a room both sides are nearly as loud at any moment. Where each has a
    speaker, one of them is much louder most of the time, and not always the same.
    """
    one, other = (np.frombuffer(side, np.uint8).astype(int) for side in (left, right))
    active = np.maximum(one, other) >= ACTIVE_LEVEL
    count = int(active.sum())
    if not count:
        return False
    difference = (one - other)[active]
    first, second = int((difference > APART_DB).sum()) / count, int((difference < -APART_DB).sum()) / count
    return first + second >= APART_SHARE_MIN and min(first, second) >= EACH_SHARE_MIN


def waveform(levels: bytes, channels: int, bars: int) -> list[int]:
    """Heights from 0 to 100 for a picture of the whole, `bars` of them at most."""
    loudest = np.frombuffer(levels, np.uint8).reshape(channels, -1).max(axis=0)
    edges = np.linspace(0, len(loudest), min(bars, len(loudest)) + 1).astype(int)
    heights = (int(loudest[start:end].max()) for start, end in pairwise(edges))
    return [max(0, round((height - SILENT_LEVEL) / (FLOOR_DB - SILENT_LEVEL) * 100)) for height in heights]


def clips(levels: bytes, duration: float, longest: float) -> Iterator[tuple[float, float]]:
    """Cut a recording into clips, each at the softest moment near its end; silent ones are left out.

    `levels` are those of all channels together, or of one.
    """
    start = 0.0
    while start < duration:
        end = _cut_near(levels, start, longest) if duration - start > longest else duration
        if not is_silent(levels[int(start * LEVELS_PER_SECOND) : int(end * LEVELS_PER_SECOND) + 1]):
            yield start, end
        start = end


def _cut_near(levels: bytes, start: float, longest: float) -> float:
    first = int((start + longest * 0.8) * LEVELS_PER_SECOND)
    last = max(first + 1, int((start + longest) * LEVELS_PER_SECOND))
    near = levels[first:last]
    if not near:
        return start + longest
    softest = min(range(len(near)), key=lambda index: (near[index], -index))
    return (first + softest + 0.5) / LEVELS_PER_SECOND
