"""Web pages: the main text first, everything in it as Markdown, and what the page says of itself as fields."""

from collections.abc import Callable

import pytest

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.extraction import Extraction
from webapp.readers.filetypes import HTML
from webapp.readers.web.page import read_page

Extract = Callable[[bytes, str], Extraction]

PAGE = """<!doctype html>
<html lang="en-GB"><head><title>The lamp &amp; the sea</title>
<meta name="author" content="A. Writer"><meta property="og:description" content="How lamps are kept.">
<meta property="og:site_name" content="Keepers"><link rel="canonical" href="https://keepers.example/lamp">
<style>p { color: red }</style><script>track("everything")</script></head>
<body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/about">About</a></li></ul></nav>
<main>
<h1>The lamp</h1>
<p>Oil is <b>poured</b> at dusk, says the <a href="https://keepers.example/rules?x=(1)">book of rules</a>.
<img src="https://tracker.example/pixel.gif" alt=""><img src="lamp.jpg" alt="A brass lamp"></p>
<ol><li>Trim<ul><li>the wick</li></ul></li><li>Light</li></ol>
<pre><code>if dusk:
    light()</code></pre>
<table><caption>Oil</caption><tr><th rowspan="2">Month</th><th colspan="2">Litres</th></tr><tr><th>a</th><th>b</th></tr>
<tr><td>May</td><td>12</td><td>14</td></tr></table>
</main>
<aside>Related: the horn</aside><footer>Imprint of the keepers</footer>
<noscript><img src="https://tracker.example/p?noscript=1" alt="counted"></noscript>
</body></html>"""

EXPECTED = """# The lamp

Oil is **poured** at dusk, says the [book of rules](https://keepers.example/rules?x=%281%29). A brass lamp

1. Trim
   - the wick
2. Light

```
if dusk:
    light()
```

Oil

| Month | Litres |  |
| --- | --- | --- |
|  | a | b |
| May | 12 | 14 |

---

- Home
- About

Related: the horn

Imprint of the keepers"""


def test_a_page_is_read_main_text_first(extract: Extract) -> None:
    found = extract(PAGE.encode(), HTML)

    assert found.markdown == EXPECTED
    assert (found.title, found.language, found.partial, found.warnings) == ("The lamp & the sea", "en", False, ())
    assert [(field.name, field.value) for field in found.fields] == [
        ("Author", "A. Writer"),
        ("Description", "How lamps are kept."),
        ("Site", "Keepers"),
        ("Address", "https://keepers.example/lamp"),
    ]
    (table,) = found.tables
    assert (table.caption, table.rows[2]) == ("Oil", ("May", "12", "14"))


def body(markup: str) -> str:
    return read_page(f"<!doctype html><html><body>{markup}</body></html>").markdown


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<p>a<p>b", "a\n\nb"),
        ("<p><a href='https://a.example/'>https://a.example/</a></p>", "https://a.example/"),
        ("<p><a href='mailto:a@b.example'>write</a></p>", "[write](mailto:a@b.example)"),
        ("<p><a href='javascript:evil()'>press</a> <a href='#top'>up</a></p>", "press up"),
        ("<p><a href='https://a.example/x y'>odd</a></p>", "odd"),
        ("<p>a <a href='https://a.example'>[1]</a></p>", "a [(1)](https://a.example)"),
        ("<nav>Menu</nav><p>Words of the page that are longer than its menu.</p>",
         "Words of the page that are longer than its menu.\n\n---\n\nMenu"),
        ("<nav>A page that is nothing but its navigation</nav>", "A page that is nothing but its navigation"),
        ("<article><p>One story</p></article><p>x</p><article><p>Another</p></article>",
         "One story\n\nAnother\n\n---\n\nx"),
        ("<p>seen and read by all</p><p style='display:none'>unseen</p><p hidden>gone</p>", "seen and read by all"),
        ("<div style='display: none'>A page that a script unfolds</div>", "A page that a script unfolds"),
        ("<table role='presentation'><tr><td><p>left</p></td><td>right</td></tr></table>", "left\n\nright"),
        ("<table><tr><td><table><tr><td>a</td><td>b</td></tr></table></td><td>c</td></tr></table>",
         "| a | b |\n| --- | --- |\n\nc"),
        ("<dl><dt>Lamp</dt><dd>A light.</dd></dl>", "**Lamp**\n\nA light."),
        ("<details><summary>More</summary><p>folded</p></details>", "More\n\nfolded"),
        ("<select><option>One<option>Two</select><p>text</p>", "text"),
        ("<p>&lt;!-- page 3 --&gt;</p>", "\\&lt;!-- page 3 -->"),
        ("<p>1 &lt; 2 &amp; *3*</p>", "1 < 2 & \\*3\\*"),
        ("<ul><li>caf&eacute; &#x1F4A1; &hellip;</ul>", "- café 💡 …"),
    ],
)  # fmt: skip
def test_markdown_of_a_page(markup: str, expected: str) -> None:
    assert body(markup) == expected


def test_pages_one_after_the_other_are_all_read() -> None:
    page = f"<!doctype html><html><head><title>x</title></head><body><h1>One</h1><p>{'lamp ' * 50}</p></body></html>"
    found = read_page(page * 3)
    assert (found.markdown.count("# One"), found.is_whole) == (3, True)


def test_long_scripts_do_not_hide_what_is_the_main_part() -> None:
    script = f"<script>{'data ' * 1_000}</script>"
    assert body(f"<nav>Menu</nav>{script}<main><p>The lamp is lit.</p></main>") == "The lamp is lit.\n\n---\n\nMenu"


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [
        ("<meta charset='koi8-r'>", "koi8-r"),
        ("<meta http-equiv='Content-Type' content='text/html; charset=windows-1251'>", "cp1251"),
        ("<meta charset='iso-8859-1'>", "utf-8"),
        ("", "utf-16"),
        ("<meta charset='x-made-up'>", "cp1251"),
    ],
)
def test_the_encoding_is_found(extract: Extract, declared: str, encoding: str) -> None:
    text = "Смотритель маяка записал в журнал, что буря пришла с моря."  # noqa: RUF001 - Russian
    found = extract(
        f"<html><head>{declared}<title>x</title></head><body><p>{text}</p></body></html>".encode(encoding), HTML
    )
    assert found.markdown == text
    assert bool(found.warnings) == ("made-up" in declared)


@pytest.mark.parametrize("data", [b"<html></html>", b"<html><body><script>only()</script></body></html>", b"<!-- -->"])
def test_a_page_without_text_says_so(extract: Extract, data: bytes) -> None:
    with pytest.raises(BadInput) as failure:
        extract(data, HTML)
    assert failure.value.code is FailureCode.NO_TEXT
