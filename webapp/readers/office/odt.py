"""OpenDocument text: everything that a reader sees, in reading order, without what tracked changes deleted."""

from webapp.readers.office.archive import Archive
from webapp.readers.office.content import Content
from webapp.readers.office.odf import OdfWalk, open_document
from webapp.readers.office.odf_styles import OdfStyles
from webapp.readers.office.xml import Element, child, name_of, within


def read_odt(archive: Archive) -> Content:
    """Read the document: headers, text, footers, then notes and comments."""
    root, styles = open_document(archive)
    walk = OdfWalk(archive, OdfStyles(styles, root))
    body = child(root, "body", "text")
    blocks = [] if body is None else walk.flow(body)
    heads, feet = _margins(walk, styles, "header"), _margins(walk, styles, "footer")
    notes = [each for each in walk.notes if each]
    text = "\n\n".join([*heads, *blocks, *feet, *notes, *walk.comments])
    return Content([text], is_paged=False, tables=walk.tables.found, title=walk.title)


def _margins(walk: OdfWalk, styles: Element | None, kind: str) -> list[str]:
    """The headers and footers of the pages, each once."""
    found: list[str] = []
    for page in within(styles, "master-page"):
        for each in page:
            if name_of(each).startswith(kind):
                found += walk.flow(each)
    # A page's number alone says nothing here.
    return [block for block in dict.fromkeys(found) if not block.strip("-\u2013 ").isdigit()]
