"""How near nonsense, unrelated questions and right answers come to passages: calibrates `webapp.search.floors`.

Run as `python -m bench.floors [--passages 4000]`. The texts are the descriptions of the installed packages and this
repository's documents, cut as documents are. Unrelated questions are about what none of these speaks of. A right answer
is a passage of a package whose one-line summary is the question.
"""

import argparse
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from bench._library_of_texts import embed, nonsense
from bench._library_of_texts import texts as texts_of
from bench._place import ROOT
from bench._table import row, title
from webapp.providers.local.embed import LocalEmbedder
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


def _embed(embedder: LocalEmbedder, some: Sequence[str]) -> Vectors:
    return np.asarray(embed(embedder, some), dtype=np.float32)


def main() -> None:
    """Print for each floor what gets through."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=4000)
    options = parser.parse_args()
    embedder = LocalEmbedder(ROOT / ".cache" / "models", threads=2)
    library = texts_of(options.passages)
    texts = [passage for text in library for passage in text.passages]
    questions: list[tuple[str, int, int]] = []
    for text, end in zip(library, accumulate(len(text.passages) for text in library), strict=True):
        if text.question and text.passages:
            questions.append((text.question, end - len(text.passages), end))
    matrix = _embed(embedder, texts)
    best = {
        "nonsense": (_embed(embedder, nonsense(NONSENSE)) @ matrix.T).max(axis=1),
        "unrelated": (_embed(embedder, UNRELATED) @ matrix.T).max(axis=1),
    }
    asked = _embed(embedder, [summary for summary, _, _ in questions]) @ matrix.T
    right = np.array([asked[n, a:b].max() for n, (_, a, b) in enumerate(questions)])
    title(f"Floors under meaning, {embedder.model}, {len(texts)} passages; chosen: {FLOORS.get(embedder.model)}")
    for name, cosines in {**best, "right answers": right}.items():
        at = ", ".join(f"{share}: {np.quantile(cosines, share):.2f}" for share in (0.01, 0.05, 0.5, 0.95, 0.99, 1.0))
        row(f"best cosines, {name}", at)
    for floor in FLOORS_SHOWN:
        through = ", ".join(f"{name} {np.mean(cosines >= floor):.1%}" for name, cosines in best.items())
        row(f"floor {floor}", through, beside=f"right answers lost {np.mean(right < floor):.1%}")


if __name__ == "__main__":
    main()
