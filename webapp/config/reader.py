"""Typed look-ups in an environment, with one way to complain. Which variables there are, `config` knows."""

import contextlib
import math
import os
import re
import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

Value = TypeVar("Value")

_BASE64 = "[A-Za-z0-9+/]"
_INTEGRITY = re.compile(f"sha256-{_BASE64}{{43}}=|sha384-{_BASE64}{{64}}|sha512-{_BASE64}{{86}}==")


class SettingsError(Exception):
    """A setting that cannot be used; the message names it and says what would be right."""


@dataclass(frozen=True)
class Reader:
    """Typed look-ups in an environment, with one way to complain."""

    environ: Mapping[str, str]

    def text(self, name: str, default: str = "") -> str:
        return self.environ.get(name, "").strip() or default

    def optional(self, name: str) -> str | None:
        return self.text(name) or None

    def folder(self, name: str, default: str | Path) -> Path:
        return Path(self.text(name, str(default))).expanduser().absolute()

    def names(self, name: str) -> tuple[str, ...]:
        return tuple(part.strip() for part in self.text(name).split(",") if part.strip())

    def pairs(self, name: str, *, example: str) -> tuple[tuple[str, str], ...]:
        """`a=b,c=d` as pairs; an entry that lacks a half is refused."""
        found = []
        for entry in self.names(name):
            key, _, value = (part.strip() for part in entry.partition("="))
            if not key or not value:
                raise SettingsError(f"{name}: {entry!r} is no pair. Example: {name}={example}.")
            found.append((key, value))
        return tuple(found)

    def address(self, name: str) -> str | None:
        """A web address that holds no secret, since addresses are shown; without its last slash."""
        raw = self.text(name)
        if not raw:
            return None
        parts = urlsplit(raw)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise SettingsError(f"{name} is no web address. Example: {name}=https://name.example.com.")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise SettingsError(f"{name} must hold neither a password nor a query: keys have settings of their own.")
        return raw.rstrip("/")

    def integrity(self, name: str) -> str | None:
        """The hash of a script, as its integrity attribute spells it."""
        raw = self.text(name)
        if raw and not _INTEGRITY.fullmatch(raw):
            raise SettingsError(
                f"{name} is no hash of a script. Example: {name}=sha384-… with 64 characters of base64."
            )
        return raw or None

    def whole(self, name: str, default: int, least: int = 1, most: int | None = None) -> int:
        return self._number(name, default, least, int, "a whole number", most)

    def seconds(self, name: str, default: float, least: float = 0.01) -> float:
        return self._number(name, default, least, _finite, "a number of seconds", None)

    def days(self, name: str, default: float) -> float:
        """A number of days; 0 means "for ever"."""
        return self._number(name, default, 0.0, _finite, "a number of days", 36_500.0)

    def share(self, name: str, default: float) -> float:
        """A number from 0 to 1."""
        return self._number(name, default, 0.0, _finite, "a number", 1.0)

    def price(self, name: str, default: float) -> float:
        """What a unit costs; 0 where it is free."""
        return self._number(name, default, 0.0, _finite, "a price", None)

    def amount(self, name: str, default: float) -> float:
        """A number that is not negative, of whatever the setting counts."""
        return self._number(name, default, 0.0, _finite, "a number", None)

    def choice(self, name: str, default: str, choices: tuple[str, ...]) -> str:
        value = self.text(name, default)
        if value not in choices:
            raise SettingsError(f"{name}={value!r} is not known. Use one of: {', '.join(choices)}.")
        return value

    def _number(
        self, name: str, default: Value, least: Value, kind: Callable[[str], Value], what: str, most: Value | None
    ) -> Value:
        raw = self.text(name)
        try:
            value = kind(raw) if raw else default
        except ValueError as error:
            raise SettingsError(f"{name}={raw!r} is not {what}. Example: {name}={default}.") from error
        if not least <= value or (most is not None and not value <= most):  # type: ignore[operator] # both are numbers
            limit = f"at least {least}" if most is None else f"from {least} to {most}"
            raise SettingsError(f"{name}={raw} is out of range: it must be {limit}.")
        return value


def _finite(text: str) -> float:
    """Neither "inf" nor "nan": no clock and no database can count with them."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def check_folder(data_dir: Path) -> None:
    """Make DATA_DIR, or refuse it."""
    with _usable(data_dir):
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=data_dir):
            pass


def kept_secret(path: Path) -> str:
    """The secret in this file; two processes that start at once agree on one."""
    with _usable(path.parent):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            _keep_secret(path)
        return path.read_text(encoding="ascii").strip()


@contextlib.contextmanager
def _usable(data_dir: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SettingsError(f"DATA_DIR={data_dir} cannot be used: {error.strerror}.") from error


def _keep_secret(path: Path) -> None:
    """Written whole under another name first, then linked: a second process finds it complete."""
    own = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(32) + "\n")
    with contextlib.suppress(FileExistsError):
        os.link(own, path)
    own.unlink()
