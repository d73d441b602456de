"""The table that the benchmarks print: a figure, what is wanted, ours, what was measured beside it, and if it holds."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

_WIDTHS = (46, 20, 24, 30)


@dataclass(frozen=True)
class Figure:
    """A line that was printed, as the quality report keeps it."""

    section: str
    name: str
    wanted: str
    ours: str
    beside: str
    holds: bool | None
    value: float | None
    """The figure as a number, where getting worse would be a fault; None for times."""
    is_less_better: bool


printed: list[Figure] = []
"""All lines of this process, in their order."""
_sections: list[str] = [""]


def title(words: str) -> None:
    """The head of a table, and how busy the machine is already: on a busy one, compare ratios alone."""
    _sections.append(words)
    print(f"\n{words} (load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores)", flush=True)
    _line("figure", "wanted", "ours", "beside", "holds")


def row(
    figure: str,
    ours: str,
    *,
    wanted: str = "",
    beside: str = "",
    holds: bool | None = None,
    value: float | None = None,
    is_less_better: bool = False,
) -> None:
    """One line; `holds` stays empty where nothing is wanted. See Figure for `value`."""
    printed.append(Figure(_sections[-1], figure, wanted, ours, beside, holds, value, is_less_better))
    _line(figure, wanted, ours, beside, {True: "yes", False: "no", None: ""}[holds])


def p50_p99(seconds: Sequence[float]) -> tuple[float, float]:
    """The middle, and what 99 of 100 do not exceed, in milliseconds."""
    ordered = sorted(seconds)
    return median(ordered) * 1000, ordered[int(len(ordered) * 0.99)] * 1000


def _line(*cells: str) -> None:
    *padded, last = cells
    print("  ".join(cell.ljust(width) for cell, width in zip(padded, _WIDTHS, strict=True)), last, flush=True)
