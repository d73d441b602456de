"""Whether questions find their answers in six languages: a section of the quality report.

Run as `python -m bench.questions [--languages en ru] [--model minilm-l6-v2-int8] [--distractors 0]`. Each language has
a library of its own with the texts of two manuals (`bench._question_texts`), cut, embedded, indexed and searched as the
product does it, on SQLite. Questions in other languages are also asked in the English library. Beside the search are
its two legs alone, and BM25 (bm25s).
"""

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from uuid import UUID

import bm25s
from sqlalchemy import select

from bench import _library_of_texts as of_texts
from bench._library_of_texts import Text
from bench._place import ROOT, Place, place
from bench._question_texts import LANGUAGES, answers
from bench._table import row, title
from webapp.db import reading, session
from webapp.providers.local.embed import LocalEmbedder
from webapp.providers.models.embedding_files import E5, EMBEDDING_MODELS
from webapp.search.grammar import parse
from webapp.search.model import Chunk
from webapp.search.query import search
from webapp.search.scope import SearchScope
from webapp.search.vectors import QueryVector, nearest
from webapp.search.wanted import wanted_of

DEPTHS = (1, 10)
ENGLISH = "en"
SEARCH, MEANING, WORDS, PEER = "search", "meaning alone", "words alone", "bm25s"
# What is wanted at each depth: on average, in each language, in the English library, and among distractors.
MEAN_LEAST, EACH_LEAST, ACROSS_LEAST = {1: 0.55, 10: 0.9}, {1: 0.45, 10: 0.85}, {1: 0.45, 10: 0.85}
ENGLISH_LEAST, CROWDED_LEAST = {1: 0.7, 10: 0.95}, {1: 0.55, 10: 0.9}
LEG_MARGIN = 0.02
DISTRACTORS = 6_000
_WORD = re.compile(r"[^\W_]+")
# Marks of the query language, which a heading may have.
_MARK = re.compile(r"[^\w\s?.,'/]|_")

Recall = Mapping[str, Mapping[int, float]]
"""The share of questions that found a right passage, by way and depth."""
Asked = Sequence[tuple[str, set[str]]]
"""Questions, and the passages that answer each."""


@dataclass(frozen=True)
class Library:
    """The texts of one language, as passages, and the org that has them."""

    org_id: UUID
    at: Place
    embedder: LocalEmbedder
    passages: Sequence[str]

    def ways(self) -> Mapping[str, Callable[[str], Sequence[str]]]:
        """The search, its two legs, and the peer."""
        return {SEARCH: self.found, MEANING: self.by_meaning, WORDS: self.by_words, PEER: self.peer()}

    def found(self, question: str, *, with_meaning: bool = True) -> Sequence[str]:
        """What people are answered."""
        wanted = wanted_of(parse(question))
        vectors = [self._vector(wanted.text)] if with_meaning else []
        with reading(self.org_id):
            return [
                hit.text for hit in search(SearchScope(self.org_id), wanted, vectors, max(DEPTHS), self._index).hits
            ]

    def by_words(self, question: str) -> Sequence[str]:
        """The same without vectors."""
        return self.found(question, with_meaning=False)

    def by_meaning(self, question: str) -> Sequence[str]:
        """What is nearest, however far it is."""
        with reading(self.org_id):
            near = [
                each.id for each in nearest(SearchScope(self.org_id), self._vector(question), max(DEPTHS), self._index)
            ]
            rows = session().execute(select(Chunk.id, Chunk.text).where(Chunk.id.in_(near)))
            texts = {row.id: row.text for row in rows}
        return [texts[chunk_id] for chunk_id in near]

    def peer(self) -> Callable[[str], Sequence[str]]:
        """BM25 as a package has it, on words in lower case."""
        retriever = bm25s.BM25()
        retriever.index([_words(each) for each in self.passages], show_progress=False)

        def ask(question: str) -> Sequence[str]:
            found, _ = retriever.retrieve(
                [_words(question)], corpus=list(self.passages), k=max(DEPTHS), show_progress=False
            )
            return [str(each) for each in found[0]]

        return ask

    @property
    def _index(self) -> Path:
        return self.at.settings.data_dir / "index"

    def _vector(self, question: str) -> QueryVector:
        return of_texts.query_vector(self.embedder, question)


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask in each language, then across languages, then beside distractors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--languages", nargs="+", choices=LANGUAGES, default=LANGUAGES)
    parser.add_argument("--model", choices=list(EMBEDDING_MODELS), default=E5.name)
    parser.add_argument("--distractors", type=int, default=DISTRACTORS)
    options = parser.parse_args(arguments)
    embedder = LocalEmbedder(ROOT / ".cache" / "models", made_by=EMBEDDING_MODELS[options.model], threads=2)
    texts = {language: _texts(language) for language in dict.fromkeys([*options.languages, ENGLISH])}
    with place("sqlite") as at:
        libraries = {language: _shelve(at, some, embedder) for language, some in texts.items()}
        english = libraries[ENGLISH]
        title(f"Questions answered in their own language, {embedder.model}")
        within = {language: _recall(libraries[language], _asked(texts[language])) for language in options.languages}
        for language, recall in within.items():
            _show(language, recall, len(texts[language]), ENGLISH_LEAST if language == ENGLISH else EACH_LEAST)
        others = [language for language in options.languages if language != ENGLISH]
        _show_mean("mean without English", [within[language] for language in others], MEAN_LEAST)
        title("Questions in other languages, asked in the English library")
        across = [_recall(english, _asked(texts[language], texts[ENGLISH])) for language in others]
        for language, recall in zip(others, across, strict=True):
            _show(f"{language} to {ENGLISH}", recall, len(texts[language]))
        _show_mean("mean across languages", across, ACROSS_LEAST)
        if options.distractors:
            title(f"English questions beside {options.distractors:,} other passages")
            crowded = _beside(english, options.distractors)
            _show(ENGLISH, _recall(crowded, _asked(texts[ENGLISH])), len(texts[ENGLISH]), CROWDED_LEAST)


def _texts(language: str) -> list[Text]:
    """The texts of both manuals; their names say nothing of what is in them."""
    every = [each for manual in answers(language) for each in manual]
    return [Text(each.key, _MARK.sub(" ", each.question), of_texts.passages(each.text)) for each in every]


def _shelve(at: Place, texts: Sequence[Text], embedder: LocalEmbedder) -> Library:
    numbered = [Text(f"text-{number}", None, text.passages) for number, text in enumerate(texts)]
    passages = [passage for text in texts for passage in text.passages]
    return Library(of_texts.shelve(numbered, embedder), at, embedder, passages)


def _beside(library: Library, count: int) -> Library:
    """The same library with other passages in it: descriptions of packages, and their sentences in another order."""
    own = of_texts.texts(count)
    more = count - sum(len(text.passages) for text in own)
    texts = [*own, *of_texts.shuffled(own, more)]
    of_texts.shelve(texts, library.embedder, library.org_id)
    passages = [*library.passages, *(passage for text in texts for passage in text.passages)]
    return Library(library.org_id, library.at, library.embedder, passages)


def _asked(questions: Sequence[Text], answering: Sequence[Text] | None = None) -> Asked:
    """Questions and what answers them: their own texts, or the same ones in another language."""
    right = {text.name: set(text.passages) for text in (answering or questions)}
    return [(text.question or "", right[text.name]) for text in questions if text.name in right]


def _recall(library: Library, asked: Asked) -> Recall:
    found: dict[str, dict[int, float]] = {}
    for name, ask in library.ways().items():
        answers_of = [(wanted, ask(question)) for question, wanted in asked]
        found[name] = {
            depth: mean(bool(wanted & set(texts[:depth])) for wanted, texts in answers_of) for depth in DEPTHS
        }
    return found


def _show(what: str, recall: Recall, count: int, least: Mapping[int, float] | None = None) -> None:
    """A line for each depth; the search must reach what is wanted, and each of its legs."""
    for depth in DEPTHS:
        ours, legs = recall[SEARCH][depth], max(recall[MEANING][depth], recall[WORDS][depth])
        wanted = max(least[depth] if least else 0.0, legs - LEG_MARGIN)
        row(
            f"{what}: recall@{depth} of {count}",
            f"{ours:.3f}",
            wanted=f"≥ {wanted:.3f}",
            beside=", ".join(f"{name} {recall[name][depth]:.3f}" for name in (MEANING, WORDS, PEER)),
            holds=ours >= wanted,
            value=ours,
        )


def _show_mean(what: str, recalls: Sequence[Recall], least: Mapping[int, float]) -> None:
    for depth in DEPTHS if recalls else ():
        ours = mean(recall[SEARCH][depth] for recall in recalls)
        row(
            f"{what}: recall@{depth}", f"{ours:.3f}", wanted=f"≥ {least[depth]}", holds=ours >= least[depth], value=ours
        )


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


if __name__ == "__main__":
    main()
