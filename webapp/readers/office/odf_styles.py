"""What an OpenDocument file says of its styles: what is hidden, and how lists count."""

from collections.abc import Iterator
from dataclasses import dataclass

from webapp.readers.office.docx_styles import counted
from webapp.readers.office.xml import Element, attribute, name_of, number, within

CHAIN_MAX = 50
LEVELS_MAX = 10
_FORMATS = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}


@dataclass(frozen=True)
class _Level:
    format: str
    before: str
    after: str
    start: int


class OdfStyles:
    """The styles of a document's parts together, by their names."""

    def __init__(self, *roots: Element | None) -> None:
        self._styles = {attribute(each, "name"): each for root in roots for each in within(root, "style")}
        self._lists = {
            attribute(each, "name"): {number(attribute(level, "level"), 1): _level(level) for level in each}
            for root in roots
            for each in within(root, "list-style")
        }

    def is_hidden(self, name: str) -> bool:
        """Whether text, a sheet or a slide of this style is shown to nobody."""
        for style in self._chain(name):
            for each in style:
                if attribute(each, "display") in {"none", "false"} or attribute(each, "visibility") == "hidden":
                    return True
        return False

    def list_of(self, name: str) -> str:
        """The list style that a paragraph style brings along."""
        return next((found for each in self._chain(name) if (found := attribute(each, "list-style-name"))), "")

    def is_title(self, name: str) -> bool:
        return any(attribute(each, "name") == "Title" for each in self._chain(name))

    def start(self, list_style: str, level: int) -> int:
        found = self._lists.get(list_style, {}).get(level)
        return found.start if found else 1

    def label(self, list_style: str, level: int, count: int) -> str:
        """The label before an item; "" for a bullet."""
        found = self._lists.get(list_style, {}).get(level)
        if found is None or not found.format:
            return ""
        return f"{found.before}{counted(count, found.format)}{found.after}".strip()[:40]

    def _chain(self, name: str) -> Iterator[Element]:
        for _ in range(CHAIN_MAX):
            style = self._styles.get(name)
            if style is None:
                return
            yield style
            name = attribute(style, "parent-style-name")


def _level(element: Element) -> _Level:
    is_number = name_of(element) == "list-level-style-number"
    return _Level(
        format=_FORMATS.get(attribute(element, "num-format"), "") if is_number else "",
        before=attribute(element, "num-prefix"),
        after=attribute(element, "num-suffix"),
        start=number(attribute(element, "start-value"), 1),
    )
