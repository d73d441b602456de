"""What services charge, by the settings: an estimate that is stored with each ledger line."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from webapp.config import Settings

# The provider name for what this machine does itself.
FREE = "local"


@dataclass(frozen=True)
class Prices:
    """The price of one unit of each operation: a page, a passage, a second of sound, a part of a transcript."""

    by_operation: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Settings) -> "Prices":
        """Make them from the settings."""
        return cls(
            {
                "extract": settings.price_extract_page,
                "embed": settings.price_embed_passage,
                "transcribe": settings.price_transcribe_second,
                "search": settings.price_embed_passage,
                "analyze": settings.price_analyze_segment,
            }
        )

    def of_units(self, provider: str, operation: str, units: int) -> float:
        """The price of these units."""
        return 0.0 if provider == FREE else units * self.by_operation.get(operation, 0.0)
