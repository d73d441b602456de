"""Names the language of a text on this machine, by py3langid.

It runs where the jobs do and not in the readers' children: there, each child would load the model.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from py3langid.langid import LanguageIdentifier

from webapp.providers.models.languages import LANGUAGES, load

# Of sentences of 20 to 40 characters that are surer than this, 98 in 100 are named rightly; of longer ones, nearly all.
SURE_LEAST = 0.6
LETTERS_LEAST = 20
# Chinese and Japanese say as much in fewer signs.
SIGNS_LEAST = 6
SAMPLE_CHARACTERS, WORDS_CHARACTERS = 2_000, 600
# The newer of the two forms of Norwegian has a code of its own.
_NORWEGIAN = {"nn": "no"}
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_SIGN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")


class LocalLanguages:
    """A LanguageTeller. Its model is loaded with the first text."""

    known: Sequence[str] = LANGUAGES

    def __init__(self, models: Path) -> None:
        self._models = models
        self._loading = Lock()
        self._identifier: LanguageIdentifier | None = None

    def language_of(self, text: str) -> str | None:
        """The text's language by its two-letter code; None where there is too little of it, or it could be several."""
        # Numbers, signs and the marks of tables say nothing of a language.
        words = " ".join(_WORD.findall(text[:SAMPLE_CHARACTERS]))[:WORDS_CHARACTERS]
        if len(words) - words.count(" ") < LETTERS_LEAST and len(_SIGN.findall(words)) < SIGNS_LEAST:
            return None
        name, sureness = self._loaded().classify(words)
        return _NORWEGIAN.get(name, str(name)) if sureness >= SURE_LEAST else None

    def _loaded(self) -> LanguageIdentifier:
        with self._loading:
            if self._identifier is None:
                self._identifier = load(self._models)
            return self._identifier
