"""Every setting stands in the docs, and the docs name no setting that does not exist."""

import re
from dataclasses import fields, is_dataclass

from tests.guards.sources import ROOT, product_sources
from webapp.config import Settings

DOCUMENT = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
_ROW = re.compile(r"^\|((?: `[A-Z_]+`,?)+) \|", re.MULTILINE)
_NAME = re.compile(r"`([A-Z_]+)`")
_READ = re.compile(r"""(?:environ(?:\.get\(|\[)|env\.\w+\(|_database_url\()\s*["']([A-Z][A-Z_]+)["']""")


def _documented() -> set[str]:
    return {name for row in _ROW.findall(DOCUMENT) for name in _NAME.findall(row)}


def test_every_setting_is_documented() -> None:
    assert _names(Settings) - _documented() == set()


def _names(group: type) -> set[str]:
    """The variables of a group of settings and of the groups in it."""
    own = {item.name.upper() for item in fields(group) if not is_dataclass(item.type)}
    return own.union(
        *(_names(item.type) for item in fields(group) if isinstance(item.type, type) and is_dataclass(item.type))
    )


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
