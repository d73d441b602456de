"""What everything above works with: the settings, and the implementations that `webapp.wiring` chose by them."""

from dataclasses import dataclass

from webapp.config import Settings
from webapp.jobs.queue import JobQueue
from webapp.providers.ports import Providers


@dataclass
class Services:
    """The settings, the queue and the providers."""

    settings: Settings
    queue: JobQueue
    providers: Providers
