"""What services charge, for the estimates that are kept of calls."""

from dataclasses import dataclass

from webapp.config.group import Group
from webapp.config.reader import Reader


@dataclass(frozen=True)
class PriceSettings(Group):
    """What services charge, for the estimates that are kept of calls."""

    prefix = "price_"

    extract_page: float
    embed_passage: float
    transcribe_second: float
    analyze_segment: float
    fields_page: float
    answer: float
    currency: str


def read(env: Reader) -> PriceSettings:
    """Read and check this group."""
    return PriceSettings(
        extract_page=env.price("PRICE_EXTRACT_PAGE", 0.01),
        embed_passage=env.price("PRICE_EMBED_PASSAGE", 0.000004),
        transcribe_second=env.price("PRICE_TRANSCRIBE_SECOND", 0.0001),
        analyze_segment=env.price("PRICE_ANALYZE_SEGMENT", 0.0001),
        fields_page=env.price("PRICE_FIELDS_PAGE", 0.0005),
        answer=env.price("PRICE_ANSWER", 0.002),
        currency=env.text("PRICE_CURRENCY", "USD"),
    )
