"""The table that the benchmarks print: a figure, what is wanted, ours, what was measured beside it, and if it holds."""

import os
from collections.abc import Sequence
from statistics import median

_WIDTHS = (46, 20, 24, 30)


def title(words: str) -> None:
    """The head of a table, and how busy the machine is already: on a busy one, compare ratios alone."""
    print(f"\n{words} (load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores)", flush=True)
    _line("figure", "wanted", "ours", "beside", "holds")


def row(figure: str, ours: str, *, wanted: str = "", beside: str = "", holds: bool | None = None) -> None:
    """One line; `holds` stays empty where nothing is wanted."""
    _line(figure, wanted, ours, beside, {True: "yes", False: "no", None: ""}[holds])


def p50_p99(seconds: Sequence[float]) -> tuple[float, float]:
    """The middle, and what 99 of 100 do not exceed, in milliseconds."""
    ordered = sorted(seconds)
    return median(ordered) * 1000, ordered[int(len(ordered) * 0.99)] * 1000


def _line(*cells: str) -> None:
    *padded, last = cells
    print("  ".join(cell.ljust(width) for cell, width in zip(padded, _WIDTHS, strict=True)), last, flush=True)
