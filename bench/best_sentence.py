"""How often a sentence is shown as the answer to a question, and how often it is of the right text.

Run as `python -m bench.best_sentence FILE...`. The files hold questions and answers: the sources of the Python FAQ
(`faq/*.rst.txt` of Debian's package python3-doc), and the text of the Debian FAQ (package debian-faq). A question is a
heading with a question mark, and is taken out of its text; the answer is the text below it. Each is a document, and so
are the descriptions of the installed packages, which answer none.
"""

import argparse
import gzip
import re
from collections.abc import Sequence
from pathlib import Path

from bench import _library_of_texts as of_texts
from bench._library_of_texts import Text
from bench._place import ROOT, place
from bench._table import row, title
from bench.floors import UNRELATED
from bench.search import Asking
from webapp.pipeline.best_sentence import LEAD_MIN, WORDS_SHARE_MIN, best_sentence
from webapp.providers.local.embed import LocalEmbedder
from webapp.search.grammar import parse
from webapp.search.query import Hit
from webapp.search.wanted import wanted_of

BESIDE = 2_000
SHARES, LEADS = (0.4, 0.5, 0.6, 0.75), (-1.0, 0.01, 0.2)
_RST = re.compile(r"^(\S.{10,150}\?)\n[-~=]{10,}$", re.MULTILINE)
_NUMBERED = re.compile(r"^\d+(?:\.\d+)+\. (\S.{10,150}\?)$", re.MULTILINE)


def main() -> None:
    """Print it for some shares of the question's words that a sentence must have, and leads over other documents."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="*")
    options = parser.parse_args()
    if not options.files:
        parser.print_usage()
        return
    asked = [text for path in options.files for text in _texts(path)]
    embedder = LocalEmbedder(ROOT / ".cache" / "models", threads=2)
    with place("sqlite") as at:
        ask = Asking(of_texts.shelve([*asked, *of_texts.texts(BESIDE)], embedder), at, embedder)
        title(f"The best sentence, {len(asked)} questions and {len(UNRELATED)} about nothing in the library")
        found = [(text.name, *_asked(ask, text.question or "")) for text in asked]
        unrelated = [_asked(ask, question) for question in UNRELATED]
        for share in SHARES:
            for lead in LEADS:
                _show(share, lead, found, unrelated)


_Answered = tuple[Sequence[Hit], Sequence[str]]
"""The hits of a question, and its words."""


def _show(
    share: float,
    lead: float,
    found: Sequence[tuple[str, Sequence[Hit], Sequence[str]]],
    unrelated: Sequence[_Answered],
) -> None:
    shown = {name: best for name, hits, words in found if (best := best_sentence(hits, words, share, lead))}
    right = sum(best.hit.filename == f"{name}.md" for name, best in shown.items())
    wrong = sum(best_sentence(hits, words, share, lead) is not None for hits, words in unrelated)
    is_chosen = (share, lead) == (WORDS_SHARE_MIN, LEAD_MIN)
    row(
        f"{share:.0%} of the words, lead {lead}",
        f"shown {len(shown)}, right {right / max(1, len(shown)):.0%}",
        beside=f"of unrelated ones shown {wrong}",
        wanted="right 90%, 0" if is_chosen else "",
        holds=right >= 0.9 * len(shown) and not wrong if is_chosen else None,
    )


def _asked(ask: Asking, question: str) -> _Answered:
    plain = re.sub(r'[":*]', " ", question)
    return ask(plain), wanted_of(parse(plain)).marked


def _texts(path: Path) -> list[Text]:
    source = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = source.decode()
    heads = [*(_NUMBERED if ".txt.gz" in path.name else _RST).finditer(text)]
    ends = [*(head.start() for head in heads[1:]), len(text)][: len(heads)]
    found = []
    for number, (head, end) in enumerate(zip(heads, ends, strict=True)):
        passages = of_texts.passages(re.sub(r"(?m)^    ", "", text[head.end() : end]).strip() or "-")
        if passages:
            found.append(Text(f"{path.name.partition('.')[0]}-{number}", re.sub(r"[`*]", "", head[1]), passages))
    return found


if __name__ == "__main__":
    main()
