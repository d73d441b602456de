"""Questions with their answers in six languages, made of the headings of two manuals that Debian packages.

GNOME's help (CC BY-SA 3.0) has a page for each thing that one wants to do, and Debian's FAQ (GPL) an answer to each
question, both translated by people. A heading is the question, and what is written below it is the text that answers
it. Headings, and GNOME's one-line descriptions, which say the same again, are taken out of the texts. Only what is
there in all languages counts, if it is translated, and no heading of one or two words.
"""

import hashlib
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lxml import etree, html

from bench._place import ROOT
from webapp.providers.local.languages import LocalLanguages

FOLDER = ROOT / ".cache" / "questions"
# Debian's packages, of which no other version is compared with the last report.
PACKAGES = {
    "gnome-user-docs_43.0-2_all": "0d635a840747958ca84da778b40d341f1155603851f922c9a171f5a181d6a39f",
    "debian-faq_11.1_all": "427426e0cfa6888622fc1d72631071cb4b5a1f86ccde722e7820bcef284de5d0",
    "debian-faq-de_11.1_all": "e9a8d8234f4b182660d521f80f50cea87f797b4541005a3d64fab7777766f6de",
    "debian-faq-fr_11.1_all": "e83cbcc28106fc35f6665a6b0c54c2bd66db481de409764ce35b715baca510df",
    "debian-faq-pt_11.1_all": "ec3c25671b78da0359611fb904976d5a62f4054953a97a3db0f42883b21d45ea",
    "debian-faq-ru_11.1_all": "aaaae7a409c5cf5f5b8c26991f6ef484297e0cd2dee74c8d675cfa6613bce541",
}
LANGUAGES = ("en", "ru", "pt", "de", "fr", "es")
HELP = "usr/share/help/{folder}/gnome-help"
HELP_LANGUAGES = {"en": "C", "ru": "ru", "pt": "pt_BR", "de": "de", "fr": "fr", "es": "es"}
FAQ = "usr/share/doc/debian/FAQ/{folder}"
FAQ_LANGUAGES = {"en": ".", "ru": "ru", "pt": "pt", "de": "de", "fr": "fr"}
WORDS_LEAST, CHARACTERS_LEAST = 3, 150
_MALLARD = "{http://projectmallard.org/1.0/}"
_NUMBER = re.compile(r"^(?:[\w ]{0,12}\s)?\d+(?:\.\d+)*\.?\s+")
_BLOCKS = ("p", "item", "title", "td", "code", "screen")
_LEFT_OUT = ("info", "media", "links", "comment")


@dataclass(frozen=True)
class Answer:
    """A text and the question that it answers; `key` is the same in all languages."""

    key: str
    question: str
    text: str


def answers(language: str) -> list[list[Answer]]:
    """The texts of each manual in a language: those that all its languages have, in the same order."""
    return [texts[language] for texts in _manuals() if language in texts]


@cache
def _manuals() -> list[dict[str, list[Answer]]]:
    return [_in_all(_help, HELP_LANGUAGES), _in_all(_faq, FAQ_LANGUAGES)]


def _in_all(read: Callable[[Path, str], Iterator[Answer]], languages: Mapping[str, str]) -> dict[str, list[Answer]]:
    folder = unpacked()
    found = {language: {each.key: each for each in read(folder, at)} for language, at in languages.items()}
    good = {language: set(_good(texts.values(), language)) for language, texts in found.items()}
    keys = [key for key in found["en"] if all(key in some for some in good.values())]
    return {language: [texts[key] for key in keys] for language, texts in found.items()}


def _good(texts: Collection[Answer], language: str) -> Iterator[str]:
    """The keys of those that can be asked for: translated, not too short, and with a question that no other has."""
    teller = LocalLanguages(ROOT / ".cache" / "models")
    asked = Counter(each.question.casefold() for each in texts)
    for each in texts:
        is_long = len(each.question.split()) >= WORDS_LEAST and len(each.text) >= CHARACTERS_LEAST
        half = len(each.text) // 2
        # Some answers are translated only in part.
        is_translated = all(teller.language_of(part) == language for part in (each.text[:half], each.text[half:]))
        if is_long and is_translated and asked[each.question.casefold()] == 1:
            yield each.key


def unpacked() -> Path:
    """Fetch the packages with apt, check them and unpack them, once."""
    target = FOLDER / "files"
    if target.is_dir():
        return target
    FOLDER.mkdir(parents=True, exist_ok=True)
    for package, pinned in PACKAGES.items():
        name, version, _ = package.split("_")
        subprocess.run(["apt-get", "download", f"{name}={version}"], cwd=FOLDER, check=True, capture_output=True)
        file = FOLDER / f"{package}.deb"
        if hashlib.sha256(file.read_bytes()).hexdigest() != pinned:
            raise ValueError(f"{file.name} is not the file that was measured")
        subprocess.run(["dpkg-deb", "-x", file.name, "part"], cwd=FOLDER, check=True)
    (FOLDER / "part").rename(target)
    return target


def _help(folder: Path, language: str) -> Iterator[Answer]:
    for file in sorted((folder / HELP.format(folder=language)).glob("*.page")):
        page = etree.parse(file).getroot()
        title = page.find(f"{_MALLARD}title")
        if title is None or page.get("type") != "topic":
            continue
        page.remove(title)
        yield Answer(file.stem, _line(title), "\n\n".join(_blocks(page)))


def _blocks(page: etree._Element) -> Iterator[str]:
    """The paragraphs, headings and lists of a page of GNOME's help, as Markdown."""
    for each in page.iterchildren("*"):
        kind = str(each.tag).rpartition("}")[2]
        if kind in _LEFT_OUT:
            continue
        if kind == "title":
            yield f"## {_line(each)}"
        elif kind in _BLOCKS:
            if line := _line(each):
                yield line
        else:
            yield from _blocks(each)


def _line(element: etree._Element) -> str:
    return " ".join("".join(map(str, element.itertext("*"))).split())


def _faq(folder: Path, language: str) -> Iterator[Answer]:
    for file in sorted((folder / FAQ.format(folder=language)).glob("*.html")):
        if language == "." and not file.name.endswith(".en.html"):
            continue
        for title in html.parse(file).findall(".//h2"):
            anchor, section = title.find(".//a"), title.getparent().getparent().getparent().getparent()
            title.getparent().remove(title)
            name = f"{file.name.split('.')[0]}-{anchor.get('id')}"
            yield Answer(name, _NUMBER.sub("", " ".join(title.text_content().split())), _text(section))


def _text(section: html.HtmlElement) -> str:
    blocks: Sequence[html.HtmlElement] = section.xpath(".//p | .//pre | .//h3 | .//dt")
    lines = (" ".join(each.text_content().split()) for each in blocks)
    return "\n\n".join(line for line in lines if line)
