"""OpenDocument presentations: each slide is a page."""

from collections.abc import Iterator

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.office.archive import Archive
from webapp.readers.office.blocks import one_line
from webapp.readers.office.content import Content
from webapp.readers.office.odf import OdfWalk, open_document
from webapp.readers.office.odf_styles import OdfStyles
from webapp.readers.office.slides import SLIDES_MAX, Slide, SlidePart, presentation
from webapp.readers.office.xml import Element, attribute, child, children, name_of

# Lengths in inches, by their unit; slides are some 7.5 of them high.
_UNITS = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72, "pc": 1 / 6, "px": 1 / 96}
HEIGHT_INCHES = 7.5
_TITLES = {"title"}
# What the master writes on each slide: its number, the date, the foot.
_EVERYWHERE = {"page-number", "date-time", "header", "footer", "page"}
_NOT_SHAPES = {"notes", "forms", "annotation", "par", "transition-filter"}


def read_odp(archive: Archive) -> Content:
    """Read all slides."""
    root, styles = open_document(archive)
    names = OdfStyles(styles, root)
    walk = OdfWalk(archive, names)
    pages = list(children(child(root, "body", "presentation"), "page"))
    if len(pages) > SLIDES_MAX:
        raise BadInput(f"more than {SLIDES_MAX} slides", code=FailureCode.TOO_LARGE)
    slides = [_slide(walk, names, page, number) for number, page in enumerate(pages, 1)]
    content = presentation(slides, walk.tables.found)
    if walk.comments and content.pages:
        content.pages[-1] += "\n\n" + "\n\n".join(walk.comments)
    return content


def _slide(walk: OdfWalk, styles: OdfStyles, page: Element, number: int) -> Slide:
    walk.page = number
    slide = Slide(is_hidden=styles.is_hidden(attribute(page, "style-name")))
    for shape in _shapes(page):
        role = attribute(shape, "class")
        if role in _EVERYWHERE:
            continue
        blocks = walk.shape(shape)
        if role in _TITLES and not slide.title:
            slide.title = one_line(" ".join(blocks))
        else:
            slide.parts.append(
                SlidePart(blocks, _inches(attribute(shape, "y")) / HEIGHT_INCHES, _inches(attribute(shape, "x")))
            )
    notes = child(page, "notes")
    slide.notes = [
        block
        for shape in (() if notes is None else _shapes(notes))
        if attribute(shape, "class") == "notes"
        for block in walk.shape(shape)
    ]
    for comment in children(page, "annotation"):
        walk.comment(comment)
    return slide


def _shapes(container: Element) -> Iterator[Element]:
    """The shapes of a slide, those in groups among them."""
    for each in container:
        name = name_of(each)
        if name == "g":
            yield from _shapes(each)
        elif name not in _NOT_SHAPES:
            yield each


def _inches(length: str) -> float:
    try:
        return max(-1000.0, min(float(length[:-2]) * _UNITS.get(length[-2:], 0.0), 1000.0))
    except ValueError:
        return 0.0
