"""How many passages of unrelated texts would be connected: calibrates `webapp.search.link_floors`.

Run as `python -m bench.links FOLDER...`. The texts in one folder are of one subject, and of no subject that another
folder has. Of each text 60 passages are read at most. A passage is connected falsely where it comes near enough to any
passage of another folder; beside that, how many are connected within a folder.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench import _library_of_texts as of_texts
from bench._place import ROOT
from bench._table import row, title
from webapp.providers.local.embed import LocalEmbedder
from webapp.search.link_floors import link_floor_of
from webapp.search.passages import is_scrap

Vectors = NDArray[np.float32]
PASSAGES_MAX = 60
FALSE_MAX = 0.01
COSINES = (0.55, 0.6, 0.65, 0.68, 0.7, 0.75, 0.8)


def main() -> None:
    """Print it for some cosines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="*")
    options = parser.parse_args()
    if len(options.folders) < 2:
        parser.print_usage()
        return
    embedder = LocalEmbedder(ROOT / ".cache" / "models", threads=2)
    found = [[_passages(path) for path in sorted(folder.iterdir())] for folder in options.folders]
    vectors = [[np.asarray(of_texts.embed(embedder, text), dtype=np.float32) for text in texts] for texts in found]
    apart, within = [], []
    for group in vectors:
        others = [text for texts in vectors if texts is not group for text in texts]
        apart += [_nearest(own, others) for own in group]
        within += [_nearest(own, [text for text in group if text is not own]) for own in group if len(group) > 1]
    _show(embedder.model, np.concatenate(apart), np.concatenate([np.empty(0), *within]), len(found))


def _show(model: str, apart: Vectors, within: Vectors, folders: int) -> None:
    chosen = link_floor_of(model).similar
    title(f"Connections, {model}, {len(apart)} passages of {folders} folders; chosen: {chosen}")
    for cosine in COSINES:
        share = float(np.mean(apart >= cosine))
        row(
            f"cosine {cosine}",
            f"{share:.1%} falsely",
            beside=f"within a folder {np.mean(within >= cosine):.1%}" if len(within) else "",
            wanted=f"{FALSE_MAX:.0%}" if cosine == chosen else "",
            holds=share <= FALSE_MAX if cosine == chosen else None,
        )


def _nearest(own: Vectors, others: Sequence[Vectors]) -> Vectors:
    """Of each passage the cosine of the nearest of others."""
    return np.asarray((own @ np.concatenate(others).T).max(axis=1), dtype=np.float32)


def _passages(path: Path) -> list[str]:
    return [text for text in of_texts.passages(path.read_text("utf-8")) if not is_scrap(text)][:PASSAGES_MAX]


if __name__ == "__main__":
    main()
