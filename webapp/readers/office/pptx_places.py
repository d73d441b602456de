"""Where shapes are on a slide: their own place, that of their group, or that of the layout's placeholder."""

from collections.abc import Iterator
from dataclasses import dataclass

from webapp.readers.office.archive import Archive
from webapp.readers.office.relations import Relations
from webapp.readers.office.xml import Element, attribute, child, name_of, number, parse_xml, within

UNITS_MAX = 1 << 40
# A page of 10 by 7.5 inches.
USUAL_WIDTH, USUAL_HEIGHT = 9_144_000, 6_858_000
_SHAPES = {"sp", "pic", "graphicFrame", "cxnSp"}


@dataclass(frozen=True)
class Box:
    """A shape's top and left, as shares of the slide."""

    top: float = 0.0
    left: float = 0.0


@dataclass(frozen=True)
class _Scale:
    """How lengths within a group become those of the slide."""

    left: float = 0.0
    top: float = 0.0
    across: float = 1.0
    down: float = 1.0


class Places:
    """Finds the shapes of slides and their places."""

    def __init__(self, archive: Archive, width: int, height: int) -> None:
        self._archive = archive
        self._width = width if width > 0 else USUAL_WIDTH
        self._height = height if height > 0 else USUAL_HEIGHT
        self._parts: dict[str, list[str]] = {}
        self._known: dict[str, dict[tuple[str, str], Element]] = {}

    def shapes(self, tree: Element | None, layouts: list[str]) -> Iterator[tuple[Element, Box]]:
        """All shapes of a slide, those in groups among them."""
        return self._shapes(tree, layouts, _Scale())

    def _shapes(self, tree: Element | None, layouts: list[str], scale: _Scale) -> Iterator[tuple[Element, Box]]:
        for each in () if tree is None else tree:
            name = name_of(each)
            if name == "AlternateContent":
                chosen = child(each, "Choice")
                yield from self._shapes(child(each, "Fallback") if chosen is None else chosen, layouts, scale)
            elif name == "grpSp":
                yield from self._shapes(each, layouts, _scale(child(each, "grpSpPr", "xfrm"), scale))
            elif name in _SHAPES:
                yield each, self._box(each, layouts, scale)

    def _box(self, shape: Element, layouts: list[str], scale: _Scale) -> Box:
        offset = _offset(shape)
        if offset is None:
            placed = self._placeholder(shape, layouts)
            offset = None if placed is None else _offset(placed)
        if offset is None:
            return Box()
        left, top = _number(offset, "x"), _number(offset, "y")
        return Box((top * scale.down + scale.top) / self._height, (left * scale.across + scale.left) / self._width)

    def _placeholder(self, shape: Element, layouts: list[str]) -> Element | None:
        """The shape of the layout, or of its master, that a placeholder takes its place from."""
        found = next(within(shape, "ph"), None)
        if found is None:
            return None
        kind, index = attribute(found, "type"), attribute(found, "idx")
        for layout in layouts:
            for part in self._layout_and_master(layout):
                known = self._placeholders(part)
                place = known.get(("", index)) if index else None
                place = known.get((kind or "body", "")) if place is None or _offset(place) is None else place
                if place is not None and _offset(place) is not None:
                    return place
        return None

    def _layout_and_master(self, layout: str) -> list[str]:
        if layout not in self._parts:
            masters = Relations(self._archive, layout).of_kind("slideMaster")
            self._parts[layout] = [layout, *(each.target for each in masters)]
        return self._parts[layout]

    def _placeholders(self, part: str) -> dict[tuple[str, str], Element]:
        if part not in self._known:
            found: dict[tuple[str, str], Element] = {}
            data = self._archive.read_if_there(part)
            for shape in within(None if data is None else parse_xml(data), "sp"):
                holder = next(within(shape, "ph"), None)
                if holder is not None:
                    found.setdefault((attribute(holder, "type") or "body", ""), shape)
                    found.setdefault(("", attribute(holder, "idx")), shape)
            self._known[part] = found
        return self._known[part]


def _offset(shape: Element) -> Element | None:
    own = child(shape, "spPr", "xfrm", "off")
    return child(shape, "xfrm", "off") if own is None else own


def _scale(transform: Element | None, outer: _Scale) -> _Scale:
    offset, extent = child(transform, "off"), child(transform, "ext")
    inner_offset, inner_extent = child(transform, "chOff"), child(transform, "chExt")
    if offset is None or extent is None or inner_offset is None or inner_extent is None:
        return outer
    across = _number(extent, "cx") / (_number(inner_extent, "cx") or 1)
    down = _number(extent, "cy") / (_number(inner_extent, "cy") or 1)
    left = _number(offset, "x") - _number(inner_offset, "x") * across
    top = _number(offset, "y") - _number(inner_offset, "y") * down
    return _Scale(
        left=outer.left + left * outer.across,
        top=outer.top + top * outer.down,
        across=_bounded(outer.across * across),
        down=_bounded(outer.down * down),
    )


def _bounded(factor: float) -> float:
    """Groups within groups could make a length too large for a number."""
    return max(-1e6, min(factor, 1e6))


def _number(element: Element, name: str) -> int:
    return number(attribute(element, name), most=UNITS_MAX)
