"""A pile of files as a household or a small office has it: generated invoices, a scan, a photo, a book, a recording."""

import random
import tempfile
import wave
from email.message import EmailMessage
from io import BytesIO
from pathlib import Path

import pypdfium2

from tests import books, samples, scans, speech_clip
from tests.invoices.labelled import labelled, write_pdfs
from tests.invoices.layouts import LAYOUTS

_SECONDS = 12
_NOTES = (
    "# Boiler\n\nServiced in March. The filter is cleaned every second month.\n\n"
    "## Parts\n\n- filter, 12 EUR\n- seal, 3 EUR\n"
)
_CHAPTERS = (
    "<h1>The lamp</h1>" + "<p>The lamp is lit at dusk and put out at sunrise.</p>" * 20,
    "<h1>The storm</h1>" + "<p>No boat leaves the harbour while the storm lasts.</p>" * 20,
)


def pile() -> dict[str, bytes]:
    """The files by their names."""
    printed = _invoices()
    scanned = printed.pop("Invoice, scanned.pdf")
    return {
        **printed,
        "Scan of an invoice.pdf": _scan(scanned),
        "Photo of a page.jpg": scans.as_bytes(scans.photographed(scans.page(scans.TEXTS["en"])), "JPEG", quality=80),
        "Annual report.pdf": samples.report_pdf(),
        "Lighthouse.epub": books.epub(_CHAPTERS),
        "Meter readings.csv": _readings(),
        "Boiler notes.md": _NOTES.encode(),
        "Delivery on Friday.eml": _mail(),
        "Call.wav": _recording(),
        "Locked statement.pdf": samples.encrypted_pdf(),
    }


def _invoices() -> dict[str, bytes]:
    made = [each for each in labelled(LAYOUTS[:4], 1, seed=11) if each.language in {"en", "de", "pt", "fr"}]
    chosen = [made[place] for place in (0, 5, 10, 15, 2)]
    names = [f"Invoice {each.truth['invoice_number'][0].replace('/', '-')}.pdf" for each in chosen[:-1]]
    with tempfile.TemporaryDirectory() as folder:
        paths = write_pdfs(chosen, Path(folder))
        return dict(zip([*names, "Invoice, scanned.pdf"], (path.read_bytes() for path in paths), strict=True))


def _scan(printed: bytes) -> bytes:
    document = pypdfium2.PdfDocument(printed)
    picture = document[0].render(scale=150 / 72).to_pil().convert("L")
    document.close()
    return scans.as_bytes(scans.noisy(picture), "PDF")


def _readings() -> bytes:
    chance = random.Random(3)
    rows = [
        f"2026-{month:02},{1000 + 31 * month + chance.randrange(20)},{20 + chance.randrange(9)}"
        for month in range(1, 11)
    ]
    return "\n".join(["month,electricity kWh,water m³", *rows]).encode()


def _mail() -> bytes:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "orders@example.org", "home@example.org", "Delivery on Friday"
    mail["Date"] = "Mon, 02 Nov 2026 09:00:00 +0000"
    mail.set_content("The lamps arrive on Friday between 9 and 12.\n")
    mail.add_attachment(samples.table_pdf(), maintype="application", subtype="pdf", filename="Delivery note.pdf")
    return mail.as_bytes()


def _recording() -> bytes:
    """The beginning of the recording that the tests of speech use."""
    out = BytesIO()
    with wave.open(BytesIO(speech_clip.english())) as whole, wave.open(out, "wb") as part:
        part.setparams(whole.getparams())
        part.writeframes(whole.readframes(_SECONDS * whole.getframerate()))
    return out.getvalue()
