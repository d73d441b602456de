"""OCR's models and language data: which are needed, which are used, and that wrong bytes are refused."""

from pathlib import Path

import pytest

from webapp.providers.models import ocr
from webapp.providers.models.wheel import BuildError


@pytest.fixture
def models(tmp_path: Path) -> Path:
    (tmp_path / "models" / ocr.DATA).mkdir(parents=True)
    return tmp_path / "models"


def with_data(models: Path, *codes: str) -> Path:
    for code in codes:
        (models / ocr.DATA / f"{code}.traineddata").write_bytes(b"data")
    return models


@pytest.mark.parametrize(
    ("wanted", "needed"),
    [((), ["rus"]), (("en", "de"), []), (("ru", "uk", "en"), ["rus", "ukr"]), (("ell", "zh"), ["ell", "chi-sim"])],
)
def test_languages_in_latin_letters_need_no_data(wanted: tuple[str, ...], needed: list[str]) -> None:
    assert ocr.needed(wanted) == needed


def test_installed_languages_are_used_unless_others_are_wanted(models: Path) -> None:
    assert ocr.languages(models, ()) == []
    with_data(models, "eng")
    assert ocr.languages(models, ()) == []
    with_data(models, "rus", "ukr", "chi_sim")
    assert ocr.languages(models, ()) == ["chi_sim", "rus", "ukr", "eng"]
    assert ocr.languages(models, ("ru", "de")) == ["rus", "eng"]
    assert ocr.languages(models, ("zh",)) == ["chi_sim", "eng"]
    assert ocr.languages(models, ("en",)) == []


def test_data_come_from_the_second_place(models: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "ell.traineddata").write_bytes(b"Greek")
    assert ocr.ensure_language(models, "el", place)
    assert (models / ocr.DATA / "ell.traineddata").read_bytes() == b"Greek"
    assert not ocr.ensure_language(models, "el", place)


def test_other_bytes_than_the_pinned_ones_are_refused(models: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "rus.traineddata").write_bytes(b"something else")
    with pytest.raises(BuildError, match=r"rus\.traineddata has the SHA-256"):
        ocr.ensure_language(models, "ru", place)
    assert ocr.installed(models) == []


def test_where_there_is_no_debian_the_package_is_named(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BuildError, match=r"tesseract-ocr-ell, and this machine has no apt-get"):
        ocr.ensure_language(models, "el")
