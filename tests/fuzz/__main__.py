"""Mutation fuzzing of every reader, each file in the sandbox's child as the product runs it.

    python -m tests.fuzz --seconds 60 --seed 7 --reader pdf
    python -m tests.fuzz --reader pdf --file var/fuzz/pdf-0123456789ab

Ends with 1 where a file ended in something else than a result that can be stored or an error that says why.
"""

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.fuzz import campaign
from tests.fuzz.rig import Ending, Rig
from tests.fuzz.seeds import kinds


def main() -> int:
    """Run as the arguments say."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=None, help="the same seed makes the same files")
    parser.add_argument("--reader", default="all", help=f"all, or some of: {', '.join(kinds())}")
    parser.add_argument("--file", type=Path, default=None, help="read this file alone, as it is")
    given = parser.parse_args()
    readers = list(kinds()) if given.reader == "all" else given.reader.split(",")
    if unknown := set(readers) - set(kinds()):
        parser.error(f"no such reader: {', '.join(unknown)}; there are {', '.join(kinds())}")
    if given.file is not None:
        return _again(readers[0], given.file)
    seed = random.SystemRandom().randrange(10_000) if given.seed is None else given.seed
    print(f"seed {seed}, {given.seconds:g} s, {len(readers)} readers", flush=True)
    return _campaign(readers, given.seconds, seed)


def _campaign(readers: list[str], seconds: float, seed: int) -> int:
    faults = 0
    for score in campaign.run(readers, seconds, seed):
        print(score, flush=True)
        for sort, again in score.remarks.items():
            print(f"    {sort}\n      {again}", flush=True)
        faults += score.endings[Ending.FAULT]
    print(f"{faults} faults" if faults else "no faults")
    return 1 if faults else 0


def _again(reader: str, file: Path) -> int:
    with tempfile.TemporaryDirectory(prefix="docmill-fuzz-") as folder, Rig(Path(folder)) as rig:
        verdict = rig.run(kinds()[reader], file.read_bytes())
    print(f"{verdict.ending} after {verdict.seconds:.1f} s: {verdict.why}")
    return 1 if verdict.ending is Ending.FAULT else 0


if __name__ == "__main__":
    sys.exit(main())
