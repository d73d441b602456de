"""Connected areas of a mask, and the smallest turned rectangle around points."""

import numpy as np
import pytest

from webapp.readers.pictures.shapes import RUNS_MAX, areas, rectangle


def test_what_touches_is_one_area() -> None:
    mask = np.array([list(row) for row in ("#..##", "#.#..", "##..#", "....#")]) == "#"
    found = sorted(sum(runs.ends - runs.starts) for runs in areas(mask))
    assert found == [2, 7]


def test_an_area_may_come_together_below() -> None:
    mask = np.array([list(row) for row in ("#.#.#", "#.#.#", "#####")]) == "#"
    [runs] = areas(mask)
    assert len(runs) == 7


def test_nothing_and_noise_are_no_areas() -> None:
    assert list(areas(np.zeros((5, 5), bool))) == []
    side = int((2 * RUNS_MAX) ** 0.5) + 2
    assert list(areas(np.indices((side, side)).sum(axis=0) % 2 == 0)) == []


@pytest.mark.parametrize("degrees", [0, 1, 17, 45, 89])
def test_a_turned_rectangle_is_found_again(degrees: float) -> None:
    angle = np.radians(degrees)
    by = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    inside = np.random.default_rng(1).uniform((0, 0), (300, 40), (500, 2))
    points = np.concatenate([inside, [[0, 0], [300, 0], [300, 40], [0, 40]]]) @ by
    corners = rectangle(points)
    sides = sorted(np.hypot(*(corners[index] - corners[index - 1])) for index in range(4))
    assert sides == pytest.approx([40, 40, 300, 300], abs=0.01)
