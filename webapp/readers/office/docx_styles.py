"""What a Word document says elsewhere about its paragraphs: headings and hidden text by style, numbers of lists."""

from collections.abc import Iterator
from dataclasses import dataclass

from webapp.readers.office.xml import Element, attribute, child, children, number, parse_xml

LEVELS_MAX = 9
CHAIN_MAX = 50
LABEL_CHARACTERS_MAX = 40
_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
    (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip


@dataclass(frozen=True)
class _Style:
    based_on: str
    name: str
    outline_level: int | None
    is_hidden: bool | None
    list_id: str | None
    list_level: int | None


class Styles:
    """The styles by their ids; each takes what it does not say itself from the one that it is based on."""

    def __init__(self, data: bytes | None) -> None:
        root = None if data is None else parse_xml(data)
        self._styles = {attribute(each, "styleId"): _style(each) for each in children(root, "style")}

    def heading_level(self, style_id: str) -> int | None:
        """1 for a title or a heading of the first level; None for what is no heading."""
        for style in self._chain(style_id):
            if style.outline_level is not None:
                return style.outline_level + 1 if style.outline_level < LEVELS_MAX else None
            start, _, level = style.name.rpartition(" ")
            if start == "heading" and level.isascii() and level.isdigit() and len(level) == 1:
                return int(level)
            if style.name == "title":
                return 1
        return None

    def is_title(self, style_id: str) -> bool:
        return any(style.name == "title" for style in self._chain(style_id))

    def is_hidden(self, style_id: str) -> bool:
        return next((style.is_hidden for style in self._chain(style_id) if style.is_hidden is not None), False)

    def list_of(self, style_id: str) -> tuple[str, int | None] | None:
        """The list that a style puts its paragraphs into, and the level where it says one."""
        for style in self._chain(style_id):
            if style.list_id is not None:
                return style.list_id, style.list_level
        return None

    def _chain(self, style_id: str) -> Iterator[_Style]:
        for _ in range(CHAIN_MAX):
            style = self._styles.get(style_id)
            if style is None:
                return
            yield style
            style_id = style.based_on


def is_on(element: Element | None) -> bool | None:
    """Whether a property that is there or not is switched on; None where nothing is said."""
    return None if element is None else attribute(element, "val", "true") not in {"0", "false", "off"}


def _style(element: Element) -> _Style:
    paragraph, numbered = child(element, "pPr"), child(element, "pPr", "numPr")
    outline, list_id, level = child(paragraph, "outlineLvl"), child(numbered, "numId"), child(numbered, "ilvl")
    return _Style(
        based_on=_value(child(element, "basedOn")),
        name=_value(child(element, "name")).lower(),
        outline_level=None if outline is None else number(_value(outline), LEVELS_MAX),
        is_hidden=is_on(child(element, "rPr", "vanish")),
        list_id=None if list_id is None else _value(list_id),
        list_level=None if level is None else number(_value(level)),
    )


@dataclass(frozen=True)
class _Level:
    format: str = "decimal"
    text: str = ""
    start: int = 1
    style_id: str = ""


class Lists:
    """The lists of a document, and how far each has counted."""

    def __init__(self, data: bytes | None) -> None:
        root = None if data is None else parse_xml(data)
        self._levels: dict[str, dict[int, _Level]] = {}
        links: dict[str, str] = {}
        linked: dict[str, str] = {}
        for each in children(root, "abstractNum"):
            abstract = attribute(each, "abstractNumId")
            self._levels[abstract] = _levels(each)
            links[_value(child(each, "styleLink"))] = abstract
            linked[abstract] = _value(child(each, "numStyleLink"))
        for abstract, style in linked.items():
            if style and not self._levels[abstract]:
                self._levels[abstract] = self._levels.get(links.get(style, ""), {})
        self._abstract: dict[str, str] = {}
        self._overrides: dict[str, dict[int, int]] = {}
        for each in children(root, "num"):
            self._add(each)
        self._counts: dict[str, list[int]] = {}
        self._begun: set[str] = set()

    def level_of_style(self, list_id: str, style_id: str) -> int:
        """The level of a list that belongs to a style."""
        levels = self._levels.get(self._abstract.get(list_id, ""), {})
        return next((level for level, found in levels.items() if found.style_id == style_id), 0)

    def next_label(self, list_id: str, level: int) -> str | None:
        """Count on, and give the label: "" for a bullet; None where there is no such list."""
        abstract = self._abstract.get(list_id)
        if abstract is None:
            return None
        level = max(0, min(level, LEVELS_MAX - 1))
        levels = self._levels.get(abstract, {})
        counts = self._counts.setdefault(abstract, [])
        if list_id not in self._begun:
            self._begun.add(list_id)
            for restarted, start in self._overrides.get(list_id, {}).items():
                del counts[restarted:]
                if restarted == len(counts):
                    counts.append(start - 1)
        while len(counts) <= level:
            counts.append(levels.get(len(counts), _Level()).start - 1)
        counts[level] += 1
        del counts[level + 1 :]
        return _label(levels, counts, level)

    def _add(self, element: Element) -> None:
        list_id = attribute(element, "numId")
        abstract = _value(child(element, "abstractNumId"))
        overrides = self._overrides.setdefault(list_id, {})
        for each in children(element, "lvlOverride"):
            level = number(attribute(each, "ilvl"), most=LEVELS_MAX - 1)
            start = child(each, "startOverride")
            if start is not None:
                overrides[level] = number(_value(start), 1)
            if child(each, "lvl") is not None:
                # A list with levels of its own counts by itself.
                own = {**self._levels.get(abstract, {}), **_levels(each)}
                abstract = f"{abstract}/{list_id}"
                self._levels[abstract] = own
        self._abstract[list_id] = abstract


def _levels(element: Element) -> dict[int, _Level]:
    return {
        number(attribute(each, "ilvl"), most=LEVELS_MAX - 1): _Level(
            format=_value(child(each, "numFmt")) or "decimal",
            text=_value(child(each, "lvlText")),
            start=number(_value(child(each, "start")), 1),
            style_id=_value(child(each, "pStyle")),
        )
        for each in children(element, "lvl")
    }


def _label(levels: dict[int, _Level], counts: list[int], level: int) -> str:
    own = levels.get(level, _Level(text=f"%{level + 1}."))
    if own.format in {"bullet", "none"}:
        return "" if own.format == "bullet" else own.text.partition("%")[0].strip()[:LABEL_CHARACTERS_MAX]
    text = own.text
    for place in range(level + 1):
        found = levels.get(place, _Level())
        text = text.replace(f"%{place + 1}", counted(counts[place], found.format))
    return text.strip()[:LABEL_CHARACTERS_MAX]


def counted(count: int, style: str) -> str:
    """A number as a list writes it; in digits where nobody would read the letters."""
    if style in {"lowerLetter", "upperLetter"} and 0 < count <= 26 * 5:
        letters = chr(ord("a") + (count - 1) % 26) * ((count - 1) // 26 + 1)
        return letters if style == "lowerLetter" else letters.upper()
    if style in {"lowerRoman", "upperRoman"} and 0 < count < 4000:
        roman = _roman(count)
        return roman if style == "lowerRoman" else roman.upper()
    return f"{count:02}" if style == "decimalZero" else str(count)


def _roman(count: int) -> str:
    letters = ""
    for value, letter in _ROMAN:
        letters += letter * (count // value)
        count %= value
    return letters


def _value(element: Element | None) -> str:
    return "" if element is None else attribute(element, "val")
