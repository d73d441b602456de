"""How near nonsense, unrelated questions and right answers come to passages: calibrates `webapp.search.floors`.

Run as `python -m bench.floors [--passages 4000]`. The texts are the descriptions of the installed packages and this
repository's documents, cut as documents are. Unrelated questions are about what none of these speaks of. A right answer
is a passage of a package whose one-line summary is the question.
"""

import argparse
import random
from collections.abc import Iterator, Sequence
from importlib.metadata import distributions
from pathlib import Path
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from bench._place import ROOT
from bench._table import row, title
from webapp.pipeline.chunk import make_chunks
from webapp.providers.local.embed import LocalEmbedder
from webapp.readers.extraction import Extraction
from webapp.search.floors import FLOORS

Vectors = NDArray[np.float32]

UNRELATED = (
    "how long should lamb rest after roasting",
    "who won the cycling race in the Alps last summer",
    "symptoms of iron deficiency in toddlers",
    "when should tulip bulbs be planted",
    "best route from Lisbon to Porto by train",
    "what did the bishop say at the funeral",
    "how to tune a violin by ear",
    "rent increase notice for my apartment",
    "horse saddle fitting for a short back",
    "which wine goes with grilled sardines",
    "the treaty that ended the war of 1870",
    "my grandmother's recipe for plum jam",
    "average rainfall in the Atacama desert",
    "dentist appointment for a root canal",
    "how do penguins keep their eggs warm",
    "boiler service and radiator bleeding",
    "knitting pattern for a baby blanket",
    "penalty shoot-out in the cup final",
    "customs duty on imported cheese",
    "why do leaves turn red in autumn",
)
NONSENSE = 200
FLOORS_SHOWN = (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)


def nonsense(count: int, seed: int = 1) -> list[str]:
    """Random strings, of one word and of several."""
    chance, letters = random.Random(seed), "abcdefghijklmnopqrstuvwxyz0123456789"
    return [
        " ".join("".join(chance.choices(letters, k=chance.randint(5, 14))) for _ in range(chance.choice((1, 1, 2, 3))))
        for _ in range(count)
    ]


def packages() -> Iterator[tuple[str, str]]:
    """The summary of each installed package, and its description."""
    for each in distributions():
        summary, text = each.metadata["Summary"], each.read_text("METADATA")
        if summary and isinstance(text, str) and len(text) > 500:
            yield summary, text.replace(summary, "")


def passages(text: str) -> list[str]:
    """A text cut as documents are."""
    extraction = Extraction(markdown=text, page_count=None, extractor="bench", version="1")
    return [chunk.text for chunk in make_chunks(uuid4(), extraction)]


def _embed(embedder: LocalEmbedder, texts: Sequence[str]) -> Vectors:
    parts = [texts[start : start + embedder.batch_size] for start in range(0, len(texts), embedder.batch_size)]
    return np.asarray([vector for part in parts for vector in embedder.embed(part)], dtype=np.float32)


def main() -> None:
    """Print for each floor what gets through."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=4000)
    options = parser.parse_args()
    embedder = LocalEmbedder(ROOT / ".cache" / "models", threads=2)
    texts: list[str] = []
    questions: list[tuple[str, int, int]] = []
    for summary, text in sorted(packages()):
        found = passages(text)[:40]
        if len(texts) + len(found) > options.passages:
            break
        questions.append((summary, len(texts), len(texts) + len(found)))
        texts += found
    for path in sorted(Path(ROOT / "docs").glob("*.md")):
        texts += passages(path.read_text(encoding="utf-8"))
    matrix = _embed(embedder, texts)
    best = {
        "nonsense": (_embed(embedder, nonsense(NONSENSE)) @ matrix.T).max(axis=1),
        "unrelated": (_embed(embedder, UNRELATED) @ matrix.T).max(axis=1),
    }
    asked = _embed(embedder, [summary for summary, _, _ in questions]) @ matrix.T
    right = np.array([asked[n, a:b].max() for n, (_, a, b) in enumerate(questions) if b > a])
    title(f"Floors under meaning, {embedder.model}, {len(texts)} passages; chosen: {FLOORS.get(embedder.model)}")
    for name, cosines in {**best, "right answers": right}.items():
        at = ", ".join(f"{share}: {np.quantile(cosines, share):.2f}" for share in (0.01, 0.05, 0.5, 0.95, 0.99, 1.0))
        row(f"best cosines, {name}", at)
    for floor in FLOORS_SHOWN:
        through = ", ".join(f"{name} {np.mean(cosines >= floor):.1%}" for name, cosines in best.items())
        row(f"floor {floor}", through, beside=f"right answers lost {np.mean(right < floor):.1%}")


if __name__ == "__main__":
    main()
