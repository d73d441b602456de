"""The quality report: how well files are read and answers found, beside other programs, and whether a figure got worse.

Run as `python -m bench.quality [--accept] [--sections pdf scans questions]`. It measures, compares each figure with
the last report (docs/quality.json) and fails where one got worse, without touching the report. Else, or with
`--accept`, it writes the figures there and their tables into docs/quality.md.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from bench import _table, fields, papers, pdf, questions, read
from bench._table import Figure

Values = dict[str, dict[str, float]]
"""The figures of a report, by section and name."""

FOLDER = Path(__file__).parents[1] / "docs"
KEPT, REPORT = FOLDER / "quality.json", FOLDER / "quality.md"
BEGINS, ENDS = "<!-- make quality writes from here -->", "<!-- to here -->"
SECTIONS: Mapping[str, Callable[[Sequence[str]], None]] = {
    "pdf": pdf.main,
    "scans": read.main,
    "fields": fields.main,
    "papers": papers.main,
    "questions": questions.main,
}
# Processors round differently, so that OCR reads a letter otherwise on another machine.
TOLERANCE = 0.001
_HOLDS = {True: "yes", False: "**no**", None: ""}


def main() -> int:
    """Measure, compare, and write the report where nothing got worse."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accept", action="store_true", help="write the report although a figure got worse")
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS), help="these alone")
    given = parser.parse_args()
    for name in given.sections:
        SECTIONS[name](())
    faults = worse(kept(), _table.printed)
    for fault in faults:
        print(f"got worse: {fault}", file=sys.stderr)
    if faults and not given.accept:
        print("The report stays as it was. With --accept it is written all the same.", file=sys.stderr)
        return 1
    _write(_table.printed)
    return 0


def kept() -> Values:
    """The figures of the last report."""
    found: Values = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    return found


def worse(before: Values, figures: Iterable[Figure]) -> list[str]:
    """A sentence for each figure that is worse than in the report before; figures that it lacks are new."""
    found = []
    for each in figures:
        last = before.get(each.section, {}).get(each.name)
        if last is None or each.value is None:
            continue
        loss = each.value - last if each.is_less_better else last - each.value
        if loss > TOLERANCE:
            found.append(f"{each.section}: {each.name}: {last:.4f} before, {each.value:.4f} now")
    return found


def _write(figures: Sequence[Figure]) -> None:
    values = kept()
    for each in figures:
        if each.value is not None:
            values.setdefault(each.section, {})[each.name] = round(each.value, 5)
    KEPT.write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    before, _, rest = REPORT.read_text(encoding="utf-8").partition(BEGINS)
    tables, _, after = rest.partition(ENDS)
    for section in dict.fromkeys(each.section for each in figures):
        tables = _replaced(tables, section, [each for each in figures if each.section == section])
    REPORT.write_text(f"{before}{BEGINS}\n\n{tables.strip()}\n\n{ENDS}{after}", encoding="utf-8")


def _replaced(tables: str, section: str, figures: Sequence[Figure]) -> str:
    """The tables with this section's one anew, in its place or at the end."""
    parts = [part for part in tables.strip().split("\n### ") if part]
    titles = [part.removeprefix("### ").split("\n", 1)[0] for part in parts]
    written = f"{section}\n\n| figure | wanted | Docmill | beside | holds |\n| --- | --- | --- | --- | --- |"
    written += "".join(
        f"\n| {each.name} | {each.wanted} | {each.ours} | {each.beside} | {_HOLDS[each.holds]} |" for each in figures
    )
    if section in titles:
        parts[titles.index(section)] = written
    else:
        parts.append(written)
    return "\n\n".join(f"### {part.removeprefix('### ').strip()}" for part in parts)


if __name__ == "__main__":
    sys.exit(main())
