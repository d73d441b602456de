"""What everything above works with: the settings, and the implementations that `webapp.wiring` chose by them."""

from dataclasses import dataclass

from webapp.accounts.seal import Seal
from webapp.config import Settings
from webapp.jobs.queue import JobQueue
from webapp.jobs.sealed_passwords import PasswordSeal
from webapp.providers.checked_post import CheckedPoster
from webapp.providers.ports import Providers


@dataclass
class Services:
    """The settings, the queue, the providers, and what seals passwords of files and secrets of webhooks."""

    settings: Settings
    queue: JobQueue
    providers: Providers
    seal: PasswordSeal
    poster: CheckedPoster
    """Sends webhooks."""
    webhook_seal: Seal
    """Seals the secrets of webhooks."""
