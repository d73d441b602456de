"""Every setting is in the docs, and the docs name no setting that does not exist."""

import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from tests.guards.sources import ROOT, product_sources
from webapp.config import Settings
from webapp.config.group import Group

DOCUMENT = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
_ROW = re.compile(r"^\|((?: `[A-Z_]+`,?)+) \|", re.MULTILINE)
_NAME = re.compile(r"`([A-Z_]+)`")
_READ = re.compile(r"""(?:environ(?:\.get\(|\[)|env\.\w+\(|_database_url\()\s*["']([A-Z][A-Z_]+)["']""")


def _documented() -> set[str]:
    return {name for row in _ROW.findall(DOCUMENT) for name in _NAME.findall(row)}


def test_every_setting_is_documented() -> None:
    assert _names(Settings) - _documented() == set()


def _names(group: type[Group]) -> set[str]:
    """The variables of a group of settings and of the groups in it."""
    found = set()
    for item in fields(group):
        if isinstance(item.type, type) and issubclass(item.type, Group):
            found |= _names(item.type)
        else:
            found.add(group.variable(item.name))
    return found


class Noted(dict[str, str]):
    """An environment that notes who was asked for."""

    def __init__(self, given: Mapping[str, str]) -> None:
        super().__init__(given)
        self.asked: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.asked.add(name)
        return super().get(name, default)


def test_a_field_has_the_name_of_the_variable_that_is_read(tmp_path: Path) -> None:
    environ = Noted({"DATA_DIR": str(tmp_path)})
    Settings.from_environment(environ)
    assert environ.asked == _names(Settings)


def test_every_variable_that_is_read_is_documented() -> None:
    product = [source for source in product_sources() if source.path != "conftest.py"]
    read = {name for source in product for name in _READ.findall(source.text)}
    assert "DATABASE_URL" in read
    assert read - _documented() == set()


def test_no_documented_setting_is_an_invention() -> None:
    texts = [source.text for source in product_sources()]
    assert {name for name in _documented() if not any(f'"{name}"' in text for text in texts)} == set()


def test_secrets_are_shown_in_no_repr() -> None:
    settings = Settings.from_environment(
        {
            "SECRET_KEY": "sixteen or more letters",
            "DATABASE_URL": "postgresql://app:hunter2@db/docmill",
            "DATABASE_OWNER_URL": "postgresql://owner:hunter3@db/docmill",
        }
    )
    for secret in ("sixteen", "hunter2", "hunter3"):
        assert secret not in repr(settings)
        assert secret not in str(settings)
