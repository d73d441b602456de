"""Settings -> providers: the only file that names concrete classes."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from webapp.accounts.seal import WEBHOOK_SECRETS, Seal
from webapp.accounts.secret_key import secret_key
from webapp.config import Settings, SettingsError
from webapp.config.queue import STAGE_NAMES
from webapp.jobs.retry import RetryPolicy
from webapp.jobs.sealed_passwords import PasswordSeal
from webapp.jobs.sql import SqlJobQueue
from webapp.providers.blob_copies import BlobCopies
from webapp.providers.checked_post import CheckedPoster
from webapp.providers.local.analysis import LocalAnalyst
from webapp.providers.local.blob import LocalBlobStore
from webapp.providers.local.embed import LocalEmbedder
from webapp.providers.local.extract import LocalExtractor
from webapp.providers.local.languages import LocalLanguages
from webapp.providers.local.ocr import LocalOcr, OcrOptions
from webapp.providers.local.opener import LocalOpener
from webapp.providers.local.pictures import LocalPictures
from webapp.providers.local.searchable import LocalSearchablePdfs
from webapp.providers.local.sound import AudioDecoder
from webapp.providers.local.speech import LocalRecogniser
from webapp.providers.local.unpacker import LocalUnpacker
from webapp.providers.models.embedding_files import E5, EMBEDDING_MODELS, MINILM, EmbeddingModel
from webapp.providers.ports import Answerer, BlobStore, Embedder, FieldFinder, Providers, RemoteExtractor
from webapp.providers.speech_files import cut_with
from webapp.providers.speech_ports import Analyst, Recogniser, SoundReader, SpeechProviders
from webapp.readers.archives.members import UnpackLimits
from webapp.services import Services

if TYPE_CHECKING:
    from webapp.jobs.dispatch.bullmq.queues import BullQueues


def wire(settings: Settings) -> Services:
    """Choose the implementations; nothing is loaded or connected before it is needed."""
    requires_locks = settings.parsers.requires_locks
    memory_mb, unpacking = settings.parsers.extract_memory_mb, _unpacking(settings)
    local = LocalExtractor(memory_mb=memory_mb, requires_locks=requires_locks, ocr=_ocr(settings), unpacking=unpacking)
    blobs = _blobs(settings)
    retry = RetryPolicy(settings.queue.backoff_base_seconds, settings.queue.backoff_max_seconds)
    return Services(
        settings=settings,
        queue=SqlJobQueue(retry, stage_limits=dict(settings.queue.stage_limits)),
        providers=Providers(
            blobs=blobs,
            # A local store gives the file itself.
            copies=None if settings.providers.blobs == "local" else BlobCopies(blobs.local_copy).use,
            extractor=local,
            embedder=_embedder(settings),
            earlier_embedder=_earlier_embedder(settings),
            remote_extractor=_remote_extractor(settings, local),
            field_finder=_field_finder(settings),
            answerer=_answerer(settings),
            speech=_speech(settings),
            artist=LocalPictures(requires_locks=requires_locks),
            searchable=LocalSearchablePdfs(requires_locks=requires_locks),
            opener=LocalOpener(requires_locks=requires_locks),
            unpacker=LocalUnpacker(unpacking, memory_mb=memory_mb, requires_locks=requires_locks),
            languages=LocalLanguages(settings.models.dir),
        ),
        seal=PasswordSeal(lambda: secret_key(settings)),
        poster=CheckedPoster(settings.webhooks.webhook_private_addresses),
        webhook_seal=Seal(lambda: secret_key(settings), WEBHOOK_SECRETS),
    )


def bull_queues(settings: Settings) -> "BullQueues":
    """BullMQ's queues on Redis; nothing is connected before it is needed."""
    try:
        from webapp.jobs.dispatch.bullmq.client import RedisClient  # noqa: PLC0415 - an extra
        from webapp.jobs.dispatch.bullmq.queues import BullQueues  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"QUEUE=bullmq needs the package {error.name}: run “pip install -r requirements-bullmq.txt”."
        ) from error
    prefix = settings.dispatch.redis_prefix
    return BullQueues(RedisClient(settings.dispatch.redis_url, f"{prefix}:docmill:probe"), prefix, STAGE_NAMES)


# The vendors' clients are imported where they are chosen: together they take a second and 90 MB,
# which an installation without clouds need not pay.


def _blobs(settings: Settings) -> BlobStore:
    folder, free_min_bytes = settings.data_dir / "blobs", settings.limits.disk_free_min_bytes
    if settings.providers.blobs == "local":
        return LocalBlobStore(folder, free_min_bytes=free_min_bytes)
    from webapp.providers.azure.blob import AzureBlobStore  # noqa: PLC0415 - see above

    return AzureBlobStore.connect(
        folder / "incoming",
        settings.azure.storage_container,
        connection_string=settings.azure.storage_connection_string,
        account_url=settings.azure.storage_account_url,
        timeout_seconds=settings.provider_timeout_seconds,
        free_min_bytes=free_min_bytes,
    )


def _remote_extractor(settings: Settings, local: LocalExtractor) -> RemoteExtractor | None:
    azure = settings.azure
    endpoint = azure.documentintelligence_endpoint
    if settings.providers.extraction == "local" or endpoint is None:
        return None
    from webapp.providers.azure.extract import AzureExtractor  # noqa: PLC0415 - see above

    return AzureExtractor.connect(
        endpoint,
        azure.documentintelligence_key,
        local.count_pages,
        timeout_seconds=settings.provider_timeout_seconds,
        models=dict(azure.documentintelligence_models),
        window_pages=azure.documentintelligence_window_pages,
        windows_at_once=azure.documentintelligence_windows_at_once,
    )


def _unpacking(settings: Settings) -> UnpackLimits:
    found = settings.containers
    return UnpackLimits(
        members=found.unpack_files_max,
        member_bytes=settings.limits.upload_bytes_max,
        total_bytes=found.unpack_bytes_max,
        ratio=found.unpack_ratio_max,
    )


def _ocr(settings: Settings) -> LocalOcr | None:
    if not settings.ocr.is_on:
        return None
    return LocalOcr(
        OcrOptions(
            settings.models.dir,
            settings.ocr.languages,
            threads=settings.ocr.ocr_threads,
            requires_locks=settings.parsers.requires_locks,
        )
    )


def _earlier_embedder(settings: Settings) -> Callable[[str], Embedder | None]:
    """Who makes vectors of a model that the settings name no more, for searching until all have new ones."""

    @cache
    def make(model: str) -> Embedder | None:
        name, at, dimensions = model.rpartition("@")
        if not at:
            return _local_embedder(settings, EMBEDDING_MODELS[model]) if model in EMBEDDING_MODELS else None
        if not settings.openai.api_key and settings.providers.embeddings != "openai":
            return None
        return _openai_embedder(settings, name, int(dimensions))

    return make


def _embedder(settings: Settings) -> Embedder:
    if settings.providers.embeddings == "local":
        return _local_embedder(settings, MINILM if settings.providers.embeddings_model == "english" else E5)
    return _openai_embedder(settings, settings.openai.embedding_model, settings.openai.embedding_dimensions)


def _local_embedder(settings: Settings, made_by: EmbeddingModel) -> Embedder:
    return LocalEmbedder(settings.models.dir, made_by=made_by, threads=settings.embedding.threads)


def _openai_embedder(settings: Settings, name: str, dimensions: int) -> Embedder:
    from webapp.providers.openai.client import connect  # noqa: PLC0415 - see above
    from webapp.providers.openai.embed import Model, OpenAIEmbedder  # noqa: PLC0415 - see above

    return OpenAIEmbedder(
        connect(*_openai(settings)),
        Model(name, dimensions),
        batch_size=settings.openai.embedding_batch,
        concurrency=settings.embedding.concurrency,
        timeout_seconds=settings.provider_timeout_seconds,
    )


def _speech(settings: Settings) -> SpeechProviders | None:
    if settings.providers.speech == "off":
        return None
    seconds_max = settings.limits.audio_hours_max * 3600.0
    reader = AudioDecoder(seconds_max=seconds_max, requires_locks=settings.parsers.requires_locks)
    return SpeechProviders(reader, _recogniser(settings, reader), _analyst(settings))


def _recogniser(settings: Settings, reader: SoundReader) -> Recogniser:
    if settings.providers.speech == "local":
        return LocalRecogniser(
            settings.models.dir,
            threads=settings.speech.threads,
            language=settings.speech.language,
            languages=settings.ocr.languages,
            requires_locks=settings.parsers.requires_locks,
        )
    if settings.providers.speech == "openai":
        from webapp.providers.openai.client import connect  # noqa: PLC0415 - see above
        from webapp.providers.openai.transcribe import OpenAIRecogniser  # noqa: PLC0415 - see above

        client, model = connect(*_openai(settings)), settings.openai.transcribe_model
        return OpenAIRecogniser(client, model, cut_with(reader), language=settings.speech.language)
    from webapp.providers.speechkit.client import Options, SpeechKit  # noqa: PLC0415 - see above

    speechkit = settings.speechkit
    return SpeechKit(
        speechkit.url,
        speechkit.operations_url,
        speechkit.api_key,
        Options(settings.speech.language, speechkit.model, poll_seconds=speechkit.poll_interval_ms / 1000),
        cut_with(reader),
        timeout_seconds=settings.provider_timeout_seconds,
    )


def _analyst(settings: Settings) -> Analyst:
    if settings.providers.analysis == "local":
        return LocalAnalyst()
    from webapp.providers.openai.chat import OpenAIAnalyst  # noqa: PLC0415 - see above
    from webapp.providers.openai.client import connect  # noqa: PLC0415 - see above

    return OpenAIAnalyst(connect(*_openai(settings)), settings.openai.chat_model)


def _field_finder(settings: Settings) -> FieldFinder | None:
    if settings.providers.fields == "local":
        return None
    from webapp.providers.openai.client import connect  # noqa: PLC0415 - see above
    from webapp.providers.openai.fields import OpenAIFieldFinder  # noqa: PLC0415 - see above

    return OpenAIFieldFinder(connect(*_openai(settings)), settings.openai.chat_model)


def _answerer(settings: Settings) -> Answerer | None:
    if settings.providers.answers == "off":
        return None
    from webapp.providers.openai.answers import OpenAIAnswerer  # noqa: PLC0415 - see above
    from webapp.providers.openai.client import connect  # noqa: PLC0415 - see above

    return OpenAIAnswerer(connect(*_openai(settings)), settings.openai.chat_model)


def _openai(settings: Settings) -> tuple[str, str, float]:
    return settings.openai.base_url, settings.openai.api_key, settings.provider_timeout_seconds
