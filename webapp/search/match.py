"""What passages must hold: terms as values, which each database's index is asked for in its own language."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Atom:
    """A word, or several in a row; `is_prefix` where the last of them may go on."""

    text: str
    is_prefix: bool = False


@dataclass(frozen=True, slots=True)
class TermMatch:
    """Of each tuple in `must` one atom, one of `any_of` where there are some, and none of `without`."""

    must: tuple[tuple[Atom, ...], ...] = ()
    any_of: tuple[Atom, ...] = ()
    without: tuple[Atom, ...] = ()

    @property
    def groups(self) -> tuple[tuple[Atom, ...], ...]:
        """All that must be there, as tuples of which one atom is enough."""
        return (*self.must, self.any_of) if self.any_of else self.must

    def __bool__(self) -> bool:
        """Whether there is something to look for; exclusions alone are not."""
        return bool(self.must or self.any_of)
