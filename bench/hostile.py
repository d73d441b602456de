"""How long ordinary users wait beside clients that mean harm by being slow.

Run as `python -m bench.hostile [--connections N] [--seconds N]`. Ten users open pages of a real server (embedded on
SQLite, a web and a worker process on PostgreSQL), first alone, then beside so many hostile connections of each kind
that tests/serving/hostile.py knows. Limits per address and token are off, since all come from one and bring one.
"""

import argparse
import os

from bench._databases import DATABASES
from bench._table import p50_p99, row, title
from bench.upload import docmill
from tests.serving.hostile import KINDS, NO_LIMITS, PAUSE_SECONDS, besieged, waits

WANTED_MS = 250


def report(name: str, seconds: list[float], alone: float | None = None) -> float:
    """Print a line; the p99 in milliseconds."""
    p50, p99 = p50_p99(seconds)
    beside = "" if alone is None else f"alone p99 {alone:.1f} ms, {p99 / alone:.1f} x"
    row(name, f"p50 {p50:.1f}, p99 {p99:.1f} ms", wanted=f"p99 < {WANTED_MS} ms", beside=beside, holds=p99 < WANTED_MS)
    return p99


def main() -> None:
    """Measure on both databases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=5, help="of each kind")
    options = parser.parse_args()
    os.environ.update(NO_LIMITS)
    requests = int(options.seconds / PAUSE_SECONDS)
    for database in DATABASES:
        with docmill(database) as (port, token, _):
            waits(port, token, requests=10)
            title(f"Pages of 10 users beside {options.connections} hostile connections, {database}")
            alone = report("alone", waits(port, token, requests=requests))
            for kind in KINDS:
                with besieged(kind, port, options.connections, token):
                    report(kind, waits(port, token, requests=requests), alone)


if __name__ == "__main__":
    main()
