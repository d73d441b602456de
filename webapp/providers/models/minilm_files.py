"""Where the built model lies and how to see that it is whole; builder and reader agree here."""

import hashlib
import json
from pathlib import Path

MODEL = "minilm-l6-v2-int8"
MODEL_FILE, TOKENIZER_FILE, MANIFEST_FILE = "model.onnx", "tokenizer.json", "manifest.json"
FILES = (MODEL_FILE, TOKENIZER_FILE)
# Counted up when the way of building changes: an older build is then built again.
RECIPE = 1


def model_folder(models: Path) -> Path:
    """Give this model's own folder among the models."""
    return models / MODEL


def is_whole(folder: Path) -> bool:
    """Say whether the files are those that the manifest of this recipe names."""
    manifest = _manifest(folder)
    if manifest.get("recipe") != RECIPE:
        return False
    return all((folder / name).is_file() and manifest.get(name) == sha256(folder / name) for name in FILES)


def write_manifest(folder: Path) -> None:
    """Record what was built."""
    manifest = {"recipe": RECIPE} | {name: sha256(folder / name) for name in FILES}
    (folder / MANIFEST_FILE).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def sha256(path: Path) -> str:
    """Hash a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _manifest(folder: Path) -> dict[str, object]:
    try:
        manifest = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return manifest if isinstance(manifest, dict) else {}
