"""What all providers share that use OpenAI, or a server that speaks its protocol."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import openai

from webapp.provider_errors import ProviderUnavailable
from webapp.providers.openai.errors import openai_error
from webapp.providers.vendor_http import redactor


def connect(base_url: str, api_key: str, timeout_seconds: float) -> openai.OpenAI:
    """Make the client; it connects when it is first used. It has to send a key, also to a server that asks for none."""
    return openai.OpenAI(
        base_url=base_url,
        api_key=api_key or "none",
        # Said here, so that the client does not look into the environment for them.
        organization="",
        project="",
        # Only the queue retries.
        max_retries=0,
        timeout=timeout_seconds,
    )


class OpenAIRole:
    """A provider that asks through the client."""

    name = "openai"

    def __init__(self, client: openai.OpenAI) -> None:
        self._client = client
        self._redact = redactor(client.api_key)

    def close(self) -> None:
        """End the connections."""
        self._client.close()

    def check(self) -> None:
        """Ask for the list of models, which is free; a server that has none is at least there."""
        with self._translated("models"), suppress(openai.NotFoundError):
            self._client.models.list()

    @contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        try:
            yield
        except openai.OpenAIError as error:
            # Its own words stay out of tracebacks, too: they may quote the key.
            raise openai_error(error, what, self._redact) from None


def unusable(message: str) -> ProviderUnavailable:
    """An answer that is not what was asked for is billed like any other."""
    return ProviderUnavailable(message, is_outcome_unknown=True)
