"""Reads one picture of a page: which way up it is, where its lines are, in which script, and what they say."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np
from PIL import Image

from webapp.readers.pictures.frames import Picture
from webapp.readers.pictures.letters import LATIN_MOST, LetterReader, ReadLine, strip
from webapp.readers.pictures.lines import LineBox, LineFinder
from webapp.readers.pictures.stacks import StackReader, without_shade
from webapp.readers.small_words import guess_language

DETECTOR, RECOGNISER, LETTERS = "lines.onnx", "letters.onnx", "letters.txt"
# Lines that are read first, to know which way up a page is and whether its letters are Latin.
SAMPLE_LINES = 8
# Of lines in Latin letters, clean or not, hardly one is below this; of lines in Cyrillic letters, hardly one is above.
LATIN_LEAST = 0.95
# Of upright lines in whatever letters the mean is above this; of lines upside down it is 0.3 to 0.6.
UPRIGHT_LEAST = 0.7
# Short words may look the same in both.
LATIN_LETTERS_LEAST = 15
OTHER_SHARE_LEAST = 0.2
# Below this, on average, and in no language that is known by its small words: letters that the models don't know.
KNOWN_LEAST, KNOWN_LETTERS_LEAST = 0.9, 30
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class PlacedLine:
    """A line and where it is on the page as it was given."""

    place: LineBox
    line: ReadLine


@dataclass(frozen=True, slots=True)
class ReadPicture:
    """What a picture of a page says."""

    lines: tuple[PlacedLine, ...]
    size: tuple[int, int]
    """Its width and height in pixels, upright."""
    turned: int = 0
    """By how many degrees, against the clock, it had to be turned to be upright."""
    is_in_unknown_script: bool = False

    @property
    def confidence(self) -> float | None:
        """How sure the readers are of its letters, on average; None where it has none."""
        letters = sum(len(each.line.text) for each in self.lines)
        sure = sum(len(each.line.text) * each.line.confidence for each in self.lines)
        return sure / letters if letters else None


class PageReader:
    """All models for reading pictures of pages, loaded once."""

    def __init__(self, models: str, data: str | None, languages: Sequence[str], threads: int) -> None:
        folder = Path(models)
        self._finder = LineFinder(str(folder / DETECTOR), threads)
        self._latin = LetterReader(str(folder / RECOGNISER), str(folder / LETTERS), threads)
        self._stacks = StackReader(data, languages) if data and languages else None

    def read(self, picture: Picture) -> ReadPicture:
        """Read a picture in RGB."""
        upright, turned, places, sample = self._upright(picture)
        lines = self._read(upright, places, sample)
        placed = tuple(PlacedLine(place, line) for place, line in zip(places, lines, strict=True) if line.words)
        found = ReadPicture(placed, upright.size, turned)
        if _is_unknown(found):
            return ReadPicture((), upright.size, turned, is_in_unknown_script=True)
        return found

    def _upright(self, picture: Picture) -> tuple[Picture, int, list[LineBox], dict[int, ReadLine]]:
        places, turned = self._finder.find(picture), 0
        if _lies_on_its_side(places):
            picture, turned = picture.transpose(Image.Transpose.ROTATE_90), 90
            places = self._finder.find(picture)
        sample = self._sample(picture, places)
        if sample and _sureness(sample) < UPRIGHT_LEAST:
            over = picture.transpose(Image.Transpose.ROTATE_180)
            turned_places = [_turned_over(place, picture) for place in places]
            other = self._sample(over, turned_places)
            if _sureness(other) > _sureness(sample):
                return over, (turned + 180) % 360, turned_places, other
        return picture, turned, places, sample

    def _sample(self, picture: Picture, places: Sequence[LineBox]) -> dict[int, ReadLine]:
        longest = sorted(range(len(places)), key=lambda index: -places[index].width / places[index].height)
        chosen = longest[:SAMPLE_LINES]
        return dict(zip(chosen, self._latin.read([strip(picture, places[index]) for index in chosen]), strict=True))

    def _read(self, picture: Picture, places: Sequence[LineBox], sample: dict[int, ReadLine]) -> list[ReadLine]:
        lines = dict(sample)
        others = [index for index in range(len(places)) if index not in lines]
        # Where no line of the sample is in Latin letters, hardly another one is, and reading them twice takes long.
        if self._stacks is None or any(map(_is_latin, sample.values())):
            lines |= zip(others, self._latin.read([strip(picture, places[index]) for index in others]), strict=True)
        if self._stacks is not None:
            self._read_others(self._stacks, picture, places, lines)
        return [lines.get(index, ReadLine()) for index in range(len(places))]

    def _read_others(
        self, stacks: StackReader, picture: Picture, places: Sequence[LineBox], lines: dict[int, ReadLine]
    ) -> None:
        """Read again, in their own letters, the lines that are hardly Latin."""
        doubtful = [index for index in range(len(places)) if index not in lines or not _is_latin(lines[index])]
        if not doubtful or all(_is_short_latin(lines.get(index)) for index in doubtful):
            return
        # From above to below, since Tesseract learns a page's letters on the way.
        doubtful.sort(key=lambda index: float(places[index].corners[:, 1].mean()))
        even = without_shade(picture)
        found = stacks.read([strip(even, places[index]) for index in doubtful])
        is_other = any(map(_is_other, found))
        for index, line in zip(doubtful, found, strict=True):
            if index not in lines or _is_other(line) or (is_other and lines[index].confidence < line.confidence):
                lines[index] = line


def _is_latin(line: ReadLine) -> bool:
    return line.confidence >= LATIN_LEAST and len(line.text) >= LATIN_LETTERS_LEAST


def _is_short_latin(line: ReadLine | None) -> bool:
    return line is not None and line.confidence >= LATIN_LEAST


def _is_other(line: ReadLine) -> bool:
    """Whether a line is in other letters than Latin ones."""
    return _other_share(line.text) >= OTHER_SHARE_LEAST


def _other_share(text: str) -> float:
    letters = _LETTER.findall(text)
    return sum(letter > LATIN_MOST for letter in letters) / len(letters) if letters else 0.0


def _lies_on_its_side(places: Sequence[LineBox]) -> bool:
    tall = sum(place.width * place.height for place in places if place.is_tall)
    return tall > sum(place.width * place.height for place in places if not place.is_tall)


def _turned_over(place: LineBox, picture: Picture) -> LineBox:
    return LineBox(np.roll(np.array(picture.size) - place.corners, 2, axis=0))


def _sureness(lines: dict[int, ReadLine]) -> float:
    return fmean(line.confidence for line in lines.values()) if lines else 0.0


def _is_unknown(found: ReadPicture) -> bool:
    text = "\n".join(each.line.text for each in found.lines)
    letters = len(_LETTER.findall(text))
    if letters < KNOWN_LETTERS_LEAST or _other_share(text) >= OTHER_SHARE_LEAST:
        return False
    return (found.confidence or 0.0) < KNOWN_LEAST and guess_language(text) is None
