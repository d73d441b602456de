"""Plain data that travels as JSON, with every type checked on the way back: its writer may have been taken over."""

from typing import Self

import msgspec


class TypedJson:
    """What dataclasses inherit that are stored as JSON or come out of a sandbox."""

    __slots__ = ()

    def to_json(self) -> bytes:
        """Write it as UTF-8 JSON that `from_json` reads back equal."""
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, data: bytes) -> Self:
        """Read `to_json`'s output; ValueError for anything else."""
        try:
            return msgspec.json.decode(data, type=cls)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"not a valid {cls.__name__}: {error}") from error

    @classmethod
    def from_plain(cls, plain: object) -> Self:
        """Read what a JSON parser made of it; ValueError where a part is missing or of another type."""
        try:
            return msgspec.convert(plain, cls)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"not a valid {cls.__name__}: {error}") from error
