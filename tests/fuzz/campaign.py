"""Reads changed files for a time, reader after reader, and keeps those that something is wrong with."""

import hashlib
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.fuzz.rig import Ending, Rig, Verdict
from tests.fuzz.seeds import kinds, seeds_of
from tests.postgres import ROOT

KEPT = ROOT / "var" / "fuzz"
SLOW_SECONDS = 3.0
# An error of one sort is shown once.
SORTS_MAX = 40


@dataclass
class Score:
    """What became of the files of one reader."""

    reader: str
    seconds: float = 0.0
    worked: float = 0.0
    """Seconds of a processor, in the children and for their callers."""
    endings: Counter[Ending] = field(default_factory=Counter)
    slowest: float = 0.0
    faults: list[str] = field(default_factory=list)
    remarks: dict[str, str] = field(default_factory=dict)
    """Faults, children that died and files that took long, each with the command that repeats it."""

    @property
    def files(self) -> int:
        """How many were read."""
        return sum(self.endings.values())

    def __str__(self) -> str:
        counts = ", ".join(f"{self.endings[ending]} {ending}" for ending in Ending if self.endings[ending])
        a_second, a_core_second = (self.files / max(each, 0.01) for each in (self.seconds, self.worked))
        return (
            f"{self.reader:9} {self.files:6} files, {a_second:5.1f} a second ({a_core_second:5.1f} of a core's): "
            f"{counts}; slowest {self.slowest:.1f} s"
        )


def changed(reader: str, seed: int, number: int) -> bytes:
    """File `number` of a reader: the same one for the same seed."""
    chance = Random(f"{seed} {reader} {number}")
    seeds = seeds_of(reader)
    return kinds()[reader].mutate(chance.choice(seeds), seeds, chance)


def run(readers: Sequence[str], seconds: float, seed: int) -> Iterator[Score]:
    """Give each reader its share of the time."""
    with tempfile.TemporaryDirectory(prefix="docmill-fuzz-") as folder, Rig(Path(folder)) as rig:
        deadline = time.monotonic() + seconds
        for place, reader in enumerate(readers):
            share = (deadline - time.monotonic()) / (len(readers) - place)
            yield _of_reader(rig, reader, seed, time.monotonic() + share)


def _of_reader(rig: Rig, reader: str, seed: int, deadline: float) -> Score:
    kind, score, started = kinds()[reader], Score(reader), time.monotonic()
    own = time.process_time()
    while time.monotonic() < deadline or not score.files:
        data = changed(reader, seed, score.files)
        add(score, rig.run(kind, data), data)
    score.seconds = time.monotonic() - started
    score.worked += time.process_time() - own
    return score


def add(score: Score, verdict: Verdict, data: bytes) -> None:
    """Count what became of a file; keep it where that must not be."""
    score.endings[verdict.ending] += 1
    score.worked += verdict.seconds
    score.slowest = max(score.slowest, verdict.seconds)
    is_slow = verdict.seconds > SLOW_SECONDS
    if verdict.ending not in {Ending.FAULT, Ending.DIED} and not is_slow:
        return
    sort = f"{verdict.ending} {verdict.why[:60]}" + (f" after {verdict.seconds:.0f} s" if is_slow else "")
    if sort not in score.remarks and len(score.remarks) < SORTS_MAX:
        score.remarks[sort] = _kept(score.reader, data)
        if verdict.ending is Ending.FAULT:
            score.faults.append(f"{score.reader}: {verdict.why}\n  {score.remarks[sort]}")


def _kept(reader: str, data: bytes) -> str:
    """Save a file, and give the command that reads it again."""
    KEPT.mkdir(parents=True, exist_ok=True)
    file = KEPT / f"{reader}-{hashlib.sha256(data).hexdigest()[:12]}"
    file.write_bytes(data)
    return f"make fuzz reader={reader} file={file.relative_to(ROOT)}"
