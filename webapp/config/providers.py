"""Who does what: this machine, or the service whose credentials are there."""

import os
from dataclasses import dataclass

from webapp.config.group import Group
from webapp.config.reader import Reader, SettingsError


@dataclass(frozen=True)
class ProviderSettings(Group):
    """Who does what: this machine, or the service whose credentials are there."""

    blobs: str
    blobs_shared: bool
    dyno: str | None
    """The name that a host gives a process whose disk does not outlive its restart."""
    extraction: str
    embeddings: str
    embeddings_model: str
    """Which of this machine's models makes vectors."""
    speech: str
    analysis: str
    fields: str
    answers: str


def read(env: Reader) -> ProviderSettings:
    """Read and check this group."""
    return ProviderSettings(
        blobs=_lasting(env, _blobs(env)),
        blobs_shared=_shared(env),
        dyno=env.optional("DYNO"),
        extraction=_extraction(env),
        embeddings=_by_openai(env, "EMBEDDINGS"),
        embeddings_model=env.choice("EMBEDDINGS_MODEL", "multilingual", ("multilingual", "english")),
        speech=_speech(env),
        analysis=_by_openai(env, "ANALYSIS"),
        fields=_by_chat_model(env, "FIELDS", "local"),
        answers=_by_chat_model(env, "ANSWERS", "off"),
    )


def speech_from_environment() -> str:
    """Read alone who transcribes, for set-up."""
    return _speech(Reader(os.environ))


def _blobs(env: Reader) -> str:
    """Azure where there is a way in; a connection string wins over an account's address."""
    given = env.text("AZURE_STORAGE_CONNECTION_STRING") or env.text("AZURE_STORAGE_ACCOUNT_URL")
    chosen = env.choice("BLOBS", "azure" if given else "local", ("local", "azure"))
    if chosen == "azure" and not given:
        raise SettingsError(
            "BLOBS=azure needs AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT_URL for a managed identity."
        )
    return chosen


def _shared(env: Reader) -> bool:
    return env.choice("BLOBS_SHARED", "0", ("0", "1")) == "1"


def _lasting(env: Reader, chosen: str) -> str:
    """Refuse a folder that the next restart of the host would empty."""
    if chosen == "local" and env.text("DYNO") and not _shared(env):
        raise SettingsError(
            "The disk of this host is emptied at each restart (DYNO is set), and uploaded files would be lost. "
            "Set AZURE_STORAGE_CONNECTION_STRING, or BLOBS_SHARED=1 where DATA_DIR is a shared folder that lasts."
        )
    return chosen


def _extraction(env: Reader) -> str:
    """Document Intelligence where both halves of the way in are there, or by force with a managed identity."""
    endpoint, key = "AZURE_DOCUMENTINTELLIGENCE_ENDPOINT", "AZURE_DOCUMENTINTELLIGENCE_KEY"
    has_endpoint, has_key = bool(env.text(endpoint)), bool(env.text(key))
    chosen = env.choice("EXTRACTION", "azure" if has_endpoint and has_key else "local", ("local", "azure"))
    if chosen == "azure" and not has_endpoint:
        raise SettingsError(f"EXTRACTION=azure needs {endpoint}=https://… and {key}.")
    if not env.text("EXTRACTION") and has_endpoint != has_key:
        missing = key if has_endpoint else endpoint
        raise SettingsError(
            f"{missing} is missing. Set it, or choose: EXTRACTION=azure for a managed identity, EXTRACTION=local."
        )
    return chosen


def _speech(env: Reader) -> str:
    """SpeechKit where its key is there, else OpenAI where its key is, else this machine; nobody where it is off."""
    has_speechkit, has_openai = bool(env.text("SPEECHKIT_API_KEY")), bool(env.text("OPENAI_API_KEY"))
    usual = "speechkit" if has_speechkit else "openai" if has_openai else "local"
    chosen = env.choice("SPEECH", usual, ("local", "speechkit", "openai", "off"))
    if chosen == "speechkit" and not has_speechkit:
        raise SettingsError("SPEECH=speechkit needs SPEECHKIT_API_KEY.")
    return _reachable(env, "SPEECH", chosen)


def _by_openai(env: Reader, name: str) -> str:
    """OpenAI where there is a key; a server without keys is chosen by name and address."""
    chosen = env.choice(name, "openai" if env.text("OPENAI_API_KEY") else "local", ("local", "openai"))
    return _reachable(env, name, chosen)


def _by_chat_model(env: Reader, name: str, otherwise: str) -> str:
    """A chat model where one is named: a key alone must not make documents and searches cost more than before."""
    chosen = env.choice(name, "openai" if env.text("OPENAI_CHAT_MODEL") else otherwise, (otherwise, "openai"))
    return _reachable(env, name, chosen)


def _reachable(env: Reader, name: str, chosen: str) -> str:
    if chosen == "openai" and not (env.text("OPENAI_API_KEY") or env.text("OPENAI_BASE_URL")):
        raise SettingsError(f"{name}=openai needs OPENAI_API_KEY, or OPENAI_BASE_URL of a server without keys.")
    return chosen
