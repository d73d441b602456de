"""Named values in an AnalyzeResult: key-value pairs of any document, typed fields of the models that know some."""

from collections.abc import Iterator, Mapping
from typing import Any

from webapp.providers.azure.json_values import first_region, items, number, numbers, region_page, text_of
from webapp.readers.extraction import Field

DEPTH_MAX = 5
# What a value is called, by its type; they are tried in this order.
SIMPLE = (
    "valueString", "valueDate", "valueTime", "valuePhoneNumber", "valueNumber", "valueInteger", "valueBoolean",
    "valueSelectionMark", "valueCountryRegion", "valueSignature",
)  # fmt: skip


def pair_fields(result: Mapping[str, Any]) -> Iterator[Field]:
    """The "label: value" pairs of the document; a label without a value is left out."""
    for pair in items(result, "keyValuePairs"):
        name = text_of(pair.get("key"), "content").strip().rstrip(":").strip()
        value = text_of(pair.get("value"), "content").strip()
        if name and value:
            region = first_region(pair.get("value")) or first_region(pair.get("key"))
            yield _field(name, value, number(pair, "confidence"), region)


def document_fields(result: Mapping[str, Any]) -> Iterator[Field]:
    """The typed fields, lists and groups among them written out: "Items 1 Quantity"."""
    for document in items(result, "documents"):
        fields = document.get("fields")
        if isinstance(fields, Mapping):
            yield from _named(fields, "", 0)


def _named(fields: Mapping[str, Any], before: str, depth: int) -> Iterator[Field]:
    for name, value in fields.items():
        if isinstance(value, Mapping) and depth < DEPTH_MAX:
            yield from _values(f"{before}{name}", value, depth)


def _values(name: str, value: Mapping[str, Any], depth: int) -> Iterator[Field]:
    if isinstance(group := value.get("valueObject"), Mapping):
        yield from _named(group, f"{name} ", depth + 1)
    elif isinstance(value.get("valueArray"), list):
        for place, entry in enumerate(items(value, "valueArray"), start=1):
            if depth < DEPTH_MAX:
                yield from _values(f"{name} {place}", entry, depth + 1)
    elif shown := text_of(value, "content").strip() or _typed(value):
        yield _field(name, shown, number(value, "confidence"), first_region(value))


def _typed(value: Mapping[str, Any]) -> str:
    if isinstance(money := value.get("valueCurrency"), Mapping):
        return f"{money.get('amount', '')} {money.get('currencyCode', '')}".strip()
    if isinstance(address := value.get("valueAddress"), Mapping):
        return ", ".join(str(part) for part in address.values() if isinstance(part, str))
    return next((str(value[kind]) for kind in SIMPLE if value.get(kind) is not None), "")


def _field(name: str, value: str, confidence: float | None, region: Mapping[str, Any]) -> Field:
    return Field(name, value, confidence, region_page(region), numbers(region, "polygon"))
