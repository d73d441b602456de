"""What PowerPoint and OpenDocument slides have in common: their order of reading, and the pages that they become."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from webapp.readers.extraction import Table
from webapp.readers.office.blocks import heading
from webapp.readers.office.content import Content

SLIDES_MAX = 5_000
NOTES, COMMENT = "Notes:", "Comment: {text}"
HIDDEN = "Hidden in the show, and read all the same: slide {numbers}."
NUMBERS_SHOWN = 20


@dataclass
class SlidePart:
    """Something on a slide: its blocks, and where it is, from 0 (top, left) to 1."""

    blocks: Sequence[str]
    top: float = 0.0
    left: float = 0.0


@dataclass
class Slide:
    """One slide: its title, what else is on it, and what its speaker says."""

    title: str = ""
    parts: list[SlidePart] = field(default_factory=list)
    notes: Sequence[str] = ()
    is_hidden: bool = False


# Shapes that begin within one of these bands of a slide's height are beside each other.
BANDS = 15


def presentation(slides: Iterable[Slide], tables: list[Table]) -> Content:
    """A page for each slide: its title, its parts from the top left to the bottom right, its notes."""
    content = Content([], is_paged=True, tables=tables)
    hidden: list[str] = []
    for number, slide in enumerate(slides, 1):
        parts = sorted(slide.parts, key=lambda part: (int(part.top * BANDS), part.left))
        blocks = [heading(1, slide.title), *(block for part in parts for block in part.blocks)]
        if any(slide.notes):
            blocks += [NOTES, *slide.notes]
        content.pages.append("\n\n".join(block for block in blocks if block.strip()))
        if slide.is_hidden:
            hidden.append(str(number))
    if hidden:
        more = f" and {len(hidden) - NUMBERS_SHOWN} more" if len(hidden) > NUMBERS_SHOWN else ""
        content.warnings.append(HIDDEN.format(numbers=", ".join(hidden[:NUMBERS_SHOWN]) + more))
    return content
