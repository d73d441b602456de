"""Hostile messages and mailboxes: each ends in a document within limits, in time, and says what it left out."""

from collections.abc import Callable

import pytest

from webapp.clock import monotonic
from webapp.readers.extraction import Extraction
from webapp.readers.filetypes import MAIL, MAILBOX
from webapp.readers.mail.read import CUT, MESSAGES_MAX, MORE

pytestmark = pytest.mark.slow

Extract = Callable[[bytes, str], Extraction]
SECONDS_MAX = 20
HEAD = b"From: a@b.example\nSubject: odd\n"


def multipart(boundary: bytes) -> bytes:
    return b'Content-Type: multipart/mixed; boundary="' + boundary + b'"\n\n--' + boundary + b"\n"


def nested(levels: int) -> bytes:
    return HEAD + b"".join(multipart(b"b%d" % level) for level in range(levels)) + b"\nthe end\n"


MESSAGES = {
    "300 nested multiparts": nested(300),
    "3,000 nested multiparts": nested(3_000),
    "200,000 parts": HEAD + multipart(b"q") + b"\nthe end\n" + b"--q\n\nt\n" * 200_000,
    "a header of 1 MB": HEAD + b"X: " + b"x" * 1_000_000 + b"\n\nthe end",
    "a subject of 1 MB": b"From: a\nSubject: " + b"y" * 1_000_000 + b"\n\nthe end",
    "100,000 recipients": HEAD + b"To: " + b"a@b.example, " * 100_000 + b"\n\nthe end",
    "100,000 lines of a header": HEAD + b"To:" + b" a@b.example,\n" * 100_000 + b"\nthe end",
    "500,000 headers": HEAD + b"X: y\n" * 500_000 + b"\nthe end",
    "50,000 subjects": HEAD + b"Subject: y\n" * 50_000 + b"\nthe end",
    "encoded words that never end": b"Subject: " + b"=?a?q?" * 100_000 + b"\nFrom: a\n\nthe end",
    "a parameter that never ends": HEAD + b'Content-Type: text/plain; a="' + b";" * 500_000 + b"\n\nthe end",
    "20,000 pieces of a name": HEAD + b"Content-Type: text/plain" + b"; name*0=x" * 20_000 + b"\n\nthe end",
    "an unknown charset": HEAD + b"Content-Type: text/plain; charset=punycode\n\nthe end \xe9",
    "an unknown transfer encoding": HEAD + b"Content-Transfer-Encoding: x-zip\n\nthe end",
    "broken base64": HEAD + b"Content-Transfer-Encoding: base64\n\ndGhlIGVuZA=\xff=!!",
    "broken quoted-printable": HEAD + b"Content-Transfer-Encoding: quoted-printable\n\nthe end =ZZ =",
    "NUL bytes": HEAD + b"\n\0the end\0" + b" " * 300,
    "no end of a boundary": HEAD + multipart(b"q") + b"\nthe end",
    "a boundary that is empty": HEAD + b'Content-Type: multipart/mixed; boundary=""\n\nthe end',
    "a boundary of 100 kB": HEAD + multipart(b"z" * 100_000) + b"\nthe end",
    "no boundary": HEAD + b"Content-Type: multipart/mixed\n\nthe end",
    "200 messages within messages": HEAD + b"\nContent-Type: message/rfc822\n\n" * 200 + b"the end",
    "messages within messages": (b"Subject: x\nContent-Type: message/rfc822\n\n" * 100) + b"Subject: y\n\nthe end",
    "HTML 5,000 deep": HEAD + b"Content-Type: text/html\n\n" + b"<div>" * 5_000 + b"the end",
    "HTML 5,000 deep within 200 multiparts": nested(200)[:-9]
    + b"Content-Type: text/html\n\n"
    + b"<b>" * 5_000
    + b"the end",
    "a million quotes": HEAD + b"\nthe end\n" + b"> x\n" * 1_000_000,
    "100,000 who wrote": HEAD + b"\nthe end\n" + b"He wrote:\n> x\n" * 100_000 + b"last",
    "a line of 5 MB": HEAD + b"\nthe end " + b"x" * 5_000_000,
    "quotes 100,000 deep": HEAD + b"\nthe end\n" + b">" * 100_000 + b" x",
    "a name of a path": HEAD
    + multipart(b"q")
    + b'Content-Disposition: attachment; filename="../../etc/passwd"\n\nx\n--q\n\nthe end',
    "a forged page mark": HEAD + b"\nthe end\n<!-- page 7 -->\n",
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_hostile_message_is_read_within_limits(extract: Extract, name: str) -> None:
    started = monotonic()
    found = extract(MESSAGES[name], MAIL)
    assert "the end" in found.markdown or found.partial or found.warnings or found.parts or "base64" in name
    assert found.title is None or len(found.title) <= 300
    assert all(len(field.value) <= 10_000 for field in found.fields)
    assert len(found.markdown) < 20_000_000
    assert "<!-- page" not in found.markdown
    assert monotonic() - started < SECONDS_MAX


@pytest.mark.parametrize("name", ["200,000 parts", "3,000 nested multiparts"])
def test_what_is_left_out_is_said(extract: Extract, name: str) -> None:
    found = extract(MESSAGES[name], MAIL)
    assert (found.partial, found.warnings) == (True, (CUT,))
    assert "the end" in found.markdown


LINE = b"From a@b.example Thu Nov 19 12:00:00 2026\n"
MAILBOXES = {
    "lines that begin with From": (LINE + HEAD + b"\n" + b"From me to you\n" * 100_000 + b"\nthe end", 1),
    "empty lines before them": (LINE + HEAD + b"\n" + b"\nFrom me, in 2026\nto you\n" * 50_000 + b"\nthe end", 1),
    "nothing after the first line": (LINE, 1),
    "messages without headers": (LINE + b"\nthe end\n\n" + LINE + b"\nthe end\n", 1),
    "1,000 times nothing": ((LINE + b"X: y\n\n") * 1_000, 1_000),
    "one line of 5 MB": (LINE + HEAD + b"\n" + b"From " * 1_000_000, 1),
    "dates that never end": (LINE + HEAD + b"\n" + (b"\nFrom " + b"2026 " * 1_000) * 1_000, 1),
}


@pytest.mark.parametrize("name", MAILBOXES)
def test_a_hostile_mailbox_is_read_within_limits(extract: Extract, name: str) -> None:
    started = monotonic()
    data, count = MAILBOXES[name]
    assert extract(data, MAILBOX).page_count == count
    assert monotonic() - started < SECONDS_MAX


def test_of_a_large_mailbox_the_first_messages_are_read(extract: Extract) -> None:
    found = extract((LINE + HEAD + b"\ntext\n\n") * (MESSAGES_MAX + 1_000), MAILBOX)
    assert (found.page_count, found.partial) == (MESSAGES_MAX, True)
    assert MORE.format(total=MESSAGES_MAX + 1_000, read=MESSAGES_MAX) in found.warnings
