"""What everything above works with: the settings, and the implementations that `webapp.wiring` chose by them."""

from dataclasses import dataclass

from webapp.config import Settings
from webapp.jobs.queue import JobQueue
from webapp.jobs.sealed_passwords import PasswordSeal
from webapp.providers.ports import Providers


@dataclass
class Services:
    """The settings, the queue, the providers, and what seals passwords of files."""

    settings: Settings
    queue: JobQueue
    providers: Providers
    seal: PasswordSeal
