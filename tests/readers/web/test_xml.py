"""XML: feeds as their entries, everything else in its own order under the names of its elements."""

from collections.abc import Callable

import pytest

from webapp.provider_errors import BadInput
from webapp.readers.extraction import Extraction
from webapp.readers.filetypes import XML
from webapp.readers.web.xml import MENDED

Extract = Callable[[bytes, str], Extraction]


def test_data_is_listed_under_the_names_of_its_elements(extract: Extract) -> None:
    found = extract(
        b"<?xml version='1.0'?><!-- made by hand --><invoice id='7' xmlns='urn:x'><number>INV-17</number>"
        b"<party role='seller'><name>Acme &amp; Co</name></party><note>Please <b>pay</b> soon.</note></invoice>",
        XML,
    )
    assert found.markdown == (
        "# invoice (id 7)\n\n- number: INV-17\n- **party (role seller)**\n  - name: Acme & Co\n\n"
        "- **note**\n  Please pay soon."
    )
    assert not found.partial


def test_rss_is_read_as_its_entries(extract: Extract) -> None:
    found = extract(
        b"<rss version='2.0'><channel><title>Keepers' news</title><link>https://k.example/</link><language>en-us</language>"
        b"<description>All of it</description><item><title>Lamp &amp;amp; horn</title><link>https://k.example/1</link>"
        b"<pubDate>Thu, 19 Nov 2026</pubDate><description>&lt;h1&gt;Big&lt;/h1&gt;&lt;p&gt;Oil &lt;b&gt;now&lt;/b&gt;"
        b"&lt;/p&gt;</description></item><item><title>Second</title><description>Plain 1 &lt; 2</description></item>"
        b"</channel></rss>",
        XML,
    )
    assert found.markdown == (
        "# Keepers' news\n\nAll of it\n\n## Lamp &amp; horn\n\nThu, 19 Nov 2026 · https://k.example/1\n\n"
        "### Big\n\nOil **now**\n\n## Second\n\nPlain 1 < 2"
    )
    assert (found.title, found.language) == ("Keepers' news", "en")
    assert ("Address", "https://k.example/") in [(field.name, field.value) for field in found.fields]


def test_atom_is_read_as_its_entries(extract: Extract) -> None:
    found = extract(
        b"<feed xmlns='http://www.w3.org/2005/Atom' xml:lang='de'><title>Feuer</title><entry><title>Eins</title>"
        b"<link rel='alternate' href='https://k.example/eins'/><author><name>Anna</name></author><updated>2026-11-19</updated>"
        b"<content type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'><p>Das <i>Licht</i></p></div></content>"
        b"</entry></feed>",
        XML,
    )
    assert found.markdown == "# Feuer\n\n## Eins\n\nAnna · 2026-11-19 · https://k.example/eins\n\nDas *Licht*"
    assert found.language == "de"


def test_the_declared_encoding_is_believed(extract: Extract) -> None:
    data = "<?xml version='1.0' encoding='koi8-r'?><a><b>Маяк</b></a>".encode("koi8-r")
    assert "- b: Маяк" in extract(data, XML).markdown
    assert (
        "Größe" in extract("<?xml version='1.0' encoding='utf-16'?><a><b>Größe</b></a>".encode("utf-16"), XML).markdown
    )


def test_what_is_not_well_formed_is_read_as_far_as_it_goes(extract: Extract) -> None:
    found = extract(b"<a><b>first</b><c>second</a>", XML)
    assert "first" in found.markdown
    assert (found.partial, found.warnings) == (True, (MENDED,))


def test_what_is_no_xml_is_refused(extract: Extract) -> None:
    with pytest.raises(BadInput):
        extract(b"<?xml version='1.0'?>", XML)
