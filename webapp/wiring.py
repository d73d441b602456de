"""Settings -> providers: the only file that names concrete classes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from webapp.config import Settings
from webapp.jobs.queue import JobQueue
from webapp.jobs.retry import RetryPolicy
from webapp.jobs.sql import SqlJobQueue
from webapp.providers.audio_decode import AudioDecoder
from webapp.providers.local_analysis import LocalAnalyst
from webapp.providers.local_blob import LocalBlobStore
from webapp.providers.local_embed import LocalEmbedder
from webapp.providers.local_extract import LocalExtractor
from webapp.providers.local_pictures import LocalPictures
from webapp.providers.local_speech import LocalRecogniser
from webapp.providers.ports import BlobStore, Embedder, Providers, SlowExtractor
from webapp.providers.speech_files import cut_with
from webapp.providers.speech_ports import Analyst, Recogniser, SoundReader, SpeechProviders


@dataclass(frozen=True)
class Services:
    """What the rooms above work with."""

    settings: Settings
    queue: JobQueue
    providers: Providers


def wire(settings: Settings) -> Services:
    """Choose the implementations; nothing is loaded or connected before it is needed."""
    local = LocalExtractor(memory_mb=settings.extract_memory_mb)
    retry = RetryPolicy(settings.backoff_base_seconds, settings.backoff_max_seconds)
    return Services(
        settings=settings,
        queue=SqlJobQueue(retry, stage_limits=dict(settings.stage_limits)),
        providers=Providers(
            blobs=_blobs(settings),
            extractor=local,
            embedder=_embedder(settings),
            earlier_embedder=_earlier_embedder(settings),
            slow_extractor=_slow_extractor(settings, local),
            speech=_speech(settings),
            artist=LocalPictures(),
        ),
    )


# The vendors' clients are imported where they are chosen: together they take a second and 90 MB,
# which whoever needs no cloud does not pay.


def _blobs(settings: Settings) -> BlobStore:
    folder = settings.data_dir / "blobs"
    if settings.blobs == "local":
        return LocalBlobStore(folder)
    from webapp.providers.azure_blob import AzureBlobStore  # noqa: PLC0415 - see above

    return AzureBlobStore.connect(
        folder / "incoming",
        settings.azure_storage_container,
        connection_string=settings.azure_storage_connection_string,
        account_url=settings.azure_storage_account_url,
        timeout_seconds=settings.provider_timeout_seconds,
    )


def _slow_extractor(settings: Settings, local: LocalExtractor) -> SlowExtractor | None:
    endpoint = settings.azure_documentintelligence_endpoint
    if settings.extraction == "local" or endpoint is None:
        return None
    from webapp.providers.azure_extract import AzureExtractor  # noqa: PLC0415 - see above

    return AzureExtractor.connect(
        endpoint,
        settings.azure_documentintelligence_key,
        local.count_pages,
        timeout_seconds=settings.provider_timeout_seconds,
        models=dict(settings.azure_documentintelligence_models),
        window_pages=settings.azure_documentintelligence_window_pages,
        windows_at_once=settings.azure_documentintelligence_windows_at_once,
    )


def _earlier_embedder(settings: Settings) -> Callable[[str], Embedder | None]:
    """Who makes vectors of a model that the settings name no more, for searching until all have new ones."""

    @cache
    def make(model: str) -> Embedder | None:
        name, at, dimensions = model.rpartition("@")
        if not at:
            return (
                LocalEmbedder(settings.models_dir, threads=settings.embed_threads)
                if model == LocalEmbedder.model
                else None
            )
        if not settings.openai_api_key and settings.embeddings != "openai":
            return None
        return _openai_embedder(settings, name, int(dimensions))

    return make


def _embedder(settings: Settings) -> Embedder:
    if settings.embeddings == "local":
        return LocalEmbedder(settings.models_dir, threads=settings.embed_threads)
    return _openai_embedder(settings, settings.openai_embedding_model, settings.openai_embedding_dimensions)


def _openai_embedder(settings: Settings, name: str, dimensions: int) -> Embedder:
    from webapp.providers.openai_embed import Model, OpenAIEmbedder  # noqa: PLC0415 - see above

    return OpenAIEmbedder.connect(
        settings.openai_base_url,
        settings.openai_api_key,
        Model(name, dimensions),
        batch_size=settings.openai_embedding_batch,
        concurrency=settings.embed_concurrency,
        timeout_seconds=settings.provider_timeout_seconds,
    )


def _speech(settings: Settings) -> SpeechProviders:
    reader = AudioDecoder(seconds_max=settings.audio_hours_max * 3600.0)
    return SpeechProviders(reader, _recogniser(settings, reader), _analyst(settings))


def _recogniser(settings: Settings, reader: SoundReader) -> Recogniser:
    if settings.speech == "local":
        threads, language = settings.speech_threads, settings.speech_language
        return LocalRecogniser(settings.models_dir, threads=threads, language=language)
    if settings.speech == "openai":
        from webapp.providers.openai_transcribe import OpenAIRecogniser  # noqa: PLC0415 - see above

        return OpenAIRecogniser.connect(
            settings.openai_base_url,
            settings.openai_api_key,
            settings.openai_transcribe_model,
            cut_with(reader),
            language=settings.speech_language,
            timeout_seconds=settings.provider_timeout_seconds,
        )
    from webapp.providers.speechkit import Options, SpeechKit  # noqa: PLC0415 - see above

    poll_seconds = settings.speechkit_poll_interval_ms / 1000
    return SpeechKit(
        settings.speechkit_url,
        settings.speechkit_operations_url,
        settings.speechkit_api_key,
        Options(settings.speech_language, settings.speechkit_model, poll_seconds),
        cut_with(reader),
        timeout_seconds=settings.provider_timeout_seconds,
    )


def _analyst(settings: Settings) -> Analyst:
    if settings.analysis == "local":
        return LocalAnalyst()
    from webapp.providers.openai_chat import OpenAIAnalyst  # noqa: PLC0415 - see above

    return OpenAIAnalyst.connect(
        settings.openai_base_url,
        settings.openai_api_key,
        settings.openai_chat_model,
        timeout_seconds=settings.provider_timeout_seconds,
    )
