"""Links from one file of a book to another: first with the place of the file, then with the number of its chapter."""

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence

from webapp.readers.zip_members import inside

# No text has this character.
_MARK = "\x02"
_LINK = re.compile(rf"\[([^\[\]]*)\]\(#{_MARK}(\d+){_MARK}\)")


def inner_links(path: str, places: Mapping[str, int]) -> Callable[[str], str]:
    """The address of what a file links to, where that is another one of the book's files; `places` has all of them."""
    folder = posixpath.dirname(path)

    def address(href: str) -> str:
        place = places.get(inside(folder, href))
        return "" if place is None or places.get(path) == place else f"#{_MARK}{place}{_MARK}"

    return address


def with_chapters(markdown: str, paths: Sequence[str | None], numbers: Mapping[str, int]) -> str:
    """The text with links to chapters, by their numbers; what leads to a file without text is its words."""

    def link(found: re.Match[str]) -> str:
        place = int(found[2])
        number = numbers.get(paths[place] or "") if place < len(paths) else None
        return f"[{found[1]}](#page-{number})" if number else found[1]

    return _LINK.sub(link, markdown)
