"""Settings -> providers: the only file that names concrete classes."""

from dataclasses import dataclass

from webapp.config import Settings
from webapp.jobs.queue import JobQueue
from webapp.jobs.retry import RetryPolicy
from webapp.jobs.sql import SqlJobQueue
from webapp.providers.local_blob import LocalBlobStore
from webapp.providers.local_embed import LocalEmbedder
from webapp.providers.local_extract import LocalExtractor
from webapp.providers.ports import Providers


@dataclass(frozen=True)
class Services:
    """What the rooms above work with."""

    settings: Settings
    queue: JobQueue
    providers: Providers


def wire(settings: Settings) -> Services:
    """Choose the implementations; nothing is loaded or connected before it is needed."""
    retry = RetryPolicy(settings.backoff_base_seconds, settings.backoff_max_seconds)
    return Services(
        settings=settings,
        queue=SqlJobQueue(retry),
        providers=Providers(
            blobs=LocalBlobStore(settings.data_dir / "blobs"),
            extractor=LocalExtractor(memory_mb=settings.extract_memory_mb),
            embedder=LocalEmbedder(settings.models_dir, threads=settings.embed_threads),
        ),
    )
