"""Finds the lines of writing in a picture of a page, with PP-OCR's detector; each is a turned rectangle."""

from dataclasses import dataclass

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from PIL import Image

from webapp.readers.pictures.frames import Picture
from webapp.readers.pictures.shapes import Floats, Runs, areas, rectangle

# The model's own settings, but for the size: letters of ordinary pages are clear enough at this one, in a third of
# the time.
LONG_SIDE = 1280
INK_LEAST, SURE_LEAST = 0.2, 0.4
GROWN = 1.4
AREA_LEAST, RUNS_LEAST = 16, 3
LINES_MAX = 3_000
MEAN = np.array([0.406, 0.456, 0.485], np.float32) * 255
DEVIATION = np.array([0.225, 0.224, 0.229], np.float32) * 255
STEP = 32


@dataclass(frozen=True, slots=True)
class LineBox:
    """Where a line is: its corners, clockwise from where its reading begins above."""

    corners: Floats

    @property
    def width(self) -> float:
        """Its length along the writing."""
        return float(np.hypot(*(self.corners[1] - self.corners[0])))

    @property
    def height(self) -> float:
        """The height of its letters, with a little air."""
        return float(np.hypot(*(self.corners[3] - self.corners[0])))

    @property
    def is_tall(self) -> bool:
        """Whether it runs up or down the page."""
        along = self.corners[1] - self.corners[0]
        return abs(float(along[1])) > abs(float(along[0]))

    def part(self, start: float, end: float) -> Floats:
        """The corners of the part between two shares of its length."""
        top, bottom = self.corners[1] - self.corners[0], self.corners[2] - self.corners[3]
        first, last = self.corners[0], self.corners[3]
        return np.array([first + start * top, first + end * top, last + end * bottom, last + start * bottom])


def session(path: str, threads: int) -> onnxruntime.InferenceSession:
    """Load a model that keeps no memory between its runs: pages have all sizes."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


class LineFinder:
    """PP-OCR's detector of writing."""

    def __init__(self, model: str, threads: int) -> None:
        self._session = session(model, threads)

    def find(self, picture: Picture) -> list[LineBox]:
        """The lines of a picture in RGB, in no order."""
        scale = min(1.0, LONG_SIDE / max(picture.size))
        width, height = (max(STEP, round(side * scale / STEP) * STEP) for side in picture.size)
        ink = self._ink(picture.resize((width, height), Image.Resampling.BILINEAR))
        factors = np.array([picture.width / width, picture.height / height])
        sums = np.concatenate([np.zeros((height, 1), np.float32), np.cumsum(ink, axis=1)], axis=1)
        found = [_place(area, factors) for area in areas(ink > INK_LEAST) if _is_writing(area, sums)]
        return found[:LINES_MAX]

    def _ink(self, picture: Picture) -> NDArray[np.float32]:
        pixels = np.asarray(picture)[..., ::-1].astype(np.float32)
        plane = ((pixels - MEAN) / DEVIATION).transpose(2, 0, 1)[None]
        ink: NDArray[np.float32] = self._session.run(None, {"x": np.ascontiguousarray(plane)})[0][0, 0]
        return ink


def _is_writing(area: Runs, sums: NDArray[np.float32]) -> bool:
    pixels = int((area.ends - area.starts).sum())
    if len(area) < RUNS_LEAST or pixels < AREA_LEAST:
        return False
    sure = (sums[area.rows, area.ends] - sums[area.rows, area.starts]).sum() / pixels
    return bool(sure >= SURE_LEAST)


def _place(area: Runs, factors: Floats) -> LineBox:
    corners = rectangle(area.corners)
    sides = np.hypot(*(corners[1] - corners[0])), np.hypot(*(corners[2] - corners[1]))
    # The model marks the middle of the letters.
    more = GROWN * sides[0] * sides[1] / (2 * (sides[0] + sides[1]))
    along, across = (corners[1] - corners[0]) / sides[0], (corners[2] - corners[1]) / sides[1]
    outward = np.array([-along - across, along - across, along + across, across - along])
    return LineBox(_in_reading_order((corners + more * outward) * factors))


def _in_reading_order(corners: Floats) -> Floats:
    """Turn the corners so that the first edge is the one that the writing runs along, from the left or the top."""
    along, across = corners[1] - corners[0], corners[2] - corners[1]
    if np.hypot(*along) < np.hypot(*across):
        # A short piece of an upright page may be higher than it is wide; only a clear case runs up or down.
        corners = np.roll(corners, -1, axis=0)
        along, across = across, -along
    is_tall = abs(along[1]) > abs(along[0])
    if is_tall and np.hypot(*along) < 1.5 * np.hypot(*across):
        corners = np.roll(corners, -1, axis=0)
        along = corners[1] - corners[0]
    backward = along[1] < 0 if abs(along[1]) > abs(along[0]) else along[0] < 0
    ordered: Floats = np.roll(corners, 2, axis=0) if backward else corners
    return ordered
