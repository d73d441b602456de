"""What one document costs: statements, bytes of PostgreSQL's log, sessions, CPU by step, commands of Redis.

Run as `python -m bench.cost [--queue database|bullmq] [--only KIND]`, on PostgreSQL with one worker process of one
thread. A kind's documents are uploaded and worked off twice: the second time the server notes each statement, which
takes CPU of its own; all other figures are of the first time. Beside them, in the same run: the least that a queue can
do on the same server, a table of two columns, and a commit each for a row's insert, claim and end.
"""

import argparse
import io
import threading
import wave
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from typing import Self

import numpy as np
import psycopg

from bench._documents_loop import page
from bench._place import Place, Worker, place, wait_until
from bench._redis import add_queue_option, queue_settings, used_by
from bench._server_costs import Server, cpu_of
from bench._table import row, title
from tests import sounds
from tests.redis_server import RedisServer
from tests.samples import lines_pdf
from tests.search.passages import new_org
from tests.speech_clip import english

PAGES = 10
RECORDING_SECONDS = 60
BARE_ROWS = 300
_LINES = 50
_seeds = count(1)


@dataclass(frozen=True)
class Kind:
    """A kind of document: the end of its name, how many are measured, and the bytes of one like no other."""

    what: str
    ending: str
    number: int
    data: Callable[[int], bytes]


def _text(seed: int) -> bytes:
    return page("texts", seed)


def _pdf(seed: int) -> bytes:
    lines = b"\n".join(page("texts", PAGES * seed + number) for number in range(2 * PAGES)).decode().splitlines()
    return lines_pdf(lines[: PAGES * _LINES], lines_per_page=_LINES)


def _recording(seed: int) -> bytes:
    """Speech for so long, and a second of another tone at its end, so that no two are the same."""
    with wave.open(io.BytesIO(english())) as file:
        rate, channels = file.getframerate(), file.getnchannels()
        spoken = np.frombuffer(file.readframes(1 << 30), "<i2")[::channels]
    tone = sounds.babble(1, pitch=100 + seed, rate=rate)
    return sounds.wav(np.concatenate([np.resize(spoken, RECORDING_SECONDS * rate), tone]), rate=rate)


KINDS = {
    "text": Kind("a text of one page", "txt", 40, _text),
    "pdf": Kind(f"a PDF of {PAGES} pages", "pdf", 10, _pdf),
    "recording": Kind(f"a recording of {RECORDING_SECONDS} s", "wav", 2, _recording),
}


@dataclass
class Cost:
    """What one document cost."""

    postgresql: float = 0.0
    worker: float = 0.0
    wal_bytes: float = 0.0
    redis: float = 0.0
    redis_commands: float = 0.0
    sessions: int = 0
    statements: float = 0.0
    commits: float = 0.0
    steps: dict[str, float] = field(default_factory=dict)


class Costs:
    """Uploads documents and takes the costs of working them off."""

    def __init__(self, at: Place, redis: RedisServer | None) -> None:
        assert at.owner_url is not None
        self._at, self._redis = at, redis
        self._server = Server(at.owner_url)
        self._org_id = new_org()

    def of(self, kind: Kind, settings: dict[str, str]) -> Cost:
        """The cost of one of these."""
        with Worker(self._at, program="bench._cost_worker", **settings) as worker:
            lines = _Lines(worker)
            self._work_off(kind, 1)
            lines.taken()
            found = self._measured(kind, worker)
            for step, seconds in lines.taken():
                found.steps[step] = found.steps.get(step, 0.0) + seconds / kind.number
            with self._server.noting() as sent:
                self._work_off(kind, kind.number)
        idle = ("FROM workers", "pg_locks", "UPDATE workers")
        own = [each for each in sent if not any(words in each.text for words in idle)]
        found.statements = len(own) / kind.number
        found.commits = sum(each.text == "COMMIT" for each in own) / kind.number
        return found

    def bare(self) -> Cost:
        """What a row of a bare queue costs."""
        assert self._at.owner_url is not None
        with psycopg.connect(self._at.owner_url, autocommit=True) as connection:
            connection.execute("CREATE TABLE bare (id bigint PRIMARY KEY, state text)")
            began = self._used()
            for number in range(BARE_ROWS):
                connection.execute("INSERT INTO bare VALUES (%s, 'queued')", [number])
                connection.execute(_BARE_CLAIM)
                connection.execute("UPDATE bare SET state = 'done' WHERE id = %s", [number])
            ended = self._used()
            # While the session lives: what a session used counts for its parent only later.
            found = [(after - before) / BARE_ROWS for before, after in zip(began, ended, strict=True)]
        return Cost(postgresql=found[0], wal_bytes=found[1], statements=3, commits=3)

    def _measured(self, kind: Kind, worker: Worker) -> Cost:
        began, of_worker = self._used(), cpu_of(worker.process.pid, children=True)
        with _Watching(self._server) as sessions:
            self._work_off(kind, kind.number)
        ended = self._used()
        found = [(after - before) / kind.number for before, after in zip(began, ended, strict=True)]
        cost = Cost(postgresql=found[0], wal_bytes=found[1], redis=found[2], redis_commands=found[3])
        cost.worker = (cpu_of(worker.process.pid, children=True) - of_worker) / kind.number
        cost.sessions = sessions.most
        return cost

    def _used(self) -> tuple[float, float, float, float]:
        of_redis = used_by(self._redis) if self._redis is not None else (0.0, 0.0)
        return (self._server.cpu(), float(self._server.wal_bytes()), *of_redis)

    def _work_off(self, kind: Kind, number: int) -> None:
        for seed in (next(_seeds) for _ in range(number)):
            self._at.upload(self._org_id, kind.data(seed), f"document-{seed}.{kind.ending}")
        wait_until(self._at.is_idle, every_seconds=0.5)


_BARE_CLAIM = """
UPDATE bare SET state = 'taken' WHERE id = (
    SELECT id FROM bare WHERE state = 'queued' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
)
"""


class _Lines:
    """What the worker prints, read by a thread so that it never waits."""

    def __init__(self, worker: Worker) -> None:
        self._found: list[tuple[str, float]] = []
        threading.Thread(target=self._read, args=[worker], daemon=True).start()

    def _read(self, worker: Worker) -> None:
        for line in worker.lines():
            stage, step, seconds = line.split()
            self._found.append((f"{stage}: {step}", float(seconds)))

    def taken(self) -> list[tuple[str, float]]:
        """What was printed since the last call."""
        found, self._found[:] = list(self._found), []
        return found


class _Watching:
    """Looks at the number of sessions five times a second."""

    def __init__(self, server: Server) -> None:
        self._server, self.most = server, 0
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def _look(self) -> None:
        while not self._ending.wait(0.2):
            self.most = max(self.most, self._server.sessions())

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ending.set()
        self._thread.join()


def show(kind: Kind, cost: Cost, bare: Cost) -> None:
    """Print what a kind's document costs."""
    title(f"{kind.what}, the mean of {kind.number}")
    row("statements and commits", f"{cost.statements:.1f} and {cost.commits:.1f}", beside=f"bare {bare.statements:.0f}")
    row("bytes of PostgreSQL's log", f"{cost.wal_bytes:,.0f}", beside=f"bare {bare.wal_bytes:,.0f}")
    row("CPU of PostgreSQL", _ms(cost.postgresql), beside=f"bare {_ms(bare.postgresql)}")
    row("CPU of the worker and its readers", _ms(cost.worker))
    for step, seconds in cost.steps.items():
        row(f"  {step}", _ms(seconds))
    row("sessions of PostgreSQL", str(cost.sessions))
    if cost.redis_commands:
        row("commands of Redis, and its CPU", f"{cost.redis_commands:.1f}, {_ms(cost.redis)}")


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.1f} ms"


def main() -> None:
    """Print a table for each kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_queue_option(parser)
    parser.add_argument("--only", choices=KINDS, action="append")
    given = parser.parse_args()
    with ExitStack() as opened:
        settings, redis = opened.enter_context(queue_settings(given.queue))
        settings["WORKER_THREADS"] = "1"
        costs = Costs(opened.enter_context(place("postgresql")), redis)
        bare = costs.bare()
        for name in given.only or KINDS:
            show(KINDS[name], costs.of(KINDS[name], settings), bare)


if __name__ == "__main__":
    main()
