"""The settings of providers: which implementation of each is chosen, and what it needs."""

import re
from typing import Any

from webapp.config.reader import Reader, SettingsError

_SPEECHKIT = "https://stt.api.cloud.yandex.net"
_SPEECHKIT_OPERATIONS = "https://operation.api.cloud.yandex.net"
_LANGUAGE = re.compile(r"auto|[a-z]{2}(-[A-Z]{2})?")
_OPENAI = "https://api.openai.com/v1"
# The native lengths of the models that everybody knows; others have to be told.
_DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
# Settings are read before providers are imported, so the types stand here as well; a test compares them.
_OFFICE = "application/vnd.openxmlformats-officedocument."
AZURE_READS = frozenset(
    {
        "application/pdf",
        *(f"image/{kind}" for kind in ("jpeg", "png", "bmp", "tiff", "heic")),
        *(
            _OFFICE + kind
            for kind in ("wordprocessingml.document", "spreadsheetml.sheet", "presentationml.presentation")
        ),
    }
)
_CONTAINER = re.compile(r"[a-z0-9](?:[a-z0-9]|-(?=[a-z0-9])){2,62}")


def cloud(env: Reader) -> dict[str, Any]:
    """What only those need who let others do the work."""
    return {
        "azure_storage_connection_string": _connection_string(env),
        "azure_storage_account_url": env.address("AZURE_STORAGE_ACCOUNT_URL"),
        "azure_storage_container": _container(env),
        "azure_documentintelligence_endpoint": env.address("AZURE_DOCUMENTINTELLIGENCE_ENDPOINT"),
        "azure_documentintelligence_key": env.text("AZURE_DOCUMENTINTELLIGENCE_KEY"),
        "azure_documentintelligence_models": _models(env),
        "azure_documentintelligence_window_pages": env.whole("AZURE_DOCUMENTINTELLIGENCE_WINDOW_PAGES", 50, most=2000),
        "azure_documentintelligence_windows_at_once": env.whole(
            "AZURE_DOCUMENTINTELLIGENCE_WINDOWS_AT_ONCE", 4, most=100
        ),
        "openai_api_key": env.text("OPENAI_API_KEY"),
        "openai_base_url": env.address("OPENAI_BASE_URL") or _OPENAI,
        "openai_embedding_model": env.text("OPENAI_EMBEDDING_MODEL", "text-embedding-3-small"),
        "openai_embedding_dimensions": _dimensions(env),
        "openai_embedding_batch": env.whole("OPENAI_EMBEDDING_BATCH", 16, most=2048),
        "embed_concurrency": env.whole("EMBED_CONCURRENCY", 4, most=64),
        "price_extract_page": env.price("PRICE_EXTRACT_PAGE", 0.01),
        "price_embed_passage": env.price("PRICE_EMBED_PASSAGE", 0.000004),
        "price_transcribe_second": env.price("PRICE_TRANSCRIBE_SECOND", 0.0001),
        "price_analyze_segment": env.price("PRICE_ANALYZE_SEGMENT", 0.0001),
        "price_currency": env.text("PRICE_CURRENCY", "USD"),
        "provider_timeout_seconds": env.seconds("PROVIDER_TIMEOUT_SECONDS", 60),
    }


def _models(env: Reader) -> tuple[tuple[str, str], ...]:
    """Other models by content type. A type that nobody sends would change nothing, and nobody would notice."""
    name = "AZURE_DOCUMENTINTELLIGENCE_MODELS"
    found = env.pairs(name, example="image/jpeg=prebuilt-receipt")
    for content_type, _ in found:
        if content_type not in AZURE_READS:
            known = ", ".join(sorted(AZURE_READS))
            raise SettingsError(f"{name}: {content_type!r} is no content type that it reads. These are: {known}.")
    return found


def recordings(env: Reader) -> dict[str, Any]:
    """What only those need who drop in recordings."""
    has_openai = bool(env.text("OPENAI_API_KEY"))
    speechkit_url = env.address("SPEECHKIT_URL")
    return {
        "speech": _speech(env, has_openai=has_openai),
        "analysis": _analysis(env, has_openai=has_openai),
        "speech_language": _language(env),
        "speech_threads": env.whole("SPEECH_THREADS", 2, most=64),
        "speechkit_api_key": env.text("SPEECHKIT_API_KEY"),
        "speechkit_url": speechkit_url or _SPEECHKIT,
        "speechkit_operations_url": env.address("SPEECHKIT_OPERATIONS_URL") or speechkit_url or _SPEECHKIT_OPERATIONS,
        "speechkit_model": env.text("SPEECHKIT_MODEL", "general"),
        "speechkit_poll_interval_ms": env.whole("SPEECHKIT_POLL_INTERVAL_MS", 10_000),
        "openai_transcribe_model": env.text("OPENAI_TRANSCRIBE_MODEL", "whisper-1"),
        "openai_chat_model": env.text("OPENAI_CHAT_MODEL", "gpt-4.1-mini"),
        "audio_hours_max": env.whole("AUDIO_HOURS_MAX", 4, most=24),
    }


def blobs(env: Reader) -> str:
    """Azure where there is a way in; a connection string wins over an account's address."""
    given = env.text("AZURE_STORAGE_CONNECTION_STRING") or env.text("AZURE_STORAGE_ACCOUNT_URL")
    chosen = env.choice("BLOBS", "azure" if given else "local", ("local", "azure"))
    if chosen == "azure" and not given:
        raise SettingsError(
            "BLOBS=azure needs AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT_URL for a managed identity."
        )
    return chosen


def _connection_string(env: Reader) -> str:
    """Checked without being shown: it holds the key."""
    name = "AZURE_STORAGE_CONNECTION_STRING"
    value = env.text(name)
    parts = {part.partition("=")[0].strip().lower() for part in value.split(";")}
    if value and not ({"accountname", "blobendpoint"} & parts and {"accountkey", "sharedaccesssignature"} & parts):
        raise SettingsError(f"{name} is not complete. Example: {name}=AccountName=…;AccountKey=….")
    return value


def extraction(env: Reader) -> str:
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


def embeddings(env: Reader) -> str:
    """OpenAI where there is a key; a server without keys is chosen by name and address."""
    has_key, has_address = bool(env.text("OPENAI_API_KEY")), bool(env.text("OPENAI_BASE_URL"))
    chosen = env.choice("EMBEDDINGS", "openai" if has_key else "local", ("local", "openai"))
    if chosen == "openai" and not (has_key or has_address):
        raise SettingsError("EMBEDDINGS=openai needs OPENAI_API_KEY, or OPENAI_BASE_URL of a server without keys.")
    return chosen


def _speech(env: Reader, *, has_openai: bool) -> str:
    """SpeechKit where its key is there, else OpenAI where its key is, else this machine."""
    has_speechkit = bool(env.text("SPEECHKIT_API_KEY"))
    usual = "speechkit" if has_speechkit else "openai" if has_openai else "local"
    chosen = env.choice("SPEECH", usual, ("local", "speechkit", "openai"))
    if chosen == "speechkit" and not has_speechkit:
        raise SettingsError("SPEECH=speechkit needs SPEECHKIT_API_KEY.")
    if chosen == "openai" and not (has_openai or env.text("OPENAI_BASE_URL")):
        raise SettingsError("SPEECH=openai needs OPENAI_API_KEY, or OPENAI_BASE_URL of a server without keys.")
    return chosen


def _analysis(env: Reader, *, has_openai: bool) -> str:
    """OpenAI where there is a key; a server without keys is chosen by name and address."""
    chosen = env.choice("ANALYSIS", "openai" if has_openai else "local", ("local", "openai"))
    if chosen == "openai" and not (has_openai or env.text("OPENAI_BASE_URL")):
        raise SettingsError("ANALYSIS=openai needs OPENAI_API_KEY, or OPENAI_BASE_URL of a server without keys.")
    return chosen


def _language(env: Reader) -> str:
    value = env.text("SPEECH_LANGUAGE", "auto")
    if not _LANGUAGE.fullmatch(value):
        raise SettingsError(f"SPEECH_LANGUAGE={value!r} is no language. Examples: auto, en, ru-RU.")
    return value


def _container(env: Reader) -> str:
    name = "AZURE_STORAGE_CONTAINER"
    value = env.text(name, "docmill")
    if not _CONTAINER.fullmatch(value):
        raise SettingsError(f"{name}={value!r} is no container name: 3 to 63 small letters, digits and single dashes.")
    return value


def _dimensions(env: Reader) -> int:
    model = env.text("OPENAI_EMBEDDING_MODEL", "text-embedding-3-small")
    given = env.whole("OPENAI_EMBEDDING_DIMENSIONS", 0, least=0, most=16_000)
    if embeddings(env) == "openai" and not given and model not in _DIMENSIONS:
        raise SettingsError(
            f"OPENAI_EMBEDDING_DIMENSIONS is needed: OPENAI_EMBEDDING_MODEL={model} gives vectors of an unknown length."
        )
    return given or _DIMENSIONS.get(model, 0)
