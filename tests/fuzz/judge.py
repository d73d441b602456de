"""What is wrong with a result: all that the product relies on and a type does not say."""

import math
from collections.abc import Iterator

from webapp.providers.speech_ports import Sound
from webapp.readers.cleaning import DOCUMENT_CHARACTERS_MAX, UNWANTED
from webapp.readers.extraction import Extraction, Field, Page, Table

PAGE_SIDE_MAX = 1e7
# A box may reach beyond its page's edge, as letters do that are cut off.
BEYOND = 2.0
LANGUAGE_CHARACTERS_MAX = 16


def faults_of(found: Extraction, secrets: tuple[str, ...] = ()) -> list[str]:
    """What is wrong with an extraction; `secrets` are texts of files that it must not have seen."""
    faults = [f"{where}: unwanted characters" for where, text in _texts(found) if UNWANTED.search(text)]
    faults += [f"{where}: a secret" for where, text in _texts(found) if any(secret in text for secret in secrets)]
    if not _can_be_stored(found):
        faults.append("it does not survive being stored")
    if len(found.markdown) > DOCUMENT_CHARACTERS_MAX:
        faults.append("more text than is kept")
    if not found.markdown.strip() and not found.pages:
        faults.append("neither text nor pages")
    if found.language is not None and not 0 < len(found.language) <= LANGUAGE_CHARACTERS_MAX:
        faults.append(f"language {found.language!r}")
    return faults + list(_in_pages(found))


def _can_be_stored(found: Extraction) -> bool:
    try:
        return Extraction.from_json(found.to_json()) == found
    except ValueError:
        return False


def _texts(found: Extraction) -> Iterator[tuple[str, str]]:
    yield "markdown", found.markdown
    yield "title", found.title or ""
    yield "warnings", " ".join(found.warnings)
    yield "fields", " ".join(f"{each.name} {each.value} {each.normalized} {each.kind}" for each in found.fields)
    for page in found.pages:
        yield f"page {page.number}", page.text
        yield f"words of page {page.number}", " ".join(word.text for word in page.words)
    for table in found.tables:
        yield "table", " ".join(cell for row in table.rows for cell in row) + (table.caption or "")
        yield "values", " ".join(str(value) for _, _, value in table.values)


def _in_pages(found: Extraction) -> Iterator[str]:
    count = found.page_count
    if found.pages and [page.number for page in found.pages] != list(range(1, len(found.pages) + 1)):
        yield "pages are not numbered from 1 on"
    if count is not None and (count < 1 or (found.pages and count != len(found.pages))):
        yield f"{count} pages, {len(found.pages)} given"
    most = count or len(found.pages) or 1
    for number in (*(field.page for field in found.fields), *(table.page for table in found.tables)):
        if number is not None and not 1 <= number <= most:
            yield f"something on page {number} of {most}"
    for page in found.pages:
        yield from _of_page(page)
    for field in found.fields:
        yield from _of_field(field, found.pages)
    for table in found.tables:
        yield from _of_table(table)


def _of_page(page: Page) -> Iterator[str]:
    for side in (page.width, page.height):
        if side is not None and not 0 <= side <= PAGE_SIDE_MAX:
            yield f"page {page.number} has a side of {side}"
    if page.turned not in {0, 90, 180, 270}:
        yield f"page {page.number} is turned by {page.turned}"
    if not _is_share(page.confidence):
        yield f"page {page.number} has a confidence of {page.confidence}"
    for word in page.words:
        if not _is_share(word.confidence) or not _is_box(word.polygon, page):
            yield f"a word of page {page.number} at {word.polygon}, {page.width} by {page.height}"
            return


def _of_field(field: Field, pages: tuple[Page, ...]) -> Iterator[str]:
    page = next((page for page in pages if page.number == field.page), None)
    if not field.name or not _is_share(field.confidence):
        yield f"a field {field.name!r} with a confidence of {field.confidence}"
    if field.polygon is not None and (page is None or not _is_box(field.polygon, page)):
        yield f"a field at {field.polygon} on {page and (page.width, page.height)}"


def _of_table(table: Table) -> Iterator[str]:
    widths = {len(row) for row in table.rows}
    if not table.rows or len(widths) != 1:
        yield f"a table with rows of {sorted(widths)[:5]} cells"
    if any(isinstance(value, float) and not math.isfinite(value) for _, _, value in table.values):
        yield "a value that is no number"


def _is_share(value: float | None) -> bool:
    return value is None or 0 <= value <= 1


def _is_box(polygon: tuple[float, ...] | None, page: Page) -> bool:
    if polygon is None:
        return True
    if len(polygon) != 8 or not all(map(math.isfinite, polygon)):
        return False
    if page.width is None or page.height is None:
        return False
    across, down = BEYOND + 0.01 * page.width, BEYOND + 0.01 * page.height
    return all(-across <= x <= page.width + across for x in polygon[0::2]) and all(
        -down <= y <= page.height + down for y in polygon[1::2]
    )


def faults_of_sound(found: Sound, written: bytes) -> list[str]:
    """What is wrong with the sound of a recording."""
    faults = []
    if not 0 < found.duration_seconds < 1e6 or found.channels not in {1, 2}:
        faults.append(f"{found.duration_seconds} s, {found.channels} channels")
    if not written.startswith(b"OggS"):
        faults.append("no sound was written")
    if UNWANTED.search((found.title or "") + " ".join(found.warnings)):
        faults.append("unwanted characters")
    return faults
