"""What an Office document says of itself: its title and its author."""

from collections.abc import Iterator
from dataclasses import dataclass

from webapp.readers.creation import day_of_creation
from webapp.readers.extraction import Field
from webapp.readers.office.archive import Archive
from webapp.readers.office.xml import name_of, parse_xml
from webapp.readers.titles import chosen_title

OFFICE_PART, OPEN_PART = "docProps/core.xml", "meta.xml"
_AUTHORS = {"initial-creator": "Author", "creator": "Author", "publisher": "Publisher"}


@dataclass(frozen=True)
class Properties:
    """A document's own words about itself."""

    title: str | None = None
    language: str | None = None
    fields: tuple[Field, ...] = ()
    created: str | None = None


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
    return Properties(
        title=chosen_title(found.get("title")),
        language=_language(found.get("language", "")),
        fields=tuple(_fields(found)),
        created=day_of_creation(found.get("created") or found.get("creation-date")),
    )


def _fields(found: dict[str, str]) -> Iterator[Field]:
    labels: set[str] = set()
    for name, label in _AUTHORS.items():
        if name in found and label not in labels:
            labels.add(label)
            yield Field(label, found[name])


def _language(tag: str) -> str | None:
    language = tag.partition("-")[0].lower()
    return language if len(language) == 2 and language.isascii() and language.isalpha() else None
