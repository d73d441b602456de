"""How speech is recognised, by whomever."""

import re
from dataclasses import dataclass

from webapp.config.group import Group
from webapp.config.reader import Reader, SettingsError

_LANGUAGE = re.compile(r"auto|[a-z]{2}(-[A-Z]{2})?")


@dataclass(frozen=True)
class SpeechSettings(Group):
    """The language that is spoken, and the cores that the local recogniser uses."""

    prefix = "speech_"

    language: str
    threads: int


def read(env: Reader) -> SpeechSettings:
    """Read and check this group."""
    return SpeechSettings(language=_language(env), threads=env.whole("SPEECH_THREADS", 2, most=64))


def _language(env: Reader) -> str:
    value = env.text("SPEECH_LANGUAGE", "auto")
    if not _LANGUAGE.fullmatch(value):
        raise SettingsError(f"SPEECH_LANGUAGE={value!r} is no language. Examples: auto, en, ru-RU.")
    return value
