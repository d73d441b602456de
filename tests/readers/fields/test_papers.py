"""Made-up receipts, bank statements, contracts and letters: small samples of the sets of bench/papers.py."""

from collections import Counter
from pathlib import Path

import pytest

from tests.invoices.labelled import write_pdfs
from tests.invoices.score import JUNK, MISSING, RIGHT, WRONG, counted, judged
from tests.papers.contracts import CONTRACTS
from tests.papers.letters import LETTERS
from tests.papers.made import Kind, Made, made
from tests.papers.receipts import RECEIPTS
from tests.papers.scoring import is_table_right
from tests.papers.statements import STATEMENTS
from webapp.readers.fields.find import find_fields
from webapp.readers.pdf.layout import layout_pages

KINDS = (RECEIPTS, STATEMENTS, CONTRACTS, LETTERS)


def sample(kind: Kind) -> list[Made]:
    """Each layout in some of the languages: the whole set is what the bench reads."""
    every = [each for held_out in (False, True) for each in made(kind, held_out=held_out, rounds=1, seed=11)]
    return every[::4]


@pytest.mark.browser
@pytest.mark.slow
def test_the_labelled_sets(tmp_path: Path) -> None:
    # All are printed at once: starting Chromium takes longer than reading.
    documents = [each for kind in KINDS for each in sample(kind)]
    verdicts: Counter[tuple[str, str]] = Counter()
    for one, path in zip(documents, write_pdfs(documents, tmp_path), strict=True):
        found = find_fields(
            [page.words for page in layout_pages(str(path), range(1, 3), with_words=True) if page.words]
        )
        verdicts += counted(judged(one, found.fields))
        assert not one.columns or is_table_right(one, found.tables), one.name
    right = sum(count for (_, verdict), count in verdicts.items() if verdict == RIGHT)
    true = right + sum(count for (_, verdict), count in verdicts.items() if verdict in {WRONG, MISSING})
    assert right >= 0.97 * true > 100
    assert sum(count for (_, verdict), count in verdicts.items() if verdict == WRONG) <= 0.01 * true
    assert [kind for kind, verdict in verdicts if verdict == JUNK] == []
