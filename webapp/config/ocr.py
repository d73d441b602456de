"""Whether pages are read by their looks, in which languages, and on how many cores."""

import os
from dataclasses import dataclass

from webapp.config.group import Group
from webapp.config.reader import Reader, SettingsError

ON, OFF = "on", "off"


@dataclass(frozen=True)
class OcrSettings(Group):
    """Whether pages are read by their looks, in which languages, and on how many cores."""

    ocr: str
    languages: tuple[str, ...]
    ocr_threads: int

    @property
    def is_on(self) -> bool:
        """Whether scans and pictures are read."""
        return self.ocr == ON


def read(env: Reader) -> OcrSettings:
    """Read and check this group."""
    return OcrSettings(
        ocr=env.choice("OCR", ON, (ON, OFF)),
        languages=_languages(env),
        ocr_threads=env.whole("OCR_THREADS", 2, most=64),
    )


def from_environment() -> OcrSettings:
    """Read this group alone, for set-up."""
    return read(Reader(os.environ))


def _languages(env: Reader) -> tuple[str, ...]:
    """Codes of languages, with commas or spaces between them."""
    given = tuple(env.text("LANGUAGES").lower().replace(",", " ").split())
    for each in given:
        if not (each.replace("-", "").isascii() and each.replace("-", "").isalpha() and 2 <= len(each) <= 12):
            raise SettingsError(f"LANGUAGES: {each!r} is no code of a language. Codes are such as: en de ru uk.")
    return given
