"""Finds connected areas of a mask, and the smallest turned rectangle around each."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
# More pieces than this is noise, not writing.
RUNS_MAX = 200_000


@dataclass(frozen=True, slots=True)
class Runs:
    """The unbroken stretches of a mask's rows: row, first column and the column behind the last."""

    rows: Numbers
    starts: Numbers
    ends: Numbers

    def __len__(self) -> int:
        return len(self.rows)

    def only(self, which: Numbers) -> "Runs":
        """Some of them."""
        return Runs(self.rows[which], self.starts[which], self.ends[which])

    @property
    def corners(self) -> Floats:
        """The corners of all their pixels that can be corners of the whole."""
        x = np.concatenate([self.starts, self.ends, self.starts, self.ends])
        y = np.concatenate([self.rows, self.rows, self.rows + 1, self.rows + 1])
        return np.stack([x, y], axis=1).astype(np.float64)


def areas(mask: NDArray[np.bool_]) -> Iterator[Runs]:
    """The connected areas of a mask; none where it is only noise."""
    runs = _runs(mask)
    if not 0 < len(runs) <= RUNS_MAX:
        return
    labels = _labels(runs, mask.shape[0])
    order = np.argsort(labels, kind="stable")
    for which in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1):
        yield runs.only(which)


def rectangle(points: Floats) -> Floats:
    """The corners of the smallest rectangle around points, one after the other around it."""
    hull = _hull(points)
    edges = np.roll(hull, -1, axis=0) - hull
    angles = np.append(np.mod(np.arctan2(edges[:, 1], edges[:, 0]), np.pi / 2), 0.0)
    cosines, sines = np.cos(angles), np.sin(angles)
    along = hull[:, :1] * cosines + hull[:, 1:] * sines
    across = hull[:, 1:] * cosines - hull[:, :1] * sines
    best = int(np.argmin(np.ptp(along, axis=0) * np.ptp(across, axis=0)))
    u, v = along[:, best], across[:, best]
    turned = np.array([[u.min(), v.min()], [u.max(), v.min()], [u.max(), v.max()], [u.min(), v.max()]])
    back = np.array([[cosines[best], sines[best]], [-sines[best], cosines[best]]])
    corners: Floats = turned @ back
    return corners


def _runs(mask: NDArray[np.bool_]) -> Runs:
    padded = np.zeros((mask.shape[0], mask.shape[1] + 2), np.int8)
    padded[:, 1:-1] = mask
    steps = np.diff(padded, axis=1)
    rows, starts = np.nonzero(steps == 1)
    _, ends = np.nonzero(steps == -1)
    return Runs(rows, starts, ends)


def _labels(runs: Runs, height: int) -> Numbers:
    """The number of the area that each run is in: runs of neighbouring rows that touch are in the same."""
    parents = list(range(len(runs)))
    starts, ends = runs.starts.tolist(), runs.ends.tolist()
    first_of = np.searchsorted(runs.rows, np.arange(height + 1)).tolist()
    for row in range(1, height):
        above, below = first_of[row - 1], first_of[row]
        while above < first_of[row] and below < first_of[row + 1]:
            if starts[above] <= ends[below] and starts[below] <= ends[above]:
                _join(parents, above, below)
            if ends[above] < ends[below]:
                above += 1
            else:
                below += 1
    return np.array([_root(parents, index) for index in range(len(parents))])


def _join(parents: list[int], one: int, other: int) -> None:
    first, second = sorted((_root(parents, one), _root(parents, other)))
    parents[second] = first


def _root(parents: list[int], index: int) -> int:
    while parents[index] != index:
        parents[index] = parents[parents[index]]
        index = parents[index]
    return index


def _hull(points: Floats) -> Floats:
    ordered = np.unique(points, axis=0).tolist()
    return np.array(_half_hull(ordered)[:-1] + _half_hull(ordered[::-1])[:-1])


def _half_hull(points: list[list[float]]) -> list[list[float]]:
    chain: list[list[float]] = []
    for point in points:
        while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0:
            chain.pop()
        chain.append(point)
    return chain


def _turn(a: list[float], b: list[float], c: list[float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
