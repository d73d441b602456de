"""How much of an embedding provider's speed a document gets, and how long a book takes that was processed before.

1. A thousand passages through an embeddings server that takes 50 ms a call: the share of what
   EMBED_CONCURRENCY allows, from the first call to the last vector that is saved.
2. A book of 500 pages, fresh and once more: the retry's share of the time. With as many texts in a call as
   the settings say where nobody changes them, and with four times as many, which makes the first time shorter.

Run as `python -m bench.providers [--rounds N]`. The server is a process of its own, on loopback.
"""

import argparse
import io
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from uuid import UUID

from flask_migrate import upgrade

from bench._databases import DATABASES
from bench._table import row, title
from tests import books
from tests.conftest import make_bare_app, settings_for
from tests.emulators.ports import free_port, wait_for_port
from tests.emulators.server import KEY
from tests.pipeline.workplace import Workplace, make_workplace, prose
from tests.postgres import ROOT
from webapp.db import db
from webapp.documents.states import RunTrigger
from webapp.library.intake import ingest, receive
from webapp.pipeline.chunk import chunk, load_chunks
from webapp.pipeline.embed import embed_missing
from webapp.pipeline.extract import extract, save_markdown
from webapp.pipeline.handlers import do_steps
from webapp.pipeline.steps import StageContext
from webapp.providers.local.embed import LocalEmbedder
from webapp.providers.local.extract import LocalExtractor
from webapp.providers.models.embedding_files import E5
from webapp.providers.openai.client import connect
from webapp.providers.openai.embed import Model, OpenAIEmbedder
from webapp.providers.ports import Embedder
from webapp.runs import lifecycle

CALL_SECONDS, BATCH, CONCURRENCY, PASSAGES = 0.05, 16, 4, 1000
LARGE_BATCH = 64


@contextmanager
def embeddings_server(seconds: float) -> Iterator[str]:
    """A server that takes so long for each call; its address."""
    port = free_port()
    command = [sys.executable, "-m", "tests.emulators.openai", "--port", str(port), "--delay", str(seconds)]
    with subprocess.Popen(command, cwd=ROOT) as server:
        try:
            wait_for_port(port, 20, lambda: server.poll() is None)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.terminate()


def openai(url: str, batch: int = BATCH) -> OpenAIEmbedder:
    """The product's own client."""
    model = Model("text-embedding-3-small", 256)
    return OpenAIEmbedder(connect(url, KEY, 20), model, batch_size=batch, concurrency=CONCURRENCY, timeout_seconds=20)


@contextmanager
def workplace(variables: Mapping[str, str]) -> Iterator[Workplace]:
    """A worker's hands on a new database."""
    with tempfile.TemporaryDirectory() as folder:
        given = {name: value for name, value in variables.items() if name != "DATA_DIR"}
        settings = settings_for(Path(folder), MODELS_DIR=str(ROOT / ".cache" / "models"), **given)
        app, extractor = make_bare_app(settings), LocalExtractor()
        with app.app_context():
            upgrade()
            yield make_workplace(settings, extractor)
            db.session.remove()
            db.engine.dispose()
        extractor.close()


def use(place: Workplace, embedder: Embedder) -> None:
    """Let this one make the vectors."""
    place.providers = replace(place.providers, embedder=embedder)


def upload(place: Workplace, data: bytes, name: str) -> UUID:
    """A new document, waiting."""
    incoming = receive(place.providers.blobs.incoming(), io.BytesIO(data), len(data))
    return ingest(place, place.org_id, incoming, name).document.id


def embedding_share(place: Workplace, number: int, call_seconds: float) -> float:
    """Embed some thousand new passages; the share of the speed that is allowed."""
    upload(place, prose(PASSAGES, start=number * 10 * PASSAGES), "long.md")
    context = _context(place)
    extract(context)
    save_markdown(context)
    chunk(context)
    staged = load_chunks(context)[:PASSAGES]
    allowed = math.ceil(len(staged) / BATCH) * call_seconds / CONCURRENCY
    started = time.perf_counter()
    embed_missing(context, staged)
    took = time.perf_counter() - started
    do_steps(context)
    return allowed / took


def single_call(embedder: OpenAIEmbedder) -> float:
    """What one call takes, with nothing around it."""
    texts = [f"A sentence of harbours and lights, number {number}." * 12 for number in range(BATCH)]
    times = []
    for number in range(10):
        started = time.perf_counter()
        embedder.embed([f"{number} {text}" for text in texts])
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def book(place: Workplace, number: int) -> tuple[float, list[float]]:
    """Seconds of the first time, and of three more."""
    document_id = upload(place, books.long_book(500, seed=number), "book.epub")
    times = [_timed(place)]
    for _ in range(3):
        trigger = RunTrigger.REPROCESS
        lifecycle.queue_run(place.queue, place.org_id, document_id, trigger, max_attempts=1)
        times.append(_timed(place))
    return times[0], times[1:]


def _timed(place: Workplace) -> float:
    started = time.perf_counter()
    do_steps(_context(place))
    return time.perf_counter() - started


def _context(place: Workplace) -> StageContext:
    return place.context(place.claim(), deadline=time.monotonic() + 3600)


def main() -> None:
    """Measure on both databases."""
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    title(f"The share of a provider's speed that is left, and a book that is processed again, {rounds} rounds")
    for name, opened in DATABASES.items():
        with opened() as variables, workplace(variables) as place, embeddings_server(CALL_SECONDS) as url:
            embedder = openai(url)
            call = single_call(embedder)
            use(place, embedder)
            shares = sorted(embedding_share(place, number, CALL_SECONDS) for number in range(rounds))
            middle = statistics.median(shares)
            row(
                f"{name}, {PASSAGES:,} passages in calls of 50 ms",
                f"{middle:.0%} of {CONCURRENCY} at once",
                beside=f"calls of {call * 1000:.0f} ms alone: {middle * call / CALL_SECONDS:.0%}",
            )
            for seed, batch in enumerate((BATCH, LARGE_BATCH)):
                use(place, openai(url, batch=batch))
                _print_book(f"{name}, book again, calls of {batch} texts", *book(place, seed))
        with opened() as variables, workplace(variables) as place:
            use(place, LocalEmbedder(place.settings.models.dir, made_by=E5, threads=2))
            _print_book(f"{name}, book again, model on this machine", *book(place, 0))


def _print_book(what: str, first: float, again: list[float]) -> None:
    middle = statistics.median(again)
    row(what, f"{middle:.2f} s", beside=f"first time {first:.2f} s, {middle / first:.1%}")


if __name__ == "__main__":
    main()
