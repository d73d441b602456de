"""The quality report: no figure of born-digital PDFs is worse than in the report that lies in docs/."""

from dataclasses import replace

import pytest

from bench import _table, pdf, quality
from bench._table import Figure


@pytest.mark.slow
@pytest.mark.browser
def test_no_figure_got_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[Figure] = []
    monkeypatch.setattr(_table, "printed", printed)
    pdf.main(["--without-peers", "--pages", "20"])
    measured = {each.name for each in printed if each.value is not None}
    section = printed[0].section
    assert measured == set(quality.kept()[section])
    assert quality.worse(quality.kept(), printed) == []


FIGURE = Figure("Scans", "wrong letters", "", "", "", None, 0.003, is_less_better=True)


@pytest.mark.parametrize(
    ("figure", "before", "is_worse"),
    [
        (FIGURE, 0.001, True),
        (FIGURE, 0.0025, False),
        (FIGURE, 0.5, False),
        (replace(FIGURE, is_less_better=False, value=0.97), 0.98, True),
        (replace(FIGURE, is_less_better=False, value=0.99), 0.98, False),
        (replace(FIGURE, value=None), 0.0, False),
        (replace(FIGURE, name="another"), 0.0, False),
    ],
)
def test_what_counts_as_worse(figure: Figure, before: float, is_worse: bool) -> None:
    assert bool(quality.worse({"Scans": {"wrong letters": before}}, [figure])) is is_worse
