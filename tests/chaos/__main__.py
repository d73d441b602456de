"""Chaos: real processes, and everything that can happen to them; then the promises are checked.

    python -m tests.chaos --minutes 1 --seed 7 --database postgresql --queue bullmq

What is done when, and to whom, follows from the seed, which is printed. Ends with 1 where a
promise was broken.
"""

import argparse
import contextlib
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import psycopg

from tests.chaos import audit
from tests.chaos.monkey import Monkey
from tests.chaos.plan import BULLMQ, POSTGRESQL, SQLITE, Fault, plan
from tests.chaos.processes import wait_until
from tests.chaos.server import RestartableServer, restartable
from tests.chaos.verdict import judge, unfinished
from tests.chaos.world import Uploader, World, statuses, world

DRAIN_SECONDS = 120.0
SLOW_SECONDS = 20.0
OPEN_CALLS_SECONDS = 90.0
DOCUMENTS_A_MINUTE = 90


def main() -> int:
    """Run as the arguments say."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=None, help="the same seed chooses the same faults")
    parser.add_argument("--database", choices=["postgresql", "sqlite"], default="postgresql")
    parser.add_argument("--queue", choices=["database", "bullmq"], default="database", help="bullmq: Redis in front")
    parser.add_argument("--documents", type=int, default=None)
    parser.add_argument("--extraction", choices=["local", "azure"], default=None, help="by default odd seeds: azure")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(10_000) if given.seed is None else given.seed
    seconds = given.minutes * 60
    if given.queue == "bullmq" and given.database == "sqlite":
        parser.error("BullMQ is in front of PostgreSQL only")
    kinds = BULLMQ if given.queue == "bullmq" else POSTGRESQL if given.database == "postgresql" else SQLITE
    faults = plan(seed, seconds, kinds)
    extraction = given.extraction or ("azure" if seed % 2 else "local")
    _say(
        f"chaos on {given.database}, queue {given.queue}: seed {seed}, {given.minutes:g} min, {len(faults)} faults,"
        f" extraction {extraction}"
    )
    more = {"is_cloud": extraction == "azure", "has_redis": given.queue == "bullmq"}
    with _surroundings(given.database) as (folder, server), world(folder, server, **more) as made:
        if server:
            audit.install(server.superuser_url)
        documents = given.documents or int(DOCUMENTS_A_MINUTE * given.minutes)
        is_sound = _run(made, faults, Uploader(made, seed, documents, seconds))
        if not is_sound:
            _keep_logs(folder)
    return 0 if is_sound else 1


@contextlib.contextmanager
def _surroundings(database: str) -> Iterator[tuple[Path, RestartableServer | None]]:
    folder = Path(tempfile.mkdtemp(prefix="docmill-chaos-"))
    try:
        if database == "sqlite":
            yield folder, None
        else:
            with restartable() as server:
                yield folder, server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(made: World, faults: list[Fault], uploader: Uploader) -> bool:
    monkey = Monkey(made)
    began_at = time.monotonic()
    uploader.start()
    for fault in faults:
        time.sleep(max(0.0, began_at + fault.at - time.monotonic()))
        monkey.revive()
        monkey.inject(fault)
    monkey.heal()
    seconds = _drain(made, monkey, uploader)
    _finish(made)
    found = judge(made) if seconds is not None else {"everything comes to an end": [_stuck(made)]}
    _report(made, monkey, found, seconds)
    return not found and not monkey.troubles


def _finish(made: World) -> None:
    """Wait for the jobs that follow runs, and for open calls, for as long as they become fewer.

    A call of a killed process stays open until nobody can be waiting for its answer.
    """
    left = [unfinished(made)]
    while left[-1] and wait_until(lambda: unfinished(made) < left[-1], OPEN_CALLS_SECONDS, 0.5):
        left.append(unfinished(made))


def _drain(made: World, monkey: Monkey, uploader: Uploader) -> float | None:
    """How long it took until nothing was left to do; None where it never came to that."""
    began_at = time.monotonic()
    uploader.is_done.wait(DRAIN_SECONDS)
    uploader.give_up()

    def is_still() -> bool:
        monkey.revive()
        with contextlib.suppress(AssertionError, OSError):
            _again(made)
            return uploader.is_done.is_set() and statuses(made)["PROCESSING"] == 0
        return False

    return time.monotonic() - began_at if wait_until(is_still, DRAIN_SECONDS, 0.5) else None


def _again(made: World) -> None:
    """What was cancelled, or (embedded) failed because its process was killed, is asked for again by its owner."""
    for document in made.site.get("/documents?status=FAILED")["documents"]:
        failure = made.site.get(f"/documents/{document['id']}")["run"]["failure_type"]
        if failure == "CANCELLED" or (failure == "PROCESS_TERMINATED" and not made.server):
            made.site.post(f"/documents/{document['id']}/reprocess")


def _stuck(made: World) -> Any:
    with contextlib.suppress(AssertionError, OSError):
        return statuses(made)
    return "no answer"


def _report(made: World, monkey: Monkey, found: dict[str, list[Any]], seconds: float | None) -> None:
    _say("\nwhat was done to it")
    for name, number in monkey.done.most_common():
        _say(f"  {number:4}  {name}")
    _say("\nwhat came of it")
    counts = _stuck(made)
    _say(f"  {len(made.uploaded)} documents taken in, then: {counts}")
    _say(f"  uploads that had to be sent again: {dict(made.refusals) or 'none'}")
    _say(f"  everything at rest {'never' if seconds is None else f'{seconds:.1f} s'} after the last fault")
    _say(f"  texts paid for more than once: {len(made.openai.paid_twice())} of {len(made.openai.ledger)}")
    if made.server:
        _say_recoveries(made)
        if seconds is None or seconds > SLOW_SECONDS:
            _say_last(made)
    for trouble in monkey.troubles:
        _say(f"  BROKEN: {trouble}")
    for name, evidence in found.items():
        _say(f"  BROKEN: {name}: {evidence}")
    _say("\nverdict: " + ("everything holds" if not found and not monkey.troubles else "BROKEN"))


_LAST = """
    SELECT d.filename, r.state, r.failure_code, round(extract(epoch FROM now() - r.finished_at)) AS ago,
           (SELECT string_agg(e.kind || coalesce(' ' || e.step, '') || coalesce(' ' || (e.details ->> 'code'), '')
                   || to_char(e.created_at, ' MI:SS.MS'), ', ' ORDER BY e.id) FROM run_events e WHERE e.run_id = r.id)
    FROM processing_runs r JOIN documents d ON d.id = r.document_id ORDER BY r.finished_at DESC NULLS FIRST LIMIT 4
"""


def _say_last(made: World) -> None:
    """The documents that kept everybody waiting, and what happened to them."""
    assert made.server is not None
    with psycopg.connect(made.server.superuser_url) as connection:
        for row in connection.execute(_LAST).fetchall():
            _say(f"  {row}")


def _say_recoveries(made: World) -> None:
    assert made.server is not None
    resets = audit.resets(made.server.superuser_url)
    killed = [
        (at.timestamp() - made.dead[who], again and again.timestamp() - made.dead[who])
        for _, at, again, who in resets
        if who in made.dead and at.timestamp() > made.dead[who]
    ]
    back = sorted(seconds for seconds, _ in killed)
    again = sorted(seconds for _, seconds in killed if seconds is not None)
    _say(f"  attempts that were counted: {len(resets)}, of them for {len(back)} jobs of killed workers")
    for what, figures in (("back in line", back), ("claimed again", again)):
        if figures:
            _say(f"  kill -9 until {what}: median {median(figures):.2f} s, longest {figures[-1]:.2f} s")


def _keep_logs(folder: Path) -> None:
    for log in sorted(folder.glob("*.log")):
        lines = [line for line in log.read_text(errors="replace").splitlines() if " INFO " not in line]
        _say(f"\n--- {log.name}, its last lines that are no news of success")
        _say("\n".join(lines[-60:]))
        _say(f"\n--- {log.name}, why something ended")
        _say("\n".join([line for line in lines if not line.startswith(("20", "[20"))][-60:]))


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
