"""How much is embedded at once."""

from dataclasses import dataclass

from webapp.config.group import Group
from webapp.config.reader import Reader


@dataclass(frozen=True)
class EmbeddingSettings(Group):
    """How much is embedded at once: cores that the local model uses, and calls of a service."""

    prefix = "embed_"

    threads: int
    concurrency: int


def read(env: Reader) -> EmbeddingSettings:
    """Read and check this group."""
    return EmbeddingSettings(
        threads=env.whole("EMBED_THREADS", 2),
        concurrency=env.whole("EMBED_CONCURRENCY", 4, most=64),
    )
