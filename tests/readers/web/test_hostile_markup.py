"""Hostile pages and XML: each ends in a document or a clear error, in time; nothing is fetched and no file is read."""

import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from webapp.clock import monotonic
from webapp.provider_errors import BadInput
from webapp.readers.extraction import Extraction
from webapp.readers.filetypes import HTML, XML
from webapp.readers.web.page import FLAT, read_page
from webapp.readers.web.xml import read_xml

pytestmark = pytest.mark.slow

Extract = Callable[[bytes, str], Extraction]
SECONDS_MAX = 20

BOMB = "<!DOCTYPE a [<!ENTITY l0 'ha'>{}]>".format(
    "".join(f"<!ENTITY l{n} '{f'&l{n - 1};' * 10}'>" for n in range(1, 12))
)
PAGES = {
    "5,000 divs": b"<div>" * 5_000 + b"<p>the end" + b"</div>" * 5_000,
    "200,000 divs": b"<div>" * 200_000 + b"the end",
    "100,000 open bold": b"<b>" * 100_000 + b"the end",
    "200 nested tables": b"<table><tr><td>" * 200 + b"the end",
    "5,000 nested lists": b"<ul><li>" * 5_000 + b"the end",
    "5,000 nested quotes": b"<blockquote>" * 5_000 + b"the end",
    "a million tags": b"<p>x" * 300_000 + b"the end",
    "200,000 spans around blocks": b"<span><span>" + b"<span><p>x</p></span>" * 60_000 + b"the end",
    "an attribute of 5 MB": b"<p title='" + b"x" * 5_000_000 + b"'>the end</p>",
    "100,000 attributes": b"<p " + b" ".join(b"a%d=1" % n for n in range(100_000)) + b">the end</p>",
    "an open comment": b"<p>before the end</p><!-- " + b"x" * 2_000_000,
    "an open script": b"<p>before the end</p><script>" + b"<" * 500_000,
    "an open tag": b"<p>before the end</p><a href='" + b"x" * 2_000_000,
    "a wide table": b"<table><tr>" + b"<td colspan=1000000000>x" * 2_000 + b"</tr></table><p>the end",
    "a high table": b"<table><tr>"
    + b"<td rowspan=1000000000>x" * 500
    + b"</tr>"
    + b"<tr><td>y</tr>" * 500
    + b"</table>the end",
    "NUL bytes": b"<p>the\0 end</p>" + b" " * 2_000,
    "an entity bomb": BOMB.encode() + b"<p>the end &l11;</p>",
    "200,000 unclosed angle brackets": b"the end " + b"< " * 200_000,
    "a data address of 10 MB": b"<p><a href='data:text/html;base64," + b"A" * 10_000_000 + b"'>the end</a></p>",
    "a charset that is none": b"<meta charset='punycode'><p>the end \xe9\xe8\xf6</p>",
    "2,000 charsets": b"<meta charset='" * 2_000 + b"><p>the end",
    "a forged page mark": b"<p>&lt;!-- page 9 --&gt; the end</p>",
    "a base address": b"<base href='https://evil.example/'><p><a href='x'>the end</a></p>",
}


@pytest.mark.parametrize("name", PAGES)
def test_a_hostile_page_is_read_within_limits(extract: Extract, name: str) -> None:
    started = monotonic()
    found = extract(b"<!doctype html><html><body>" + PAGES[name], HTML)
    assert (
        "the end" in found.markdown.replace("\n", " ").replace("<", "").replace("\x00", "") or "end" in found.markdown
    )
    assert "haha" not in found.markdown
    assert "<!-- page" not in found.markdown
    assert monotonic() - started < SECONDS_MAX


def test_what_is_nested_too_deeply_is_read_without_its_form() -> None:
    page = read_page("<div>" * 5_000 + "<p>one<p>two" + "</div>" * 5_000)
    assert (page.markdown, page.is_whole) == ("one\n\ntwo", False)
    assert "headings" in FLAT


FILES = {
    "an entity bomb": f"<?xml version='1.0'?>{BOMB}<a><b>the end</b><c>&l11;</c></a>".encode(),
    "a quadratic bomb": b"<!DOCTYPE a [<!ENTITY x '" + b"A" * 50_000 + b"'>]><a>the end" + b"&x;" * 50_000 + b"</a>",
    "20,000 nested elements": b"<a>" * 20_000 + b"the end" + b"</a>" * 20_000,
    "200 nested elements": b"<a>" * 200 + b"the end" + b"</a>" * 200,
    "200,000 children": b"<a>" + b"<b>x</b>" * 200_000 + b"<c>the end</c></a>",
    "a text of 12 MB": b"<a><b>the end</b>" + b"x" * 12_000_000 + b"</a>",
    "a parameter entity": b"<!DOCTYPE a [<!ENTITY % p SYSTEM 'http://127.0.0.1:9/p'>%p;]><a>the end</a>",
    "a DTD elsewhere": b"<!DOCTYPE a SYSTEM 'http://127.0.0.1:9/a.dtd'><a>the end</a>",
    "XInclude": b"<a xmlns:xi='http://www.w3.org/2001/XInclude'><xi:include href='file:///etc/hostname' parse='text'/>"
    b"<b>the end</b></a>",
    "a style sheet": b"<?xml-stylesheet href='http://127.0.0.1:9/x.xsl' type='text/xsl'?><a>the end</a>",
    "50,000 attributes": b"<a " + b" ".join(b"a%d='1'" % n for n in range(50_000)) + b">the end</a>",
    "NUL bytes": b"<a>the\0 end</a>" + b" " * 2_000,
    "two roots": b"<a>the end</a><b>more</b>",
    "a feed of 50,000 entries": b"<rss><channel>"
    + b"<item><title>t</title></item>" * 50_000
    + b"<title>the end</title></channel></rss>",
    "a feed in an entry": b"<rss><item><description>" + b"&lt;div&gt;" * 5_000 + b"the end</description></item></rss>",
    "an unknown charset": b"<?xml version='1.0' encoding='x-none'?><a>the end</a>",
    "a false charset": b"<?xml version='1.0' encoding='utf-16'?><a>the end</a>",
}


@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_is_read_within_limits(extract: Extract, name: str) -> None:
    started = monotonic()
    with suppress(BadInput):
        found = extract(FILES[name], XML)
        assert "the" in found.markdown or found.partial
        assert "haha" not in found.markdown
        assert len(found.markdown) < 20_000_000
    assert monotonic() - started < SECONDS_MAX


def test_nothing_is_fetched_and_no_file_is_read(tmp_path: Path) -> None:
    """Not even where the sandbox would allow it: here the readers run in this process."""
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        there = f"http://127.0.0.1:{server.getsockname()[1]}/x"
        entities = f"<!DOCTYPE a SYSTEM '{there}' [<!ENTITY f SYSTEM '{secret.as_uri()}'><!ENTITY n SYSTEM '{there}'>]>"
        tags = "".join(
            f"<{tag} src='{where}' href='{where}' data='{where}'></{tag}>"
            for tag in ("img", "script", "iframe", "link", "object", "embed", "video", "base", "frame", "image")
            for where in (there, secret.as_uri())
        )
        page = read_page(f"<!doctype html><html>{entities}<body>{tags}<p>seen &f; &n;</p></body></html>")
        data = read_xml(f"{entities}<a><b>seen &f; &n;</b></a>")
        with pytest.raises(BlockingIOError):
            server.accept()
    assert "seen" in page.markdown
    assert "seen" in data.markdown
    assert "the secret" not in page.markdown + data.markdown
