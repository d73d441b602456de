"""EPUB books for tests: small ones with everything in them, long ones, broken ones, and hostile ones."""

import io
import zipfile
from collections.abc import Mapping, Sequence

CONTAINER = (
    '<?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
    '<rootfiles><rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles>'
    "</container>"
)
_WORDS = str.split(
    "harbour lantern keeper storm ledger candle island gull anchor cargo captain rope tide pilot chart beacon fog "
    "signal stone tower window letter journey winter summer market bridge river valley meadow orchard garden kettle"
)


def xhtml(body: str, head: str = "") -> str:
    """A file of a book."""
    return (
        '<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml" '
        f'xmlns:epub="http://www.idpf.org/2007/ops"><head><title>x</title>{head}</head><body>{body}</body></html>'
    )


def epub(
    chapters: Sequence[str],
    *,
    titles: Sequence[str] = (),
    metadata: str = "<dc:title>The Keeper</dc:title><dc:creator>A. Writer</dc:creator><dc:language>en-GB</dc:language>",
    without: Sequence[str] = (),
    extra: Mapping[str, bytes] | None = None,
    hrefs: Sequence[str] = (),
) -> bytes:
    """A book of these bodies; `titles` are in its contents, files in `without` are left out."""
    names = list(hrefs) or [f"chapter-{number}.xhtml" for number in range(1, len(chapters) + 1)]
    items = "".join(
        f'<item id="c{number}" href="{name}" media-type="application/xhtml+xml"/>' for number, name in enumerate(names)
    )
    spine = "".join(f'<itemref idref="c{number}"/>' for number in range(len(names)))
    points = "".join(
        f"<navPoint><navLabel><text>{title}</text></navLabel><content src='{name}#top'/></navPoint>"
        for title, name in zip(titles, names, strict=False)
    )
    package = (
        '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
        f'<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">{metadata}</metadata><manifest>{items}'
        '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/></manifest>'
        f'<spine toc="ncx">{spine}</spine></package>'
    )
    ncx = f'<?xml version="1.0"?><ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap>{points}</navMap></ncx>'
    files = {
        "META-INF/container.xml": CONTAINER.encode(),
        "OEBPS/book.opf": package.encode(),
        "OEBPS/toc.ncx": ncx.encode(),
        **{f"OEBPS/{name}": xhtml(body).encode() for name, body in zip(names, chapters, strict=True)},
        **(extra or {}),
    }
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        for name, content in files.items():
            if name not in without:
                archive.writestr(name, content)
    return data.getvalue()


def long_book(pages: int, chapters: int = 40, seed: int = 0) -> bytes:
    """A book of so many pages of 300 words, in which no paragraph is like another."""
    per_chapter = -(-pages // chapters)
    bodies = [
        f"<h1>Chapter {number}</h1>" + "".join(_page(seed, number * per_chapter + page) for page in range(per_chapter))
        for number in range(chapters)
    ]
    return epub(bodies, metadata=f"<dc:title>A long book, number {seed}</dc:title><dc:language>en</dc:language>")


def _page(seed: int, page: int) -> str:
    """Three paragraphs of a hundred words, each with its own order of the words."""
    paragraphs = []
    for paragraph in range(3):
        number = (seed * 10_000 + page) * 3 + paragraph
        words = [_WORDS[(number * 7 + place * (3 + number % 11)) % len(_WORDS)] for place in range(96)]
        paragraphs.append(f"<p>On day {number} of it: {' '.join(words)}.</p>")
    return "".join(paragraphs)
