"""How long ordinary users wait beside clients that mean harm by being slow.

Run as `python -m bench.hostile [--connections N] [--seconds N]`. Ten users open pages of a real server (embedded on
SQLite, a web and a worker process on PostgreSQL), first alone, then beside so many hostile connections of each kind
that tests/serving/hostile.py knows. Limits per address and token are off, since all come from one and bring one.
"""

import argparse
import os
import statistics

from bench._databases import DATABASES
from bench.upload import docmill
from tests.serving.hostile import KINDS, NO_LIMITS, PAUSE_SECONDS, besieged, p99, waits

PROMISED_MS = 250


def report(name: str, seconds: list[float]) -> None:
    """A line of the table."""
    median, worst = statistics.median(seconds) * 1000, seconds[-1] * 1000
    figures = f"p50 {median:6.1f} ms   p99 {p99(seconds):6.1f} ms   max {worst:6.1f} ms"
    print(f"  {name:<28} {len(seconds):>5} pages   {figures}", flush=True)


def main() -> None:
    """Measure everything, print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=5, help="of each kind")
    options = parser.parse_args()
    os.environ.update(NO_LIMITS)
    requests = int(options.seconds / PAUSE_SECONDS)
    for database in DATABASES:
        with docmill(database) as (port, token, _):
            waits(port, token, requests=10)
            print(f"{database}: 10 users, {options.connections} hostile connections (promised: p99 < {PROMISED_MS} ms)")
            report("alone", waits(port, token, requests=requests))
            for kind in KINDS:
                with besieged(kind, port, options.connections, token):
                    report(kind, waits(port, token, requests=requests))


if __name__ == "__main__":
    main()
