"""The readers, and for each the good files that are changed; the tests' own makers write them."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from html import escape
from random import Random

from PIL import Image, ImageDraw

from tests import archives, books, locked, samples, sounds
from tests.fuzz import mutate
from tests.fuzz.mutate import Mutate
from tests.invoices.facts import LANGUAGES
from tests.invoices.labelled import labelled
from tests.invoices.layouts import letterhead, window_letter
from tests.postgres import ROOT
from tests.readers.data.test_tables import CASES, SALES
from tests.readers.mail.test_mail import QUOTED, mailbox, message
from tests.readers.office import files, test_docx, test_odt, test_rtf, test_sheets, test_slides
from tests.readers.office.files import EXCEL, SHEETS, SHOW, SLIDES, TEXT, WORD
from tests.readers.ole import container, old_files
from tests.readers.web.test_pages import PAGE
from tests.seven_zips import seven_zip
from tests.tnefs import tnef
from webapp.readers import filetypes

PHONE = ROOT / "tests" / "providers" / "local" / "phone.heic"
PDF_PASSWORD = "lantern"
_PACKED = ROOT / "tests" / "readers" / "archives" / "packed"
PRICES: list[list[str | float]] = [["Item", "Quantity", "Price"], ["Bolts", 40, 8.5], ["Nuts", 40, 6.2]]


@dataclass(frozen=True)
class Kind:
    """A sort of files, and what reads them."""

    content_type: str
    seeds: Callable[[], Sequence[bytes]]
    mutate: Mutate
    work: str = "documents"
    """Which of the product's parts reads them; tests/fuzz/rig.py has a method for each."""


def _pdf() -> list[bytes]:
    return [
        samples.report_pdf(), samples.table_pdf(), samples.invoice_pdf(), samples.columns_pdf(), samples.form_pdf(),
        samples.scan_pdf(3, with_text=(2,)), samples.many_lines_pdf(300), samples.nested_forms_pdf(2, 2),
        samples.lines_pdf([f"Line {number} of the ledger" for number in range(120)]),
    ]  # fmt: skip


def _picture_pdf() -> bytes:
    out = io.BytesIO()
    _picture().save(out, "PDF")
    return out.getvalue()


def _epub() -> list[bytes]:
    invoice = next(labelled((letterhead,), 1, 3)).html
    return [
        books.long_book(4, chapters=2),
        books.epub(
            [PAGE, "<h2>Two</h2><p>Words<sup>1</sup></p><img src='x.png' alt='a boat'/>"], titles=["One", "Two"]
        ),
        books.epub(["<table><tr><td colspan='2'>a</td></tr><tr><td>b</td><td>c</td></tr></table>", invoice]),
    ]


def _docx() -> list[bytes]:
    also = {"styles": test_docx.STYLES, "numbering": test_docx.NUMBERING}
    also |= {kind: f'<w:{kind[:-1]} w:id="1">{files.p("said")}</w:{kind[:-1]}>' for kind in ("footnotes", "comments")}
    note = '<w:p><w:r><w:footnoteReference w:id="1"/><w:commentReference w:id="1"/></w:r></w:p>'
    span = f'<w:tc><w:tcPr><w:gridSpan w:val="2"/><w:vMerge w:val="restart"/></w:tcPr>{files.p("wide")}</w:tc>'
    table = f"<w:tbl><w:tr>{span}</w:tr>{files.cells('a', 'b', 'c')}{files.cells('1', '2', '3')}</w:tbl>"
    bodies = "".join(str(body[0]) for body in test_docx.BODIES)
    more = {"docProps/core.xml": files.CORE}
    links = {"hyperlink:web": "https://example.org/a"}
    lines = "".join(files.p(line) for line in _invoice_lines())
    return [
        files.docx(bodies + table + note, also=also, links=links, more=more),
        files.docx(table + test_docx.box("boxed") + test_docx.MOVED + lines, also=also),
    ]


def _invoice_lines() -> list[str]:
    return [f"{name}: {value}" for name, value in samples.INVOICE_VALUES.items()]


def _xlsx() -> list[bytes]:
    more = {"xl/styles.xml": files.styles("0.0%", '#,##0.00\\ "€"', "dd.mm.yyyy", '[Red]-0.0;0.0;"nothing"')}
    second = files.row(5, A="style2:0.125", B="style3:1234.5", C="style4:46085", D="style5:0")
    shared = {
        "xl/sharedStrings.xml": "<sst><si><t>one</t></si><si><r><t>two</t></r></si></sst>",
        "xl/worksheets/sheet1.xml": '<worksheet><dimension ref="A1:B2"/><sheetData><row r="1">'
        '<c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c></row></sheetData>'
        '<mergeCells><mergeCell ref="A1:B1"/></mergeCells></worksheet>',
        "xl/_rels/workbook.xml.rels": files.relations(
            {"worksheet:s1": "worksheets/sheet1.xml", "sharedStrings:t": "sharedStrings.xml"}
        ),
    }
    return [
        files.xlsx(test_sheets.FIRST, files.row(1, A="words"), hidden=(2,)),
        files.xlsx(files.row(3, A="Share", B="Price", C="Day", D="Zero") + second, more=more),
        files.xlsx("", more=shared),
    ]


def _pptx() -> list[bytes]:
    merged = test_slides.cell("A", 'gridSpan="2"') + test_slides.cell("", 'hMerge="1"') + test_slides.cell("C")
    table = test_slides.framed(f"<a:tbl><a:tr>{merged}</a:tr></a:tbl>")
    chart = test_slides.framed('<c:chart xmlns:c="urn:c" r:id="c1"/>', top=80)
    more = {"ppt/notesSlides/n1.xml": files.notes("Speak slowly."), "ppt/charts/chart1.xml": test_slides.CHART}
    also = {1: {"notesSlide:n1": "../notesSlides/n1.xml", "chart:c1": "../charts/chart1.xml"}}
    shapes = files.shape("The title", top=40, role="title") + files.shape("left", "more", top=30)
    return [files.pptx(table + chart + shapes, files.shape("two"), also=also, hidden=(2,), more=more)]


def _odt() -> list[bytes]:
    bodies = "".join(str(body[0]) for body in test_odt.BODIES)
    rows = files.odf_row("A", "B") + files.odf_row("1", "2")
    wide = '<table:table-row><table:table-cell table:number-columns-spanned="2"><text:p>w</text:p></table:table-cell>'
    wide += "</table:table-row>"
    return [files.odf(TEXT, f"{bodies}<table:table>{rows}{wide}</table:table>", automatic=test_odt.STYLES)]


def _ods() -> list[bytes]:
    cells = test_sheets.value("float", "12.5", "12.50") + test_sheets.value("date", "2026-03-04", "4.3.26")
    cells += test_sheets.value("time", "PT30H15M00S", "30:15:00") + test_sheets.value("percentage", "0.125", "12.5%")
    rows = (
        files.odf_row("A", "B", "C", "D"),
        f"<table:table-row>{cells}</table:table-row>",
        files.odf_row("x", attributes='table:number-rows-repeated="3"'),
    )
    return [files.odf(SHEETS, test_sheets.ods(*rows) + test_sheets.ods(rows[0], style="h", name="More"))]


def _odp() -> list[bytes]:
    said = f"<presentation:notes>{test_slides.drawn('Say hello.', '1cm', name='notes')}</presentation:notes>"
    table = f'<draw:frame svg:y="9cm"><table:table>{files.odf_row("A", "B")}</table:table></draw:frame>'
    group = f"<draw:g>{test_slides.drawn('above', '1in')}</draw:g>"
    shapes = table + group + test_slides.drawn("The title", "8cm", name="title") + said
    return [files.odf(SHOW, f"<draw:page>{shapes}</draw:page><draw:page>{test_slides.drawn('2', '1cm')}</draw:page>")]


def _rtf() -> list[bytes]:
    bodies = [str(body[0]) for body in test_rtf.BODIES]
    whole = files.rtf("\\par ".join(bodies))
    return [whole, files.rtf("{\\info{\\title The Harbour}{\\author Ann}}Text"), *map(files.rtf, bodies[:8])]


def _msg() -> list[bytes]:
    text = "Dear Ann,\r\n\r\nthe lamp is lit.\r\n\r\nFrom: Ann\r\nSent: Monday\r\nTo: Bo\r\nSubject: Lamp\r\n\r\nIs it?"
    return [
        container.message(text, attachment=("plan.pdf", b"%PDF-1.4 " + bytes(200))),
        container.nested_message(text, 2),
        container.message(html=b"<p>In <b>HTML</b></p>"),
        container.message(rtf=container.plainly_packed(b"{\\rtf1 in rich text}")),
    ]


def _html() -> list[bytes]:
    invoices = [each.html.encode() for each in labelled((letterhead, window_letter), 1, 5)]
    return [PAGE.encode(), *invoices[: 2 * len(LANGUAGES) : 3]]


def _xml() -> list[bytes]:
    item = "<item><title>Lamp</title><description>&lt;h1&gt;Big&lt;/h1&gt;</description><pubDate>Thu</pubDate></item>"
    entry = "<entry><title>1</title><link rel='alternate' href='https://k.example/1'/>"
    entry += "<content type='xhtml'><div><p>Das <i>Licht</i></p></div></content></entry>"
    data = (
        "<?xml version='1.0'?><invoice id='7' xmlns='urn:x'><number>17</number><party role='s'><name>A &amp; Co</name>"
    )
    return [
        f"<rss version='2.0'><channel><title>News</title><language>en-us</language>{item * 3}</channel></rss>".encode(),
        f"{data}</party><note>Please <b>pay</b> soon.</note><sum c='EUR'>1,284.50</sum></invoice>".encode(),
        f"<feed xmlns='http://www.w3.org/2005/Atom' xml:lang='de'><title>F</title>{entry}</feed>".encode(),
    ]


def _mail() -> list[bytes]:
    mixed = message("Die Lampe für Ann", QUOTED)
    mixed.add_alternative(f"<p>{escape(QUOTED)}</p><table><tr><td>a</td></tr></table>", subtype="html")
    mixed.add_attachment(b"%PDF-1.4 " + bytes(100), maintype="application", subtype="pdf", filename="Größe.pdf")
    outer = message("Fwd", "See below.\n")
    outer.add_attachment(mixed)
    flowed = (
        b"Subject: =?koi8-r?B?7cHRyw==?=\nContent-Type: text/plain; format=flowed; charset=utf-8\n\nThe lamp \nis.\n"
    )
    return [message().as_bytes(), mixed.as_bytes(), outer.as_bytes(), flowed]


def _csv() -> list[bytes]:
    return [SALES.encode(), SALES.encode("utf-16"), *(case[0].encode() for case in CASES.values())]


def _text() -> list[bytes]:
    words = " ".join(samples.INVOICE_VALUES.values())
    letters = "Маяк горит. Größe, élan, señor. 灯台の光。" * 20
    encodings = ("utf-8", "utf-16", "utf-8-sig", "gb18030", "utf-32")
    russian = "Гавань открывается в семь часов утра.\r\n" * 30
    return [
        words.encode("utf-16-le"),
        *((words + letters).encode(each) for each in encodings),
        russian.encode("koi8-r"),
        russian.encode("cp1251"),
    ]


def _markdown() -> list[bytes]:
    return [
        b"# One\n\nText *and* [link](x)\n\n- a\n  - b\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n```\ncode\n```\n" * 3
    ]


def _picture() -> Image.Image:
    picture = Image.new("RGB", (180, 60), "white")
    ImageDraw.Draw(picture).text((10, 20), "The lamp is lit 1,284.50", fill="black")
    return picture


def _saved(kind: str, mode: str = "RGB", **options: object) -> bytes:
    out = io.BytesIO()
    _picture().convert(mode).save(out, kind, **options)
    return out.getvalue()


def _pictures(kind: str, modes: Sequence[str], **options: object) -> Callable[[], list[bytes]]:
    exif = Image.Exif()
    exif[0x0112], exif[0x011A] = 6, 300.0
    return lambda: [_saved(kind, mode, **options) for mode in modes] + [_saved(kind, modes[0], exif=exif)]


def _tiff() -> list[bytes]:
    pages = [_picture().convert("L").rotate(turn) for turn in (0, 5, 9)]
    out = io.BytesIO()
    pages[0].save(out, "TIFF", save_all=True, append_images=pages[1:], compression="tiff_lzw")
    packed = [
        _saved("TIFF", mode, compression=how) for mode, how in (("1", "group4"), ("RGB", "jpeg"), ("L", "packbits"))
    ]
    return [out.getvalue(), *packed, _saved("TIFF", "CMYK"), _saved("TIFF", "RGB", compression="tiff_adobe_deflate")]


def _gif() -> list[bytes]:
    frames = [_picture().rotate(turn).convert("P") for turn in range(4)]
    out = io.BytesIO()
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    return [out.getvalue(), _saved("GIF", "P"), _saved("GIF", "L", interlace=1)]


def _heic() -> list[bytes]:
    return [PHONE.read_bytes()]


def _ocr() -> list[bytes]:
    return [_saved("PNG", "L"), _saved("JPEG"), _tiff()[0], _picture_pdf()]


def _sound(kind: str) -> Callable[[], list[bytes]]:
    return lambda: [sounds.wav(sounds.babble(1.0))] if kind == "wav" else [sounds.encoded(kind, 1.0, title="Call")]


def _locked() -> list[bytes]:
    packed = [
        (locked.ARCHIVES / name).read_bytes()
        for name in ("aes_7zip.zip", "zipcrypto_infozip.zip", "locked.7z", "locked_names.7z")
    ]
    return [locked.locked_docx(), locked.locked_pdf(PDF_PASSWORD), *packed]


def _of_locked(data: bytes, others: Sequence[bytes], chance: Random) -> bytes:
    forms: dict[bytes, Mutate] = {b"%P": mutate.pdf, b"PK": mutate.BYTES, b"7z": mutate.SEVEN_ZIP}
    return forms.get(data[:2], mutate.ole)(data, (), chance)


def _of_pictures(data: bytes, others: Sequence[bytes], chance: Random) -> bytes:
    forms: dict[bytes, Mutate] = {b"\x89P": mutate.PNG, b"\xff\xd8": mutate.JPEG, b"%P": mutate.pdf}
    return forms.get(data[:2], mutate.TIFF)(data, (), chance)


@cache
def kinds() -> dict[str, Kind]:
    """Every reader by its name."""
    office = {"docx": (WORD, _docx), "xlsx": (EXCEL, _xlsx), "pptx": (SLIDES, _pptx)}
    office |= {"odt": (TEXT, _odt), "ods": (SHEETS, _ods), "odp": (SHOW, _odp), "epub": (filetypes.EPUB, _epub)}
    texts = {"html": (filetypes.HTML, _html, mutate.HTML), "xml": (filetypes.XML, _xml, mutate.XML)}
    texts |= {"mail": (filetypes.MAIL, _mail, mutate.MAIL), "text": (filetypes.PLAIN, _text, mutate.LINES)}
    texts |= {"markdown": (filetypes.MARKDOWN, _markdown, mutate.LINES), "csv": (filetypes.CSV, _csv, mutate.LINES)}
    texts |= {"tsv": (filetypes.TSV, lambda: [each.replace(b";", b"\t") for each in _csv()], mutate.LINES)}
    texts |= {"mbox": (filetypes.MAILBOX, lambda: [mailbox("The lamp is lit.\n", QUOTED, "Third.\n")], mutate.MAIL)}
    return {
        "pdf": Kind(filetypes.PDF, _pdf, mutate.pdf, "pdfs"),
        **{name: Kind(content_type, seeds, mutate.zipped) for name, (content_type, seeds) in office.items()},
        "rtf": Kind(filetypes.RTF, _rtf, mutate.RTF),
        "doc": Kind(filetypes.DOC, lambda: [old_files.doc("The lamp\rit is lit at dusk.\r" * 5)], mutate.ole),
        "xls": Kind(filetypes.XLS, lambda: [old_files.xls(PRICES)], mutate.ole),
        "ppt": Kind(filetypes.PPT, lambda: [old_files.ppt([["The lamp", "lit at dusk"], ["Two", "more"]])], mutate.ole),
        "msg": Kind(filetypes.MSG, _msg, mutate.ole),
        **{name: Kind(*each) for name, each in texts.items()},
        **dict(_picture_kinds()),
        "ocr": Kind("image/png", _ocr, _of_pictures, "ocr"),
        **dict(_sound_kinds()),
        **dict(_archive_kinds()),
        "locked": Kind(filetypes.OCTETS, _locked, _of_locked, "locked"),
    }


@cache
def seeds_of(reader: str) -> Sequence[bytes]:
    """The good files of a reader, made once."""
    return tuple(kinds()[reader].seeds())


def _picture_kinds() -> Iterator[tuple[str, Kind]]:
    makers = {
        "png": (_pictures("PNG", ("RGB", "1", "P", "LA", "RGBA", "I;16")), mutate.PNG),
        "jpeg": (_pictures("JPEG", ("RGB", "L", "CMYK")), mutate.JPEG),
        "webp": (_pictures("WEBP", ("RGB", "RGBA")), mutate.RIFF),
        "tiff": (_tiff, mutate.TIFF),
        "gif": (_gif, mutate.BYTES),
        "bmp": (lambda: [_saved("BMP", mode) for mode in ("RGB", "1", "P", "RGBA")], mutate.BYTES),
        "heic": (_heic, mutate.BOXES),
    }
    for name, (seeds, form) in makers.items():
        yield name, Kind(f"image/{name}", seeds, form, "pictures")


def _archive_kinds() -> Iterator[tuple[str, Kind]]:
    files = {"notes/one.txt": b"The lamp is lit.", "two.txt": b"At dusk.\n" * 40}
    yield "zip", Kind(filetypes.ZIP, lambda: [archives.zipped(files)], mutate.zipped, "containers")
    yield (
        "tar",
        Kind(filetypes.TAR, lambda: [archives.tarred(files, links={"link": "two.txt"})], mutate.BYTES, "containers"),
    )
    seven_zips = [seven_zip(files), *(each.read_bytes() for each in (_PACKED / "plain.7z", _PACKED / "bcj.7z"))]
    yield "7z", Kind(filetypes.SEVEN_ZIP, lambda: seven_zips, mutate.SEVEN_ZIP, "containers")
    letter = tnef(files, text=b"<p>The lamp is lit.</p>")
    yield "tnef", Kind(filetypes.TNEF, lambda: [letter], mutate.BYTES, "containers")
    for name, kind in {"gz": filetypes.GZIP, "bz2": filetypes.BZIP2, "xz": filetypes.XZ}.items():
        yield name, Kind(kind, partial(_packed_tar, files, name), mutate.BYTES, "containers")


def _packed_tar(files: Mapping[str, bytes], kind: str) -> list[bytes]:
    return [archives.tarred(files, f"w:{kind}")]


def _sound_kinds() -> Iterator[tuple[str, Kind]]:
    forms = {"wav": mutate.RIFF, "aiff": mutate.RIFF, "m4a": mutate.BOXES, "mp4": mutate.BOXES, "mov": mutate.BOXES}
    types = {"wav": "audio/wav", "m4a": "audio/mp4", "mp4": "video/mp4", "mov": "video/quicktime", "mp3": "audio/mpeg"}
    types |= {"mkv": "video/x-matroska", "webm": "video/x-matroska"}
    for name in ("wav", *sounds.KINDS):
        form = forms.get(name, mutate.OGG if name in {"ogg", "mp3", "aac", "amr", "flac"} else mutate.BYTES)
        yield name, Kind(types.get(name, f"audio/{name}"), _sound(name), form, "sound")
