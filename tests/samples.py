"""Small real files for tests, written here byte by byte: nothing binary lies in the repository."""

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

PAGE_WIDTH, PAGE_HEIGHT = 595, 842
TRUNCATED_SHARE = 0.5


@dataclass(frozen=True)
class Run:
    """A piece of text at a place on a page: x from the left, y from the TOP, in points."""

    x: float
    y: float
    text: str
    size: float = 11
    bold: bool = False


@dataclass
class PdfWriter:
    """Collects numbered objects and writes them with a correct cross-reference table."""

    objects: list[bytes] = field(default_factory=list)
    key: bytes | None = None

    def reserve(self) -> int:
        """Take the next object number, to be filled later."""
        self.objects.append(b"null")
        return len(self.objects)

    def put(self, body: bytes, number: int | None = None) -> int:
        """Store an object and give its number."""
        number = self.reserve() if number is None else number
        self.objects[number - 1] = body
        return number

    def stream(self, data: bytes, entries: bytes = b"") -> int:
        """Store a stream object; it is encrypted where the file is."""
        number = self.reserve()
        if self.key is not None:
            data = rc4(object_key(self.key, number), data)
        head = b"<< %s /Length %d >>\nstream\n" % (entries, len(data))
        return self.put(head + data + b"\nendstream", number)

    def write(self, trailer: bytes) -> bytes:
        """Write the whole file; `trailer` holds at least /Root."""
        out = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
        offsets = []
        for number, body in enumerate(self.objects, start=1):
            offsets.append(len(out))
            out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
        start = len(out)
        out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(offsets) + 1)
        out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
        size = len(offsets) + 1
        out += b"trailer\n<< /Size %d %s >>\nstartxref\n%d\n%%%%EOF\n" % (size, trailer, start)
        return bytes(out)


def pdf(
    pages: Sequence[Sequence[Run]],
    *,
    title: str | None = None,
    drawings: Sequence[str] = (),
    password: str | None = None,
) -> bytes:
    """Write pages of positioned text; `drawings` are raw operators for each page in turn."""
    writer = PdfWriter()
    encryption = b"" if password is None else _encrypt(writer, password)
    tree = writer.reserve()
    fonts = _fonts(writer)
    numbers = []
    for index, runs in enumerate(pages):
        drawing = drawings[index] if index < len(drawings) else ""
        content = writer.stream(drawing.encode() + b"\n" + b"\n".join(_show(run) for run in runs))
        numbers.append(_page(writer, tree, fonts, content))
    return _finish(writer, tree, numbers, title=title, trailer=encryption)


def report_pdf(pages: int = 3, paragraphs: int = 4) -> bytes:
    """Write a report with a title, a heading on each page and paragraphs of known words."""
    return pdf([_report_page(number, paragraphs) for number in range(1, pages + 1)])


def lines_pdf(lines: Sequence[str], *, lines_per_page: int = 50, size: float = 11) -> bytes:
    """Write plain lines, top to bottom, on as many pages as they need."""
    step = 14
    pages = [lines[start : start + lines_per_page] for start in range(0, len(lines), lines_per_page)]
    return pdf([[Run(50, 60 + step * row, line, size) for row, line in enumerate(page)] for page in pages])


def table_pdf() -> bytes:
    """Write a page with a ruled table of four rows and three columns."""
    rows = [("Item", "Quantity", "Price"), ("Bolts", "40", "8.50"), ("Nuts", "40", "6.20"), ("Washers", "80", "3.10")]
    columns, top, height = (60, 220, 340, 460), 160, 24
    runs = [
        Run(60, 90, "Price list of the workshop", 20, bold=True),
        Run(60, 125, "All prices are in euro, without tax."),
    ]
    for line, row in enumerate(rows):
        runs += [Run(columns[index] + 6, top + height * line + 16, cell) for index, cell in enumerate(row)]
    bottom = top + height * len(rows)
    rules = [
        f"{columns[0]} {PAGE_HEIGHT - y} m {columns[-1]} {PAGE_HEIGHT - y} l S" for y in range(top, bottom + 1, height)
    ]
    rules += [f"{x} {PAGE_HEIGHT - top} m {x} {PAGE_HEIGHT - bottom} l S" for x in columns]
    return pdf([runs], drawings=["\n".join(rules)])


INVOICE_VALUES = {
    "Invoice number": "2026-0417",
    "Invoice date": "17 April 2026",
    "Customer": "Harbour Lights Bakery",
    "Total": "EUR 1,284.50",
}


def invoice_pdf() -> bytes:
    """Write an invoice with `Label: value` lines and label, gap, value lines."""
    runs = [Run(60, 80, "INVOICE", 22, bold=True)]
    places = [(60, 130), (60, 150), (60, 190), (60, 230)]
    for (label, value), (x, y) in zip(INVOICE_VALUES.items(), places, strict=True):
        if y < 180:
            runs.append(Run(x, y, f"{label}: {value}"))
        else:
            runs += [Run(x, y, label), Run(x + 160, y, value)]
    runs.append(Run(60, 300, "Thank you for your order; please pay within thirty days of the date above."))
    return pdf([runs])


def columns_pdf() -> bytes:
    """Write two columns whose content stream runs row by row across both."""
    runs = [Run(60, 70, "Two columns", 18, bold=True)]
    for row in range(24):
        runs.append(Run(60, 110 + 14 * row, f"left{row:02d} words of the first column"))
        runs.append(Run(320, 110 + 14 * row, f"right{row:02d} words of the second one"))
    return pdf([runs])


def form_pdf() -> bytes:
    """Write a page with an AcroForm: a text field, a ticked box and an empty field."""
    writer = PdfWriter()
    tree, page, form = writer.reserve(), writer.reserve(), writer.reserve()
    fonts = _fonts(writer)
    runs = [Run(60, 80, "Membership form", 20, bold=True), Run(60, 120, "Please fill in all the fields below.")]
    content = writer.stream(b"\n".join(_show(run) for run in runs))
    on = writer.stream(b"", b"/Type /XObject /Subtype /Form /BBox [0 0 14 14]")
    common = b"/Type /Annot /Subtype /Widget /F 4 /P %d 0 R" % page
    fields = [
        writer.put(b"<< %s /FT /Tx /T (member_name) /V (Ada Brook) /Rect [60 680 260 700] >>" % common),
        writer.put(
            b"<< %s /FT /Btn /T (newsletter) /V /Yes /AS /Yes /AP << /N << /Yes %d 0 R >> >>"
            b" /Rect [60 640 74 654] >>" % (common, on)
        ),
        writer.put(b"<< %s /FT /Tx /T (remarks) /Rect [60 600 260 620] >>" % common),
    ]
    references = b" ".join(b"%d 0 R" % number for number in fields)
    writer.put(b"<< /Fields [%s] /DR << /Font %s >> /DA (/F1 11 Tf) >>" % (references, fonts), form)
    _page(writer, tree, fonts, content, number=page, entries=b"/Annots [%s]" % references)
    return _finish(writer, tree, [page], catalog=b"/AcroForm %d 0 R" % form)


def scan_pdf(pages: int = 1, *, with_text: Sequence[int] = ()) -> bytes:
    """Write pages that hold a picture and no text, but for the page numbers in `with_text`."""
    picture = f"q {PAGE_WIDTH} 0 0 {PAGE_HEIGHT} 0 0 cm BI /W 2 /H 2 /BPC 8 /CS /G ID \x20\x7e\x7e\x20 EI Q"
    words = [Run(60, 100, "This page was typed and has words of its own to be found.")]
    numbers = range(1, pages + 1)
    runs = [words if number in with_text else [] for number in numbers]
    return pdf(runs, drawings=["" if number in with_text else picture for number in numbers])


def encrypted_pdf(password: str = "open sesame") -> bytes:
    """Write a PDF that asks for a password (standard handler, 40 bit RC4)."""
    return pdf([[Run(60, 100, "Nobody reads this without the word.")]], password=password)


def truncated_pdf() -> bytes:
    """Give the first half of a report, as a broken transfer leaves it."""
    whole = report_pdf(pages=6)
    return whole[: int(len(whole) * TRUNCATED_SHARE)]


def many_lines_pdf(lines: int = 60_000) -> bytes:
    """Write ONE page that shows a great many lines of text on top of each other."""
    writer = PdfWriter()
    tree = writer.reserve()
    fonts = _fonts(writer)
    shown = b"".join(b"(line number %d of the heap) Tj 0 -0.01 Td\n" % line for line in range(lines))
    body = zlib.compress(b"BT /F1 9 Tf 50 800 Td\n" + shown + b"ET")
    content = writer.stream(body, b"/Filter /FlateDecode")
    return _finish(writer, tree, [_page(writer, tree, fonts, content)])


def deflate_bomb_pdf(unpacked_bytes: int = 4 << 30) -> bytes:
    """Write a few kilobytes whose page content unpacks, twice deflated, to gigabytes."""
    once = spaces_deflated(unpacked_bytes >> 20)
    writer = PdfWriter()
    tree = writer.reserve()
    fonts = _fonts(writer)
    content = writer.stream(zlib.compress(once, 9), b"/Filter [/FlateDecode /FlateDecode]")
    return _finish(writer, tree, [_page(writer, tree, fonts, content)])


def spaces_deflated(megabytes: int) -> bytes:
    """Deflate so many megabytes of spaces without ever making them: one block, repeated."""
    packer = zlib.compressobj(9)
    start = packer.compress(b"") or b""
    block = packer.compress(b" " * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    head, block = (start + block)[:2], (start + block)[2:]
    size = megabytes << 20
    low = (1 + 32 * size) % 65521
    high = (size + 32 * size * (size + 1) // 2) % 65521
    return head + block * megabytes + b"\x03\x00" + (high << 16 | low).to_bytes(4, "big")


def nested_forms_pdf(levels: int = 24, fan_out: int = 8) -> bytes:
    """Write form XObjects that each show the next one several times: fan_out ** levels of text."""
    writer = PdfWriter()
    tree = writer.reserve()
    fonts = _fonts(writer)
    inner = writer.stream(b"BT /F1 9 Tf 50 700 Td (deep) Tj ET", _form(b"/Font %s" % fonts))
    for _ in range(levels):
        inner = writer.stream(b"/X Do\n" * fan_out, _form(b"/XObject << /X %d 0 R >>" % inner))
    content = writer.stream(b"/X Do")
    entries = b"/Resources << /XObject << /X %d 0 R >> /Font %s >>" % (inner, fonts)
    return _finish(writer, tree, [_page(writer, tree, None, content, entries=entries)])


def rc4(key: bytes, data: bytes) -> bytes:
    """Encrypt with RC4, which old PDFs use; no Python package that we have offers it."""
    box = list(range(256))
    swap = 0
    for index in range(256):
        swap = (swap + box[index] + key[index % len(key)]) % 256
        box[index], box[swap] = box[swap], box[index]
    out = bytearray()
    first = second = 0
    for byte in data:
        first = (first + 1) % 256
        second = (second + box[first]) % 256
        box[first], box[second] = box[second], box[first]
        out.append(byte ^ box[(box[first] + box[second]) % 256])
    return bytes(out)


def object_key(key: bytes, number: int) -> bytes:
    """Derive the key of one object (generation 0) from the file's key."""
    return hashlib.md5(key + number.to_bytes(3, "little") + b"\0\0", usedforsecurity=False).digest()[: len(key) + 5]


_PADDING = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")


def _encrypt(writer: PdfWriter, password: str) -> bytes:
    secret = (password.encode() + _PADDING)[:32]
    identity = hashlib.md5(b"a fixed file identity", usedforsecurity=False).digest()
    permissions = -4
    owner = rc4(hashlib.md5(secret, usedforsecurity=False).digest()[:5], secret)
    rights = permissions.to_bytes(4, "little", signed=True)
    key = hashlib.md5(secret + owner + rights + identity, usedforsecurity=False).digest()[:5]
    entries = b"/Filter /Standard /V 1 /R 2 /O <%s> /U <%s> /P %d"
    user = rc4(key, _PADDING)
    body = entries % (owner.hex().encode(), user.hex().encode(), permissions)
    number = writer.put(b"<< %s >>" % body)
    writer.key = key
    mark = identity.hex().encode()
    return b"/Encrypt %d 0 R /ID [<%s> <%s>]" % (number, mark, mark)


def _fonts(writer: PdfWriter) -> bytes:
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /%s /Encoding /WinAnsiEncoding >>"
    plain, bold = writer.put(font % b"Helvetica"), writer.put(font % b"Helvetica-Bold")
    return b"<< /F1 %d 0 R /F2 %d 0 R >>" % (plain, bold)


def _show(run: Run) -> bytes:
    text = run.text.encode("cp1252", "replace")
    for character in (b"\\", b"(", b")"):
        text = text.replace(character, b"\\" + character)
    font = b"F2" if run.bold else b"F1"
    place = b"%.2f %.2f Td" % (run.x, PAGE_HEIGHT - run.y)
    return b"BT /%s %.2f Tf %s (%s) Tj ET" % (font, run.size, place, text)


def _page(
    writer: PdfWriter,
    tree: int,
    fonts: bytes | None,
    content: int,
    *,
    number: int | None = None,
    entries: bytes = b"",
) -> int:
    if fonts is not None:
        entries += b" /Resources << /Font %s >>" % fonts
    box = b"/MediaBox [0 0 %d %d]" % (PAGE_WIDTH, PAGE_HEIGHT)
    body = b"<< /Type /Page /Parent %d 0 R %s /Contents %d 0 R %s >>" % (tree, box, content, entries)
    return writer.put(body, number)


def _form(resources: bytes) -> bytes:
    head = b"/Type /XObject /Subtype /Form /BBox [0 0 %d %d] /Resources << %s >>"
    return head % (PAGE_WIDTH, PAGE_HEIGHT, resources)


def _finish(
    writer: PdfWriter,
    tree: int,
    pages: Sequence[int],
    *,
    title: str | None = None,
    catalog: bytes = b"",
    trailer: bytes = b"",
) -> bytes:
    kids = b" ".join(b"%d 0 R" % page for page in pages)
    writer.put(b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(pages), kids), tree)
    root = writer.put(b"<< /Type /Catalog /Pages %d 0 R %s >>" % (tree, catalog))
    if title is not None:
        text = (b"\xfe\xff" + title.encode("utf-16-be")).hex().encode()
        trailer += b" /Info %d 0 R" % writer.put(b"<< /Title <%s> >>" % text)
    return writer.write(b"/Root %d 0 R %s" % (root, trailer))


def _report_page(number: int, paragraphs: int) -> list[Run]:
    runs = [Run(60, 70, "Annual report of the lighthouse", 22, bold=True)] if number == 1 else []
    runs.append(Run(60, 120, f"Chapter {number}: what the keepers saw", 16, bold=True))
    for paragraph in range(paragraphs):
        top = 160 + 80 * paragraph
        for line in range(3):
            words = f"Page {number}, paragraph {paragraph + 1}, line {line + 1}: the lamp was lit at dusk and"
            runs.append(Run(60, top + 14 * line, words))
    return runs
