"""The model is built once, checked, and missed loudly."""

from pathlib import Path

import pytest

from webapp.providers import minilm_build
from webapp.providers.errors import FailureCode, ProviderUnavailable
from webapp.providers.local_embed import LocalEmbedder
from webapp.providers.minilm_build import check_quality, ensure
from webapp.providers.minilm_files import MODEL_FILE, is_whole, model_folder
from webapp.providers.model_wheel import BuildError


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
    monkeypatch.setattr(minilm_build, "CHECKS", (same,))
    with pytest.raises(BuildError, match="not good enough"):
        check_quality(embedder)


def test_another_wheel_is_not_used(tmp_path: Path) -> None:
    wheel = tmp_path / "other.whl"
    wheel.write_bytes(b"something else")
    with pytest.raises(BuildError, match="SHA-256"):
        minilm_build._unpack(wheel, tmp_path)


@pytest.mark.slow
def test_the_whole_build(tmp_path: Path) -> None:
    leftover = tmp_path / ".build-left"
    leftover.mkdir()
    assert ensure(tmp_path) is True
    assert is_whole(model_folder(tmp_path))
    assert not leftover.exists()
    assert ensure(tmp_path) is False
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "minilm-l6-v2-int8"]
