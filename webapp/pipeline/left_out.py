"""What of a container was not unpacked, and the sentences that say so on its page."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from webapp.readers.archives.members import Entry, Obstacle
from webapp.typed_json import TypedJson

# It lies in the checkpoint meanwhile, which has to stay small.
NAMED_MAX, NAME_CHARACTERS_MAX = 50, 150

_ONE = {
    Obstacle.ENCRYPTED: "“{name}” is locked by a password, so it was not unpacked.",
    Obstacle.EMPTY: "“{name}” is empty, so there is nothing to unpack.",
    Obstacle.LINK: "“{name}” is a link or a device and holds nothing of its own.",
    Obstacle.TOO_LARGE: "“{name}” is larger than a file may be here, so it was not unpacked.",
    Obstacle.FLOOD: "“{name}” unfolds to far more than an honest file does, so it was not unpacked.",
    Obstacle.DAMAGED: "“{name}” is damaged, so it could not be unpacked.",
    Obstacle.UNKNOWN_METHOD: "“{name}” is packed in a way that is not known here, so it was not unpacked.",
    Obstacle.TOO_DEEP: "“{name}” lies too deep within other messages, so it was not unpacked.",
}
_MORE = "{count:,} more files were not unpacked."
_OF_SYSTEM = "Files that an operating system put there were left out: {count:,}."
_CUT = {
    Obstacle.TOO_LARGE: "More lies in this file than may be unpacked. The rest is kept in the original.",
    Obstacle.FLOOD: "This file unfolds to far more than an honest one does. The rest was not unpacked.",
    Obstacle.DAMAGED: "This file is damaged, and its end could not be read. What came before that was unpacked.",
    Obstacle.TOO_DEEP: "This file lies too deep within others, so it was not unpacked. Upload it by itself for that.",
}


@dataclass
class LeftOut(TypedJson):
    """The members that were not unpacked: some by their names, and how many there are beside them."""

    named: tuple[tuple[str, Obstacle], ...] = ()
    more: int = 0
    of_system: int = 0
    locked: int = 0
    """How many of all these a password locks."""
    cut: Obstacle | None = None
    """Why the container's end was not reached."""

    @classmethod
    def of(cls, plain: object) -> "LeftOut":
        """What `plain` gave, or none."""
        return cls() if plain is None else cls.from_plain(plain)

    def plain(self) -> dict[str, object]:
        """As it lies in the checkpoint."""
        named = [list(each) for each in self.named]
        return {"named": named, "more": self.more, "of_system": self.of_system, "locked": self.locked}

    def with_entries(self, entries: Iterable[Entry]) -> "LeftOut":
        """The same with those of these members that have a obstacle."""
        found = [(entry.path[-NAME_CHARACTERS_MAX:], entry.obstacle) for entry in entries if entry.obstacle]
        of_system = sum(obstacle is Obstacle.SYSTEM for _, obstacle in found)
        others = [(name, obstacle) for name, obstacle in found if obstacle is not Obstacle.SYSTEM]
        room = max(0, NAMED_MAX - len(self.named))
        return replace(
            self,
            named=(*self.named, *others[:room]),
            more=self.more + len(others[room:]),
            of_system=self.of_system + of_system,
            locked=self.locked + sum(obstacle is Obstacle.ENCRYPTED for _, obstacle in found),
        )

    def sentences(self) -> Sequence[str]:
        """What is said of it on the container's page."""
        return [
            *(_ONE[obstacle].format(name=name) for name, obstacle in self.named),
            *([_MORE.format(count=self.more)] if self.more else []),
            *([_OF_SYSTEM.format(count=self.of_system)] if self.of_system else []),
            *([_CUT[self.cut]] if self.cut else []),
        ]
