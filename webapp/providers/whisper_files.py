"""Where the local recogniser's model lies and what it consists of; builder and reader agree here."""

from pathlib import Path

MODEL = "whisper-tiny-en"
# The files and their SHA-256, as they come out of the package.
FILES = {
    "config.json": "14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5",
    "model.bin": "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a",
    "tokenizer.json": "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df",
    "vocabulary.txt": "ff77588746d3a2595d32ab5b69ffd7b95ce2441ac57533cb66fc3eb575a115cf",
}


def model_folder(models: Path) -> Path:
    """Give this model's own folder among the models."""
    return models / MODEL


def is_there(models: Path) -> bool:
    """Say whether all files are there; they were checked when they were put there, as a whole."""
    return all((model_folder(models) / name).is_file() for name in FILES)
