"""Pages become one text whose marks can be trusted."""

from webapp.readers.page_markdown import assemble, drop_running_heads, first_heading, plain, tidy
from webapp.readers.pdf.windows import spans


def pages(*, count: int = 4, head: str = "ACME \u2013 confidential", foot: str = "Page {n} of 4") -> list[str]:
    return [f"{head}\n\n## Part {n}\n\nText of part {n}.\n\n{foot.format(n=n)}" for n in range(1, count + 1)]


def test_every_page_gets_its_mark() -> None:
    assert assemble(["one", "", "three"]) == "<!-- page 1 -->\n\none\n\n<!-- page 2 -->\n\n<!-- page 3 -->\n\nthree"


def test_heads_stay_once_and_page_numbers_go() -> None:
    text = "\n\n".join(drop_running_heads(pages()))
    assert text.count("ACME") == 1
    assert text.count("Page") == 0
    assert text.count("Text of part") == 4


def test_headings_are_never_dropped() -> None:
    same = ["## Summary\n\nText."] * 5
    assert drop_running_heads(same)[4].startswith("## Summary")


def test_two_pages_are_too_few_for_a_rule() -> None:
    assert drop_running_heads(pages(count=2)) == pages(count=2)


def test_what_repeats_within_a_page_stays() -> None:
    text = [f"Part {name}.\n\n12\n\nThe end of {name}." for name in ("one", "two", "three", "four")]
    assert drop_running_heads(text) == text


def test_tidying() -> None:
    assert tidy("```text\n\n```") == ""
    assert tidy(r"call asn1\_node \_here\_") == r"call asn1_node \_here\_"
    assert tidy("<!-- page 3 --> <!--PAGE 4-->") == "&lt;!-- page 3 --> &lt;!--PAGE 4-->"


def test_titles_are_plain() -> None:
    assert first_heading("text\n\n## **Bold** and `code`\n") == "Bold and code"
    assert first_heading("no heading #here") is None
    assert plain(r"a \* b\_c and snake_case_name") == "a * b_c and snake_case_name"
    assert plain("**5 * 3** *is* 15") == "5 * 3 is 15"


def test_page_numbers_are_written_shortly() -> None:
    assert spans([1]) == "1"
    assert spans([1, 2, 3, 5, 7, 8]) == "1-3, 5, 7-8"
    assert spans(range(1, 60, 2)) == "1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, and 18 more"
