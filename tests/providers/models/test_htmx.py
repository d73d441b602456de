"""This server's own copy of HTMX is fetched once, and no other file is accepted in its place."""

from pathlib import Path

import pytest

from webapp.config.models import ModelSettings
from webapp.providers.models.__main__ import set_up_htmx
from webapp.providers.models.htmx import CDN_URL, INTEGRITY, VERSION, WHEEL, copy_path, ensure, integrity_of, local_copy
from webapp.providers.models.wheel import fetch


@pytest.mark.slow
def test_the_package_carries_the_pinned_file(tmp_path: Path) -> None:
    assert ensure(tmp_path) is True
    data = copy_path(tmp_path).read_bytes()
    assert integrity_of(data) == INTEGRITY
    assert f'version:"{VERSION}"'.encode() in data
    assert ensure(tmp_path) is False
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", copy_path(tmp_path).name]


def test_the_cdn_serves_the_same_version() -> None:
    assert f"/htmx.org@{VERSION}/" in CDN_URL


def test_what_is_not_the_pinned_file_is_no_copy(tmp_path: Path) -> None:
    assert local_copy(tmp_path) is None
    copy_path(tmp_path).write_bytes(b"something else")
    assert local_copy(tmp_path) is None


@pytest.mark.slow
def test_it_comes_from_a_second_place_when_the_index_has_lost_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mirror").mkdir()
    fetch(WHEEL, tmp_path / "mirror")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    assert ensure(tmp_path / "models", tmp_path / "mirror") is True
    assert local_copy(tmp_path / "models") is not None


@pytest.mark.slow
def test_an_index_that_does_not_answer_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The pages have the CDN: a start goes on, and does not wait for the copy again until `make setup` is run."""
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/")
    settings = ModelSettings(tmp_path, None)
    set_up_htmx(settings, again=False)
    assert "make setup tries again: pip download django_htmx" in capsys.readouterr().err
    assert local_copy(tmp_path) is None
    set_up_htmx(settings, again=False)
    assert capsys.readouterr().err == ""
    monkeypatch.delenv("PIP_INDEX_URL")
    set_up_htmx(settings, again=True)
    assert local_copy(tmp_path) is not None
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", copy_path(tmp_path).name]
