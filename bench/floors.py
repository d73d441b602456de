"""How near nonsense, unrelated questions and right answers come to passages: calibrates `webapp.search.floors`.

Run as `python -m bench.floors [--model minilm-l6-v2-int8]`. The texts are the manuals of `bench._question_texts`, cut
as documents are. Unrelated questions are about what none of these speaks of. Right answers are asked for in the
language of the texts, and in five others. Last come the links between passages of the two manuals, which are about
different things, and between pages of one of them, which are about related ones.
"""

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bench._library_of_texts import embed, nonsense, passages
from bench._place import ROOT
from bench._question_texts import LANGUAGES, answers
from bench._table import row, title
from webapp.providers.local.embed import LocalEmbedder
from webapp.providers.models.embedding_files import E5, EMBEDDING_MODELS
from webapp.search.floors import FLOORS
from webapp.search.link_floors import link_floor_of

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
NONSENSE = 300
LINKS_PER_PASSAGE, FALSE_LINKS_MAX = 5, 1.0
SHARES = (0.0, 0.01, 0.05, 0.5, 0.95, 0.99, 1.0)


def main() -> None:
    """Print what each group reaches, and what the limits let through."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=list(EMBEDDING_MODELS), default=E5.name)
    options = parser.parse_args()
    embedder = LocalEmbedder(ROOT / ".cache" / "models", made_by=EMBEDDING_MODELS[options.model], threads=2)
    manuals = [[(each.key, text) for each in some for text in passages(each.text)] for some in answers("en")]
    vectors = [np.asarray(embed(embedder, [text for _, text in some]), dtype=np.float32) for some in manuals]
    keys, matrix = np.array([key for some in manuals for key, _ in some]), np.vstack(vectors)
    _show_questions(embedder, keys, matrix)
    _show_links(embedder.model, np.array([key for key, _ in manuals[0]]), *vectors)


def _show_questions(embedder: LocalEmbedder, keys: NDArray[np.str_], matrix: Vectors) -> None:
    title(f"Floors under meaning, {embedder.model}, {len(matrix)} passages; chosen: {FLOORS.get(embedder.model)}")
    for name, some in {"random strings": nonsense(NONSENSE), "unrelated questions": UNRELATED}.items():
        best = [_near(embedder, text, matrix).max() for text in some]
        known = np.mean([embedder.knows_words_of(text) for text in some])
        row(f"{name}: best cosine", _spread(best), beside=f"the model knows words of {known:.1%}")
    for language in LANGUAGES:
        asked = [each for some in answers(language) for each in some]
        near = [_near(embedder, each.question, matrix) for each in asked]
        right = [some[keys == each.key].max() for some, each in zip(near, asked, strict=True) if each.key in keys]
        best = [some.max() for some, each in zip(near, asked, strict=True) if each.key in keys]
        below = np.subtract(best, right)
        row(f"right answers in English, asked in {language}", _spread(right))
        known = np.mean([embedder.knows_words_of(each.question) for each in asked])
        row("  below the best passage", _spread(below), beside=f"the model knows words of {known:.1%}")


def _show_links(model: str, keys: NDArray[np.str_], one: Vectors, other: Vectors) -> None:
    chosen = link_floor_of(model)
    title(f"Links by meaning, {model}; chosen: {chosen}")
    false, related = one @ other.T, one @ one.T
    related[keys[:, None] == keys[None, :]] = -1
    for limit in (chosen.similar - 0.02, chosen.similar, chosen.similar + 0.02, chosen.same_text):
        links = np.minimum((false >= limit).sum(axis=1), LINKS_PER_PASSAGE).sum() / len(one)
        linked = np.mean(related.max(axis=1) >= limit)
        row(
            f"false links of 100 passages at {limit:.3f}",
            f"{100 * links:.2f}",
            wanted=f"≤ {FALSE_LINKS_MAX:g}" if limit >= chosen.similar else "",
            beside=f"{linked:.1%} linked to related pages",
            holds=100 * links <= FALSE_LINKS_MAX if limit >= chosen.similar else None,
        )


def _near(embedder: LocalEmbedder, question: str, matrix: Vectors) -> Vectors:
    return matrix @ np.asarray(embedder.embed_query(question), dtype=np.float32)


def _spread(values: Sequence[float] | Vectors) -> str:
    return ", ".join(f"{share:g}: {np.quantile(values, share):.3f}" for share in SHARES)


if __name__ == "__main__":
    main()
