"""Files that are locked by a password, made anew for each run of the tests."""

import io
from functools import cache
from random import Random

from msoffcrypto.method.ecma376_agile import ECMA376Agile

from tests import samples
from tests.readers.office.files import docx, p

PASSWORD, WRONG = "Ärger & 3 Leuchttürme", "Leuchtturm"
SENTENCE = "The locked ledger names the keeper of the lighthouse."


def locked_pdf(password: str = "lantern") -> bytes:
    """A PDF of two pages that RC4 locks."""
    pages = [[samples.Run(60, 80, SENTENCE)], [samples.Run(60, 80, "The second page of the ledger.")]]
    return samples.pdf(pages, password=password)


@cache
def locked_docx() -> bytes:
    """A document that agile encryption locks by PASSWORD, as Word does."""
    # Word hashes a password 100,000 times; the file says how often.
    locked: bytes = ECMA376Agile.encrypt(PASSWORD, io.BytesIO(plain_docx()), spin_count=1_000)
    return locked


@cache
def plain_docx() -> bytes:
    """The document without its lock."""
    # What locks it here writes nothing that can be read again of less than 4 kB.
    return docx(p(SENTENCE), more={"word/media/noise.bin": Random(1).randbytes(8_000)})
