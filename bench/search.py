"""What a search finds, and how long it takes, beside SQLite's own phrase queries and plain BM25 (bm25s).

Run as `python -m bench.search [--only postgresql] [--passages 1500] [--beside 100000]`. Phrases of five words are
copied from passages, and from where a passage ends and the next begins. A question is the one-line summary of a
package, which is removed from its text; its answer is any passage of that package. `--beside` is how many passages lie
without vectors beside those for the times of searches by words; a search by meaning takes the time of its vectors more.
"""

import argparse
import random
import re
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

import bm25s
import psycopg

from bench import _library_of_texts as of_texts
from bench._databases import DATABASES
from bench._library_of_texts import Text
from bench._place import ROOT, Place, place
from bench._table import row, title
from webapp.db import reading
from webapp.providers.local.embed import LocalEmbedder
from webapp.providers.models.embedding_files import E5
from webapp.search.grammar import parse
from webapp.search.query import Hit, search
from webapp.search.scope import SearchScope
from webapp.search.wanted import wanted_of

_Peer = tuple[str, Callable[[str], Sequence[str]]]
"""Its name, and what it finds."""
PHRASES, NONSENSE, WORDS_IN_PHRASE, TOP = 150, 100, 5, 20
PLANTED = (
    ("RE-2026-0417", "Please quote RE-2026-0417 when you pay."),
    ("invoice INV/2026/00931", "Our number INV/2026/00931 belongs to the delivery of May."),
    ("wilhelmina.quarto@example.org", "Write to wilhelmina.quarto@example.org about the keys."),
    ("Quillfeather", "The minutes were taken by Ms Quillfeather."),
    ("who is Bartholomew Vexley", "Bartholomew Vexley keeps the lamp."),
)


@dataclass
class Asking:
    """Asks a search of one org."""

    org_id: UUID
    at: Place
    embedder: LocalEmbedder | None

    def __call__(self, text: str, limit: int = TOP) -> Sequence[Hit]:
        wanted, vectors = wanted_of(parse(text)), []
        if self.embedder is not None:
            vectors = [of_texts.query_vector(self.embedder, wanted.text)]
        with reading(self.org_id):
            folder = self.at.settings.data_dir / "index"
            return search(SearchScope(self.org_id), wanted, vectors, limit, folder).hits


def main() -> None:
    """Measure on both databases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=list(DATABASES))
    parser.add_argument("--passages", type=int, default=1500)
    parser.add_argument("--beside", type=int, default=100_000)
    options = parser.parse_args()
    library = [*of_texts.texts(options.passages), Text("planted", None, [passage for _, passage in PLANTED])]
    for name in DATABASES:
        if options.only in {None, name}:
            with place(name) as at:
                _measure(name, at, library, options.beside)


def _measure(name: str, at: Place, library: Sequence[Text], beside: int) -> None:
    embedder = LocalEmbedder(ROOT / ".cache" / "models", made_by=E5, threads=2)
    ask = Asking(of_texts.shelve(library, embedder), at, embedder)
    by_words = Asking(ask.org_id, at, None)
    everything = [passage for text in library for passage in text.passages]
    title(f"What a search finds among {len(everything)} passages, {name}")
    phrases = _phrases(library)
    _show_phrases("phrases in a passage, quoted", phrases, lambda text: ask(f'"{text}"'), _fts5(everything))
    # Marks of Markdown, which pages don't show, would be operators.
    unmarked = [phrase for phrase in phrases if not set(phrase) & set("*:-") and "OR" not in phrase.split()]
    _show_phrases("the same without quotation marks", unmarked, ask, _bm25(everything))
    _show_phrases("phrases across two passages", _crossing(library), lambda text: ask(f'"{text}"'), _fts5(everything))
    hits = sum(bool(ask(text)) for text in of_texts.nonsense(NONSENSE, seed=7))
    row("nonsense that finds something", f"{hits} of {NONSENSE}", wanted="0", holds=hits == 0)
    first = sum(ask(question)[0].text == passage for question, passage in PLANTED)
    row("numbers, addresses, rare names first", f"{first} of {len(PLANTED)}", wanted="all", holds=first == len(PLANTED))
    _show_recall(library, ask, by_words, everything)
    _show_times(name, at, library, beside)


def _phrases(library: Sequence[Text]) -> list[str]:
    """Five words in a row, as somebody copies them from a page."""
    chance = random.Random(3)
    every = [passage.split() for text in library for passage in text.passages]
    long = [words for words in every if len(words) > 2 * WORDS_IN_PHRASE]
    found: list[list[str]] = []
    while len(found) < PHRASES:
        words = chance.choice(long)
        start = chance.randrange(len(words) - WORDS_IN_PHRASE)
        found.append(words[start : start + WORDS_IN_PHRASE])
    return [" ".join(words).replace('"', " ") for words in found if all(map(_says_something, words))]


def _crossing(library: Sequence[Text]) -> list[str]:
    """The same, from the end of a passage into the beginning of the next one."""
    chance = random.Random(4)
    pairs = [pair for text in library for pair in zip(text.passages, text.passages[1:], strict=False)]
    found: list[list[str]] = []
    for one, other in chance.sample(pairs, min(PHRASES, len(pairs))):
        cut = chance.randrange(1, WORDS_IN_PHRASE)
        found.append([*one.split()[-cut:], *other.split()[: WORDS_IN_PHRASE - cut]])
    return [" ".join(words).replace('"', " ") for words in found if all(map(_says_something, words))]


def _says_something(word: str) -> bool:
    return any(map(str.isalnum, word))


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


def _holds(phrase: str, texts: Sequence[str]) -> bool:
    """Whether one of these texts, or the first two together, has these words in a row."""
    wanted = f" {' '.join(_words(phrase))} "
    return any(wanted in f" {' '.join(_words(text))} " for text in (*texts, " ".join(texts[:2])))


def _show_phrases(
    what: str,
    phrases: Sequence[str],
    ask: Callable[[str], Sequence[Hit]],
    peer: tuple[str, Callable[[str], Sequence[str]]],
) -> None:
    found = [(phrase, [hit.text for hit in ask(phrase)]) for phrase in phrases]
    first = sum(_holds(phrase, texts[:2]) if "across" in what else _holds(phrase, texts[:1]) for phrase, texts in found)
    within = sum(_holds(phrase, texts) for phrase, texts in found)
    name, ask_peer = peer
    beside = sum(_holds(phrase, ask_peer(phrase)) for phrase in phrases)
    number = len(phrases)
    holds = first >= 0.98 * number and within == number
    ours = f"first {first}, within {TOP} {within} of {number}"
    row(what, ours, wanted=f"first ≥ 98 %, {TOP} all", beside=f"{name} {beside} within {TOP}", holds=holds)


def _fts5(passages: Sequence[str]) -> _Peer:
    """SQLite's phrase queries, in an index of the same words."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(text, tokenize = 'porter unicode61 remove_diacritics 2')")
    connection.executemany("INSERT INTO t VALUES (?)", [(passage,) for passage in passages])
    asked = f"SELECT text FROM t WHERE t MATCH ? ORDER BY rank LIMIT {TOP}"
    return "FTS5 phrase", lambda phrase: [each for (each,) in connection.execute(asked, (f'"{phrase}"',))]


def _bm25(passages: Sequence[str]) -> _Peer:
    retriever = bm25s.BM25()
    retriever.index([_words(passage) for passage in passages], show_progress=False)

    def ask(text: str) -> list[str]:
        found, _ = retriever.retrieve([_words(text)], corpus=list(passages), k=TOP, show_progress=False)
        return [str(each) for each in found[0]]

    return "bm25s", ask


def _show_recall(library: Sequence[Text], ask: Asking, by_words: Asking, passages: Sequence[str]) -> None:
    asked = [(text.question, set(text.passages)) for text in library if text.question and text.passages]
    _, bm25 = _bm25(passages)
    lists: dict[str, list[Sequence[str]]] = {
        "both": [[hit.text for hit in ask(question)] for question, _ in asked],
        "words": [[hit.text for hit in by_words(question)] for question, _ in asked],
        "bm25s": [bm25(question) for question, _ in asked],
    }
    for depth in (1, 10):
        shares = {name: _recall(asked, answers, depth) for name, answers in lists.items()}
        beside = f"words alone {shares['words']:.3f}, bm25s {shares['bm25s']:.3f}"
        row(f"recall@{depth} of {len(asked)} questions", f"{shares['both']:.3f}", beside=beside)


def _recall(asked: Sequence[tuple[str, set[str]]], answers: Sequence[Sequence[str]], depth: int) -> float:
    """How many of the questions have a right passage among the first ones."""
    right = [bool(wanted & set(found[:depth])) for (_, wanted), found in zip(asked, answers, strict=True)]
    return sum(right) / len(right)


def _show_times(name: str, at: Place, library: Sequence[Text], beside: int) -> None:
    texts = of_texts.shuffled(library, beside)
    ask = Asking(of_texts.shelve(list(texts), None), at, None)
    if name == "postgresql":
        _analyze(at)
    questions = [text.question for text in library if text.question][:60]
    for what, asked in {
        "questions": questions,
        "two common words": ["install package", "license file", "python version", "data type", "use api"] * 8,
        "quoted phrases": [f'"{phrase}"' for phrase in _phrases(library)[:60]],
    }.items():
        times = sorted(_timed(ask, text) for text in asked for _ in range(2))
        p50, p95 = times[len(times) // 2] * 1000, times[int(len(times) * 0.95)] * 1000
        computed = sorted(_computed(ask, text) for text in asked)[len(asked) // 2] * 1000
        row(
            f"{what} by words beside {beside:,}",
            f"p50 {p50:.1f} ms, p95 {p95:.1f} ms",
            wanted="p50 ≤ 15, p95 ≤ 40 ms",
            beside=f"computed here {computed:.1f} ms",
            holds=p50 <= 15 and p95 <= 40,
        )


def _analyze(at: Place) -> None:
    with psycopg.connect(str(at.owner_url), autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE chunks")


def _timed(ask: Asking, text: str) -> float:
    began_at = time.perf_counter()
    ask(text)
    return time.perf_counter() - began_at


def _computed(ask: Asking, text: str) -> float:
    """What this process computed: beside other work, times by the clock grow, and this does not."""
    began_at = time.process_time()
    ask(text)
    return time.process_time() - began_at


if __name__ == "__main__":
    main()
