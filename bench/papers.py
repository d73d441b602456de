"""How well the fields of receipts, bank statements, contracts and letters are read: labelled sets in six languages.

Run as `python -m bench.papers [--rounds 3] [--kind receipt] [--misses] [--write]`. Chromium prints the documents of
tests/papers: the layouts and labels that the rules were made with, and those held out. A value is right if it means the
same; a table counts only as a whole. `--write` stores how often each rule was right, which people see as a field's
confidence.
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bench._rules import printed_pages, write_rules
from bench._table import row, title
from tests.invoices.labelled import write_pdfs
from tests.invoices.score import JUNK, MISSING, RIGHT, WRONG, counted, judged
from tests.papers.contracts import CONTRACTS
from tests.papers.letters import LETTERS
from tests.papers.made import Made, made
from tests.papers.receipts import RECEIPTS
from tests.papers.scoring import is_table_right
from tests.papers.statements import STATEMENTS
from tests.papers.unseen import UNSEEN
from webapp.readers.fields.find import find_fields

KINDS = {each.name: each for each in (RECEIPTS, STATEMENTS, CONTRACTS, LETTERS)}
UNSEEN_KINDS = {each.name: each for each in UNSEEN}
_PLURALS = {"receipt": "Receipts", "statement": "Bank statements", "contract": "Contracts", "letter": "Letters"}
_SETS = {
    "known": "layouts that the rules were made with",
    "held-out": "held out layouts",
    "unseen": "layouts held out later",
}
RIGHT_MUST, WRONG_MAX, LINES_MUST = 0.97, 0.01, 0.95


def main(given: Sequence[str] | None = None) -> None:
    """Measure each kind, on the layouts that the rules were made with and on the others."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="documents of each layout in each language")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--set", choices=("known", "held-out", "unseen"), help="one of the sets alone")
    parser.add_argument("--misses", action="store_true", help="list each value that is not right")
    parser.add_argument("--write", action="store_true", help="store each rule's share of right answers")
    arguments = parser.parse_args(given)
    rules: Counter[tuple[str, str]] = Counter()
    for name in arguments.kind or KINDS:
        sets = {"known": (KINDS[name], False), "held-out": (KINDS[name], True), "unseen": (UNSEEN_KINDS[name], True)}
        for of, (kind, held_out) in sets.items():
            if arguments.set in {None, of}:
                documents = list(made(kind, held_out=held_out, rounds=arguments.rounds, seed=arguments.seed))
                rules += _measured(f"{_PLURALS[name]}, {_SETS[of]}", documents, show_misses=arguments.misses)
    if arguments.write:
        write_rules(rules, set(KINDS))


def _measured(name: str, documents: Sequence[Made], *, show_misses: bool) -> Counter[tuple[str, str]]:
    verdicts: Counter[tuple[str, str]] = Counter()
    rules: Counter[tuple[str, str]] = Counter()
    tables = []
    title(name)
    with tempfile.TemporaryDirectory() as folder:
        for one, path in zip(documents, write_pdfs(documents, Path(folder)), strict=True):
            found = find_fields(printed_pages(path))
            judgements = judged(one, found.fields)
            verdicts += counted(judgements)
            rule = {id(each): rule for each, rule in zip(found.fields, found.rules, strict=False)}
            rules += Counter((rule[id(each)], verdict) for _, verdict, each in judgements if each and id(each) in rule)
            if one.columns:
                tables.append(is_table_right(one, found.tables))
            if show_misses:
                _show_misses(one, judgements, is_table_wrong=bool(one.columns) and not tables[-1])
    row("documents", str(len(documents)))
    _show(verdicts)
    if tables:
        share = sum(tables) / len(tables)
        row("all lines exactly right", f"{share:.3f}", wanted=f"≥ {LINES_MUST}", holds=share >= LINES_MUST, value=share)
    return rules


def _show(verdicts: Counter[tuple[str, str]]) -> None:
    for kind in dict.fromkeys(kind for kind, _ in sorted(verdicts)):
        right, wrong, missing, junk = counts = [verdicts[kind, each] for each in (RIGHT, WRONG, MISSING, JUNK)]
        true = max(1, right + wrong + missing)
        words = "{} right, {} wrong, {} missing, {} junk".format(*counts)
        holds = right >= RIGHT_MUST * true and wrong <= WRONG_MAX * true and not junk
        row(kind, f"{right / true:.3f} ({words})", wanted=f"≥ {RIGHT_MUST}", holds=holds, value=right / true)


def _show_misses(one: Made, judgements: Sequence[tuple[str, str, object]], *, is_table_wrong: bool) -> None:
    for kind, verdict, found in judgements:
        if verdict != RIGHT:
            print(f"    {one.name}: {kind} {verdict}: {one.truth.get(kind)} {getattr(found, 'value', '')!r}")
    if is_table_wrong:
        print(f"    {one.name}: its table")


if __name__ == "__main__":
    main()
