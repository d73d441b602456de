"""The plain loop beside which documents are measured: the same reader, chunker and embedder, and nothing is stored."""

import random
import re
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

from tests.samples import lines_pdf
from webapp.pipeline.chunk import make_chunks
from webapp.pipeline.embed import checked_vectors
from webapp.providers.ports import Embedder, Extractor
from webapp.worker.threads import yield_to_others

LINES, LINE_WORDS = 34, 9
CONTENT_TYPES = {"texts": "text/plain", "pdfs": "application/pdf"}
ENDINGS = {"texts": "txt", "pdfs": "pdf"}
TIMEOUT_SECONDS = 60.0
_WORDS = re.findall(
    r"\w+",
    """
    the of and a to in is on that by for with was it from harbour invoice committee storage engine passage winter number
    report delivery contract office market machine value letter review decision station energy river account quality
    measure record surface pressure supply village council meeting payment network history question answer material
    travel window garden library student teacher problem method result design project structure reason
    """,
)


def page(kind: str, number: int) -> bytes:
    """A page of some 300 words like no other; as many lines as fit on paper."""
    chance = random.Random(number)
    lines = [" ".join(chance.choices(_WORDS, k=LINE_WORDS)).capitalize() + "." for _ in range(LINES)]
    lines.insert(0, f"Report {number}")
    return lines_pdf(lines) if kind == "pdfs" else "\n".join(lines).encode()


def warm_up(extractor: Extractor, embedder: Embedder) -> None:
    """Load what is loaded once in a process."""
    extractor.check()
    embedder.embed(["a few words"])


def documents_per_second(
    files: Sequence[Path], content_type: str, extractor: Extractor, embedder: Embedder, threads: int
) -> float:
    """Read, cut and embed all of these files on so many threads."""
    began = time.perf_counter()
    # As the workers' threads do: or on a busy machine the loop would be given more of it.
    with ThreadPoolExecutor(threads, initializer=yield_to_others) as pool:
        for _ in pool.map(lambda file: _process(file, content_type, extractor, embedder), files):
            pass
    return len(files) / (time.perf_counter() - began)


def _process(file: Path, content_type: str, extractor: Extractor, embedder: Embedder) -> None:
    extraction = extractor.extract(file, content_type, timeout_seconds=TIMEOUT_SECONDS, progress=lambda fraction: None)
    chunks = make_chunks(uuid4(), extraction)
    for start in range(0, len(chunks), embedder.batch_size):
        checked_vectors(embedder, [chunk.text for chunk in chunks[start : start + embedder.batch_size]])
