"""What an Office document says of itself: its title and its author."""

from collections.abc import Iterator
from dataclasses import dataclass

from webapp.readers.extraction import Field
from webapp.readers.office.archive import Archive
from webapp.readers.office.xml import name_of, parse_xml

TITLE_CHARACTERS_MAX = 300
OFFICE_PART, OPEN_PART = "docProps/core.xml", "meta.xml"
# What programs write where nobody chose a title.
_NO_TITLES = frozenset(
    {"", "untitled", "unknown", "document", "document1", "word document", "powerpoint presentation", "presentation"}
)
_AUTHORS = {"initial-creator": "Author", "creator": "Author", "publisher": "Publisher"}


@dataclass(frozen=True)
class Properties:
    """A document's own words about itself."""

    title: str | None = None
    language: str | None = None
    fields: tuple[Field, ...] = ()


def read_properties(archive: Archive) -> Properties:
    """Read the part that every Office program writes; many files have none."""
    data = archive.read_if_there(OFFICE_PART) or archive.read_if_there(OPEN_PART)
    if data is None:
        return Properties()
    found: dict[str, str] = {}
    for element in parse_xml(data).iter():
        text = " ".join((element.text or "").split())
        if text:
            found.setdefault(name_of(element), text)
    return Properties(real_title(found.get("title")), _language(found.get("language", "")), tuple(_fields(found)))


def real_title(title: str | None) -> str | None:
    """A title that somebody chose."""
    title = " ".join((title or "").split()).removeprefix("Microsoft Word - ")[:TITLE_CHARACTERS_MAX]
    return None if title.lower() in _NO_TITLES else title


def _fields(found: dict[str, str]) -> Iterator[Field]:
    labels: set[str] = set()
    for name, label in _AUTHORS.items():
        if name in found and label not in labels:
            labels.add(label)
            yield Field(label, found[name])


def _language(tag: str) -> str | None:
    language = tag.partition("-")[0].lower()
    return language if len(language) == 2 and language.isascii() and language.isalpha() else None
