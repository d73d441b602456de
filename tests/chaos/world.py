"""The installation that chaos is done to: servers, workers, somebody who uploads, and their providers."""

import contextlib
import http.client
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests import samples
from tests.bare import AS_FAST_AS_IT_GOES
from tests.chaos.processes import WEB, WORKER, Managed, merged, wait_until
from tests.chaos.server import DATABASE, RestartableServer
from tests.emulators.documentintelligence import DocumentIntelligence
from tests.emulators.openai import OpenAI
from tests.emulators.ports import free_port
from tests.emulators.server import Emulator
from tests.emulators.wire import Wire
from tests.journeys.site import Installation
from tests.pipeline.workplace import prose
from tests.redis_server import RedisServer

WORKERS = 3
# A call takes long enough to be interrupted.
EMBEDDING_SECONDS = 0.15
LEASE_SECONDS = 4.0
POISON_EVERY = 12
# Half a file, one that asks for a password, and one whose parser dies of it.
POISONS = (samples.deflate_bomb_pdf, samples.encrypted_pdf, samples.truncated_pdf)
# A service refuses these two; the third is a matter for a parser of this machine.
CLOUD_POISONS = (samples.encrypted_pdf, samples.truncated_pdf)
# Files that arrive together and share all their text but one line: each text may be paid for once.
COPIES_EVERY, COPIES = 9, 4
PDF_EVERY = 4
QUICK = {
    "POLL_SECONDS": "0.2",
    "HEARTBEAT_SECONDS": "0.5",
    "WATCHDOG_SECONDS": "0.5",
    "ZOMBIE_AFTER_SECONDS": str(LEASE_SECONDS),
    "RUN_TIMEOUT_SECONDS": "600",
    "JOB_MAX_ATTEMPTS": "8",
    "STEP_ATTEMPTS": "1",
    "BACKOFF_BASE_SECONDS": "0.2",
    "BACKOFF_MAX_SECONDS": "1",
    "WORKER_THREADS": "2",
    "DRAIN_SECONDS": "3",
    "EXTRACT_MEMORY_MB": "256",
    "EXTRACT_TIMEOUT_SECONDS": "10",
    "WEB_CONCURRENCY": "2",
    "EMBEDDINGS": "openai",
    "PROVIDER_TIMEOUT_SECONDS": "3",
}


@dataclass
class World:
    """All of it. `server` is None on SQLite, where one gunicorn does everything."""

    folder: Path
    server: RestartableServer | None
    openai: OpenAI
    analyzer: DocumentIntelligence | None
    """Where PDFs are read elsewhere, and paid for; None where this machine reads them."""
    web: Managed
    redis: RedisServer | None = None
    """In front of the database's queue; None where there is none."""
    workers: list[Managed] = field(default_factory=list)
    all: list[Managed] = field(default_factory=list)
    uploaded: dict[str, bool] = field(default_factory=dict)
    """The ids that an answer has named, and whether each can be read."""
    refusals: Counter[str] = field(default_factory=Counter)
    dead: dict[str, float] = field(default_factory=dict)
    """The database roles of killed workers, and when (by the clock on the wall)."""

    @property
    def emulators(self) -> list[Emulator]:
        """The providers that are paid."""
        return [self.openai, *([self.analyzer] if self.analyzer else [])]

    @property
    def site(self) -> Installation:
        return self.web.installation

    @property
    def base(self) -> dict[str, str]:
        url = self.server.runtime_url if self.server else f"sqlite:///{self.folder / 'docmill.sqlite3'}"
        return {
            **QUICK,
            "OPENAI_API_KEY": self.openai.key,
            "OPENAI_BASE_URL": self.openai.base_url,
            "DATA_DIR": str(self.folder),
            **AS_FAST_AS_IT_GOES,
            "DATABASE_URL": url,
            **(_cloud(self.analyzer) if self.analyzer else {}),
            **({"QUEUE": "bullmq", "REDIS_URL": self.redis.url} if self.redis else {}),
            **({"DATABASE_OWNER_URL": self.server.owner_url} if self.server else {"JOB_MAX_ATTEMPTS": "4"}),
        }

    def add_worker(self) -> Managed:
        """One more; it may be that the database is away just now, and then its role has to wait."""
        worker = self._managed(WORKER)
        worker.start()
        self.workers.append(worker)
        return worker

    def database_role(self, process: Managed) -> str:
        """The name under which a process, and no other, connects."""
        return str(urlsplit(process.installation.variables["DATABASE_URL"]).username)

    def end(self) -> None:
        for process in self.all:
            process.end()

    def prepare(self) -> None:
        """Tables, a token, and processes that run."""
        owner = Installation(self.base, self.folder / "prepare.log")
        owner.flask("db", "upgrade")
        token = owner.flask("tokens", "create", "--org", "Chaos", "--role", "ops")
        self.web = self._managed(WEB)
        self.web.installation.token = token
        self.web.start()
        for _ in range(WORKERS if self.server else 0):
            self.add_worker()
        self.site.wait_until_ready()

    def _managed(self, command: tuple[str, ...]) -> Managed:
        variables, wire = dict(self.base), None
        if self.server:
            wire = Wire("127.0.0.1", self.server.port)
            role = self._new_role()
            variables = merged(variables, DATABASE_URL=f"postgresql://{role}@127.0.0.1:{wire.port}/{DATABASE}")
        log = self.folder / f"{'web' if command == WEB else 'worker'}.log"
        process = Managed(command, Installation(variables, log, free_port()), wire)
        self.all.append(process)
        return process

    def _new_role(self) -> str:
        assert self.server is not None
        made: list[str] = []

        def make() -> bool:
            with contextlib.suppress(Exception):
                made.append(self.server.new_role())  # type: ignore[union-attr] # just looked
            return bool(made)

        assert wait_until(make, 30), "no role could be made"
        return made[0]


def _cloud(analyzer: DocumentIntelligence) -> dict[str, str]:
    return {
        "AZURE_DOCUMENTINTELLIGENCE_ENDPOINT": analyzer.url,
        "AZURE_DOCUMENTINTELLIGENCE_KEY": analyzer.key,
        "AZURE_DOCUMENTINTELLIGENCE_WINDOW_PAGES": "2",
        "AZURE_DOCUMENTINTELLIGENCE_WINDOWS_AT_ONCE": "2",
    }


@contextlib.contextmanager
def world(
    folder: Path, server: RestartableServer | None, *, is_cloud: bool = False, has_redis: bool = False
) -> Iterator[World]:
    """One that runs. With `is_cloud` an emulated service reads its PDFs; with `has_redis` BullMQ feeds the workers."""
    openai = OpenAI(delay_seconds=EMBEDDING_SECONDS)
    analyzer = DocumentIntelligence(seconds=0.3) if is_cloud else None
    redis = RedisServer() if has_redis else None
    made = World(folder, server, openai, analyzer, web=None, redis=redis)  # type: ignore[arg-type] # prepare makes it
    for emulator in made.emulators:
        emulator.start()
    try:
        made.prepare()
        yield made
    finally:
        made.end()
        if redis is not None:
            redis.stop()
        for emulator in made.emulators:
            emulator.stop()


class Uploader(threading.Thread):
    """Somebody who sends files, and sends one again until an answer says that it is there."""

    def __init__(self, world: World, seed: int, documents: int, seconds: float) -> None:
        super().__init__(name="uploader", daemon=True)
        self._world = world
        self._chance = random.Random(seed)
        self._documents = documents
        self._pause = seconds / (documents + 1)
        self.is_done = threading.Event()
        self._give_up = threading.Event()

    def run(self) -> None:
        for number in range(self._documents):
            files, is_good = self._files(number)
            while not self._give_up.is_set() and not self._send(files, is_good=is_good):
                time.sleep(0.2)
            if self._give_up.is_set():
                break
            time.sleep(self._pause * self._chance.random() * 2)
        self.is_done.set()

    def give_up(self) -> None:
        self._give_up.set()

    def _files(self, number: int) -> tuple[dict[str, bytes], bool]:
        """What is uploaded next, and whether it can be read."""
        if number % POISON_EVERY == POISON_EVERY // 2:
            poisons = CLOUD_POISONS if self._world.analyzer else POISONS
            poison = poisons[number // POISON_EVERY % len(poisons)]
            return {f"{number}.pdf": poison() + b"\n%% %d" % number}, False
        if self._world.analyzer and number % PDF_EVERY == 0:
            pages = self._chance.randint(1, 5)
            return {f"{number}.pdf": samples.report_pdf(pages) + b"\n%% %d" % number}, True
        text = prose(self._chance.randint(2, 12), start=100 * number)
        if number % COPIES_EVERY == COPIES_EVERY - 1:
            return {f"{number}-{copy}.md": text + b"\n\nCopy %d." % copy for copy in range(COPIES)}, True
        return {f"{number}.md": text}, True

    def _send(self, files: Mapping[str, bytes], *, is_good: bool) -> bool:
        try:
            documents = self._world.site.upload(files)
        except AssertionError as error:
            status = error.args[0][0] if error.args and isinstance(error.args[0], tuple) else 0
            self._world.refusals[f"HTTP {status}"] += 1
            return False
        except (OSError, http.client.HTTPException) as error:
            self._world.refusals[type(error).__name__] += 1
            return False
        self._world.uploaded |= {str(document["id"]): is_good for document in documents}
        return True


def statuses(world: World) -> Mapping[str, int]:
    """The number of documents by status, as the installation itself counts them."""
    counts: dict[str, Any] = world.site.get("/documents")["counts"]
    return {name: int(number) for name, number in counts.items()}
