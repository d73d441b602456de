"""What the pipeline expects of the wired application.

The pipeline stands beside `webapp.wiring`, not above it, so it names the shape instead.
"""

from typing import Protocol

from webapp.config import Settings
from webapp.jobs.queue import JobQueue
from webapp.providers.ports import Providers


class Services(Protocol):
    """Settings, queue and providers, as `webapp.wiring` puts them together."""

    @property
    def settings(self) -> Settings:
        """Every setting."""

    @property
    def queue(self) -> JobQueue:
        """The queue."""

    @property
    def providers(self) -> Providers:
        """Blobs, extraction, embeddings."""
