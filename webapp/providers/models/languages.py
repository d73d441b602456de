"""py3langid's model for the languages that are told apart, unpacked once at set-up.

The package holds it compressed, for all its languages: to unpack it takes 0.5 s and 130 MB in each process. Unpacked,
it is mapped into memory in a few milliseconds. Where it is missing, the package's own is loaded.
"""

from pathlib import Path
from typing import Any

import numpy as np
import py3langid
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from webapp.providers.models.wheel import replace, working_folder

# Languages that nobody asked for cost accuracy: of sentences of 20 to 40 characters, 85 in 100 are named rightly
# among all 142 that the model knows, and 89 among these.
LANGUAGES = (
    "ar", "be", "bg", "ca", "cs", "da", "de", "el", "en", "es", "et", "fa", "fi", "fr", "he", "hi", "hr", "hu", "hy",
    "id", "is", "it", "ja", "ka", "ko", "lt", "lv", "mk", "nl", "nn", "no", "pl", "pt", "ro", "ru", "sk", "sl", "sr",
    "sv", "th", "tr", "uk", "vi", "zh",
)  # fmt: skip
MODEL = f"languages-{py3langid.__version__}-{len(LANGUAGES)}"
_ARRAYS = ("shares", "share", "next_states", "rows", "outputs")
_NAMES = "names.txt"


def ensure(models: Path) -> bool:
    """Unpack the model below `models`; False if it was there already."""
    if is_there(models):
        return False
    with working_folder(models, "languages") as work:
        if is_there(models):
            return False
        new = work / MODEL
        new.mkdir()
        whole = _of_package()
        arrays = (whole.nb_ptc, whole.nb_pc, whole.tk_nextmove, whole.tk_row, whole.tk_output)
        for name, values in zip(_ARRAYS, arrays, strict=True):
            np.save(new / f"{name}.npy", np.asarray(values))
        (new / _NAMES).write_text(" ".join(whole.nb_classes), encoding="ascii")
        replace(models / MODEL, new, work)
    return True


def is_there(models: Path) -> bool:
    """Whether it is unpacked."""
    return all((models / MODEL / name).is_file() for name in (*(f"{each}.npy" for each in _ARRAYS), _NAMES))


def load(models: Path) -> LanguageIdentifier:
    """The identifier, whose sureness is from 0 to 1."""
    if not is_there(models):
        whole = _of_package()
        parts = (whole.nb_ptc, whole.nb_pc, whole.nb_classes, whole.tk_nextmove, whole.tk_output)
        # A second one, because the first holds on to the languages that are left out: 20 MB.
        return LanguageIdentifier(*parts, norm_probs=True, tk_row=whole.tk_row)
    shares, share, next_states, rows, outputs = (_mapped(models / MODEL / f"{name}.npy") for name in _ARRAYS)
    names = (models / MODEL / _NAMES).read_text(encoding="ascii").split()
    # As views, because they are walked letter by letter: an element of an array takes five times as long to get.
    views = (memoryview(next_states), memoryview(outputs))
    return LanguageIdentifier(shares, share, names, *views, norm_probs=True, tk_row=memoryview(rows))


def _of_package() -> LanguageIdentifier:
    whole = LanguageIdentifier.from_model_file(MODEL_FILE)
    whole.set_languages(LANGUAGES)
    return whole


def _mapped(path: Path) -> Any:
    return np.load(path, mmap_mode="r", allow_pickle=False)
