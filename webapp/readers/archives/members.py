"""What lies in a container: its members in their order, with the limits against what unfolds without end."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from webapp.readers.cleaning import clean_line
from webapp.typed_json import TypedJson

BLOCK_BYTES = 1 << 18
PATH_CHARACTERS_MAX = 1_000
NAME_CHARACTERS_MAX = 255
NAMELESS = "untitled"
# Below this a file of nothing but spaces is no attack.
_LARGE_BYTES = 4 << 20
_DRIVE = re.compile(r"[A-Za-z]:")


class Obstacle(StrEnum):
    """Why a member is not unpacked; the pages have words for each."""

    ENCRYPTED = "encrypted"
    EMPTY = "empty"
    LINK = "link"
    """It points to another file, or is none: a device, a pipe."""
    TOO_LARGE = "too_large"
    FLOOD = "flood"
    """It unfolds to so much more than it takes up that it must have been made for that."""
    DAMAGED = "damaged"
    UNKNOWN_METHOD = "unknown_method"
    """It is packed in a way that nothing here undoes."""
    TOO_DEEP = "too_deep"
    SYSTEM = "system"
    """What an operating system leaves beside people's files."""


class Damaged(Exception):
    """A member's content can't be read to its end."""


class EndsEarly(Exception):
    """The end of a container is not reached: it is damaged there, or a flood. What came before it stays."""

    def __init__(self, obstacle: Obstacle) -> None:
        super().__init__(obstacle)
        self.obstacle = obstacle


@dataclass(frozen=True)
class UnpackLimits:
    """How much is unpacked of one container."""

    members: int
    member_bytes: int
    total_bytes: int
    ratio: int

    def is_flood(self, unfolded: int, folded: int) -> bool:
        """Whether so few bytes became more than honest ones do."""
        return unfolded > _LARGE_BYTES and unfolded > self.ratio * max(folded, 1)


@dataclass
class Member:
    """One file in a container. `blocks` gives its content, and is called at most once, before the next member."""

    path: str
    size: int
    """As the container says, which is not believed."""
    blocks: Callable[[], Iterable[bytes]]
    folded: int | None = None
    """How many bytes it takes up in the container; None where it does not take up any of its own."""
    obstacle: Obstacle | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """What became of a member: where its bytes lie in the file that was written, or why there are none."""

    number: int
    path: str
    offset: int = 0
    size: int = 0
    obstacle: Obstacle | None = None


@dataclass(frozen=True, slots=True)
class Unpacked(TypedJson):
    """Some members of a container, one after the other; `is_last` where no more follow them.

    `cut` says why its end was not reached.
    """

    entries: tuple[Entry, ...]
    is_last: bool
    cut: Obstacle | None = None


def member(path: str, size: int, blocks: Callable[[], Iterable[bytes]], **more: object) -> Member:
    """A member, by the name that it has in its container."""
    found = Member(clean_path(path), size, blocks, **more)  # type: ignore[arg-type]  # the fields of a Member
    if found.obstacle is None and _is_of_system(path):
        found.obstacle = Obstacle.SYSTEM
    if found.obstacle is None and size == 0:
        found.obstacle = Obstacle.EMPTY
    return found


def clean_path(path: str) -> str:
    """A name with folders, fit to be shown; it never becomes a path of this machine, wherever it says that it leads."""
    names = (clean_line(each, NAME_CHARACTERS_MAX) or "" for each in re.split(r"[/\\]", path))
    kept = [name for name in names if name not in {"", ".", ".."} and not _DRIVE.fullmatch(name)]
    while len(kept) > 1 and len("/".join(kept)) > PATH_CHARACTERS_MAX:
        del kept[0]
    return "/".join(kept) or NAMELESS


def unpacked(
    members: Iterable[Member],
    write: Callable[[bytes], object],
    limits: UnpackLimits,
    *,
    first: int,
    most: int,
    most_bytes: int,
) -> Unpacked:
    """Write the content of members from a place on, one after the other, until `most` or `most_bytes` are reached."""
    entries: list[Entry] = []
    offset = 0
    try:
        for number, each in enumerate(members):
            if number < first:
                continue
            if number >= limits.members:
                raise EndsEarly(Obstacle.TOO_LARGE)
            if len(entries) >= most or offset >= most_bytes:
                return Unpacked(tuple(entries), is_last=False)
            size, obstacle = (0, each.obstacle) if each.obstacle else _written(each, write, limits)
            entries.append(Entry(number, each.path, offset, 0 if obstacle else size, obstacle))
            # What was written of a member that broke off stays there, and is passed over.
            offset += size
    except EndsEarly as error:
        return Unpacked(tuple(entries), is_last=True, cut=error.obstacle)
    return Unpacked(tuple(entries), is_last=True)


def _written(each: Member, write: Callable[[bytes], object], limits: UnpackLimits) -> tuple[int, Obstacle | None]:
    size = 0
    if each.size > limits.member_bytes:
        return 0, Obstacle.TOO_LARGE
    try:
        for block in each.blocks():
            write(block)
            size += len(block)
            if size > limits.member_bytes:
                return size, Obstacle.TOO_LARGE
            if each.folded is not None and limits.is_flood(size, each.folded):
                return size, Obstacle.FLOOD
    except Damaged:
        return size, Obstacle.DAMAGED
    return size, None if size else Obstacle.EMPTY


def counted(blocks: Iterable[bytes], folded_bytes: int, limits: UnpackLimits, spare_bytes: int) -> Iterator[bytes]:
    """Blocks that a whole container unfolds to; EndsEarly where they are more than is unpacked, or than is honest."""
    total = 0
    for block in blocks:
        total += len(block)
        if limits.is_flood(total, folded_bytes):
            raise EndsEarly(Obstacle.FLOOD)
        if total > limits.total_bytes + spare_bytes:
            raise EndsEarly(Obstacle.TOO_LARGE)
        yield block


def _is_of_system(path: str) -> bool:
    names = path.replace("\\", "/").split("/")
    return "__MACOSX" in names[:-1] or names[-1] in {".DS_Store", "Thumbs.db", "desktop.ini"}
