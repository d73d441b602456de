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
        """As the settings say."""
        prices = settings.prices
        return cls(
            {
                "extract": prices.extract_page,
                "embed": prices.embed_passage,
                "transcribe": prices.transcribe_second,
                "search": prices.embed_passage,
                "analyze": prices.analyze_segment,
                "fields": prices.fields_page,
                "answer": prices.answer,
            }
        )

    def of_units(self, provider: str, operation: str, units: int) -> float:
        """The price of these units."""
        return 0.0 if provider == FREE else units * self.by_operation.get(operation, 0.0)
