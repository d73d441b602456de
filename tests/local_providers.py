"""Models, and files given to the local extractor, for tests of readers and providers."""

import hashlib
import os
from pathlib import Path

from webapp.provider_errors import ProviderError
from webapp.providers.local.extract import LocalExtractor
from webapp.providers.local.languages import LocalLanguages
from webapp.providers.models import embeddings, languages, whisper
from webapp.readers.extraction import Extraction

ROOT = Path(__file__).resolve().parents[1]
PDF = "application/pdf"


def models_folder() -> Path:
    """Build the embedding models once for all runs of the tests; later runs find them."""
    folder = Path(os.environ.get("MODELS_DIR") or ROOT / ".cache" / "models")
    embeddings.ensure(folder)
    return folder


def extract(
    extractor: LocalExtractor, folder: Path, data: bytes, content_type: str = PDF, timeout_seconds: float = 30
) -> Extraction:
    """Put bytes into a file and read it."""
    source = folder / "source"
    source.write_bytes(data)
    return extractor.extract(source, content_type, timeout_seconds=timeout_seconds, progress=lambda _: None)


def failure(extractor: LocalExtractor, folder: Path, data: bytes, content_type: str = PDF) -> ProviderError:
    """Read bytes that can't be read and give the error."""
    try:
        extract(extractor, folder, data, content_type)
    except ProviderError as error:
        return error
    raise AssertionError("a failure was expected")


def speech_models_folder() -> Path:
    """Get the speech model once for all runs of the tests; later runs find it."""
    folder = Path(os.environ.get("MODELS_DIR") or ROOT / ".cache" / "models")
    whisper.ensure(whisper.BASE, folder)
    return folder


def language_teller() -> LocalLanguages:
    """Unpack the model for languages once for all runs of the tests; later runs find it."""
    folder = Path(os.environ.get("MODELS_DIR") or ROOT / ".cache" / "models")
    languages.ensure(folder)
    return LocalLanguages(folder)


def sha256(path: Path) -> str:
    """The file's hash."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
