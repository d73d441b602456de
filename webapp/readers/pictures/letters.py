"""Reads lines in Latin letters, with PP-OCR's recogniser: text, the place of each word, and how sure it is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from webapp.readers.pictures.frames import Picture
from webapp.readers.pictures.lines import LineBox, session

HEIGHT = 48
WIDTH_LEAST, WIDTH_MOST = 16, 3_200
# Together, so that a long page needs no more memory than a short one.
BATCH_COLUMNS = 4_000
BATCH_LINES = 8
STEP = 32
BLANK = 0
# One step of the answer is so many columns of the picture.
COLUMNS_PER_STEP = 8
HALF_LETTER = 0.6
# The model knows Chinese and Japanese, too, and would take many a comma for theirs.
_SIGNS = (
    "\u20ac\u20a4\u2116\u2122\u2212\u2264\u2265\u2260\u2192\u2190\u00d7\u00f7\u2022\u25aa\u25a0\u25a1\u2610\u2611\u2612"
)
LATIN_MOST = "\u024f"
PUNCTUATION = ("\u2010", "\u203f")


@dataclass(frozen=True, slots=True)
class ReadWord:
    """One word: its text, how sure its reader is, and the shares of its line's length where it begins and ends."""

    text: str
    confidence: float
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class ReadLine:
    """What one line says."""

    words: tuple[ReadWord, ...] = ()

    @property
    def text(self) -> str:
        """Its words with a space between them."""
        return " ".join(word.text for word in self.words)

    @property
    def confidence(self) -> float:
        """How sure its reader is of its letters, on average; 0 where it found none."""
        letters = sum(len(word.text) for word in self.words)
        return sum(len(word.text) * word.confidence for word in self.words) / letters if letters else 0.0


def strip(picture: Picture, place: LineBox, height: int = HEIGHT) -> Picture:
    """Cut a line out of its page and lay it flat."""
    width = round(place.width * height / max(place.height, 1.0))
    width = min(max(width, WIDTH_LEAST), WIDTH_MOST)
    x, y = (place.corners[1] - place.corners[0]) / width, (place.corners[3] - place.corners[0]) / height
    # Of many pixels for each one that is wanted, some would be left out: halve first.
    shrink = max(1, int(place.height / (2 * height)))
    if shrink > 1:
        left, top = (int(side) for side in np.maximum(place.corners.min(axis=0), 0))
        right, bottom = (int(side) + 1 for side in np.minimum(place.corners.max(axis=0), picture.size))
        picture = picture.crop((left, top, max(right, left + 1), max(bottom, top + 1))).reduce(shrink)
        begin = (place.corners[0] - (left, top)) / shrink
        x, y = x / shrink, y / shrink
    else:
        begin = place.corners[0]
    turned = (x[0], y[0], begin[0], x[1], y[1], begin[1])
    return picture.transform((width, height), Image.Transform.AFFINE, turned, Image.Resampling.BICUBIC)


class LetterReader:
    """PP-OCR's recogniser, for Latin letters only."""

    def __init__(self, model: str, letters: str, threads: int) -> None:
        self._session = session(model, threads)
        known = ["", *Path(letters).read_text(encoding="utf-8").rstrip("\n").split("\n"), " "]
        self._classes = np.array([BLANK, *(number for number, letter in enumerate(known) if _is_latin(letter))])
        self._letters = [known[number] for number in self._classes]

    def read(self, strips: Sequence[Picture]) -> list[ReadLine]:
        """Read lines that lie flat, in their order."""
        lines: list[ReadLine] = [ReadLine()] * len(strips)
        for batch in _batches(strips):
            width = -(-max(strips[index].width for index in batch) // STEP) * STEP
            answers = self._session.run(None, {"x": _planes([strips[index] for index in batch], width)})[0]
            for index, answer in zip(batch, answers[:, :, self._classes], strict=True):
                lines[index] = ReadLine(tuple(self._words(answer, strips[index].width)))
        return lines

    def _words(self, answer: NDArray[np.float32], width: int) -> Iterator[ReadWord]:
        best = answer.argmax(axis=1)
        is_new = (best != BLANK) & np.append(True, best[1:] != best[:-1])
        steps = width / COLUMNS_PER_STEP
        word: list[int] = []
        for at in (*np.flatnonzero(is_new).tolist(), -1):
            if at >= 0 and self._letters[best[at]] != " ":
                word.append(at)
                continue
            if word:
                text = "".join(self._letters[best[each]] for each in word)
                sure = float(np.mean([answer[each, best[each]] for each in word]))
                start, end = (word[0] - HALF_LETTER) / steps, (word[-1] + 1 + HALF_LETTER) / steps
                yield ReadWord(text, min(1.0, sure), max(0.0, start), min(1.0, end))
            word = []


def _is_latin(letter: str) -> bool:
    if len(letter) != 1:
        return False
    return letter <= LATIN_MOST or PUNCTUATION[0] <= letter <= PUNCTUATION[1] or letter in _SIGNS


def _batches(strips: Sequence[Picture]) -> Iterator[list[int]]:
    batch: list[int] = []
    for index in sorted(range(len(strips)), key=lambda each: strips[each].width):
        if batch and (len(batch) == BATCH_LINES or (len(batch) + 1) * strips[index].width > BATCH_COLUMNS):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _planes(strips: Sequence[Picture], width: int) -> NDArray[np.float32]:
    planes = np.zeros((len(strips), 3, HEIGHT, width), np.float32)
    for plane, each in zip(planes, strips, strict=True):
        pixels = np.asarray(each.convert("RGB"))[..., ::-1].astype(np.float32) / 127.5 - 1
        plane[:, :, : each.width] = pixels.transpose(2, 0, 1)
    return planes
