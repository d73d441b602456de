"""How the parts of a Word, Excel or PowerPoint file name each other. Nothing outside of the file is ever followed."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from webapp.readers.office.archive import Archive
from webapp.readers.office.xml import attribute, children, parse_xml
from webapp.readers.zip_members import inside


@dataclass(frozen=True)
class Relation:
    """What one part means by an id: another part, or an address outside."""

    id: str
    kind: str
    """The end of its type: "hyperlink", "slide", "notesSlide"."""
    target: str
    is_external: bool


class Relations:
    """All that one part names; none where it names nothing."""

    def __init__(self, archive: Archive, part: str) -> None:
        folder, name = posixpath.split(part)
        data = archive.read_if_there(f"{folder}/_rels/{name}.rels")
        self._found = {} if data is None else {each.id: each for each in _relations(data, folder)}

    def get(self, relation_id: str) -> Relation | None:
        return self._found.get(relation_id)

    def part(self, relation_id: str) -> str:
        """The name of the part that an id means; empty where it means none."""
        found = self._found.get(relation_id)
        return "" if found is None or found.is_external else found.target

    def of_kind(self, *kinds: str) -> Iterator[Relation]:
        """Those of these kinds that lie in the file, in their order."""
        return (each for each in self._found.values() if each.kind in kinds and not each.is_external)


def main_part(archive: Archive, usual: str) -> str:
    """The part that holds the document itself: the one that the file names, or the one where it usually is."""
    for each in Relations(archive, "").of_kind("officeDocument"):
        if archive.has(each.target):
            return each.target
    return usual


def _relations(data: bytes, folder: str) -> Iterator[Relation]:
    for each in children(parse_xml(data), "Relationship"):
        is_external = attribute(each, "TargetMode") == "External"
        target = attribute(each, "Target")
        yield Relation(
            id=attribute(each, "Id"),
            kind=attribute(each, "Type").rpartition("/")[2],
            target=target if is_external else inside("" if target.startswith("/") else folder, target),
            is_external=is_external,
        )
