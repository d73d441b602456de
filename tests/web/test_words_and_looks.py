"""What is shown: every code has its sentence, numbers read well, text from files is harmless, colours have contrast."""

import re
from collections.abc import Iterator
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

import pytest

from webapp.clock import utc_now
from webapp.documents.states import EventKind, FailureType
from webapp.library.intake import RefusalCode
from webapp.library.status_filter import StatusFilter
from webapp.pipeline.markdown import MarkdownPage
from webapp.provider_errors import FailureCode
from webapp.runs.lifecycle import EndCode
from webapp.runs.stages import STAGES
from webapp.web import formatting, markdown, sentences
from webapp.web.sentences import KeptBecause

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
WORDS = (ROOT / "templates/_words.html").read_text(encoding="utf-8")
TOKENS = (ROOT / "static/css/tokens.css").read_text(encoding="utf-8")
_GENERAL = sentences.failure("no such code")


@pytest.mark.parametrize("code", [*FailureCode, *FailureType, *EndCode])
def test_each_failure_has_a_sentence_of_its_own(code: StrEnum) -> None:
    sentence = sentences.failure(code)
    assert sentence.explanation.endswith(".")
    assert sentence.remedy.endswith(".")
    assert not sentence.title.endswith(".")
    assert code is FailureType.STEP_FAILED or sentence != _GENERAL


def test_the_finer_code_wins_and_the_broader_one_serves() -> None:
    assert sentences.failure("encrypted", "BAD_INPUT").title == "The file is protected by a password"
    assert sentences.failure("unheard_of", "PROCESS_TERMINATED").title == "Processing was interrupted"
    assert sentences.failure(None, None) == _GENERAL


@pytest.mark.parametrize("code", RefusalCode)
def test_each_refusal_has_a_sentence(code: RefusalCode) -> None:
    refusal = sentences.refusal(code, {"bytes_max": 5 * 1024**2, "label": "EPUB book"})
    assert 400 <= refusal.status < 500
    assert "{" not in refusal.detail


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("EPUB book", "an EPUB book"),
        ("PNG image", "a PNG image"),
        ("MP3 recording", "an MP3 recording"),
        ("plain text", "plain text"),
    ],
)
def test_articles(label: str, shown: str) -> None:
    assert f"it is {shown}." in sentences.refusal(RefusalCode.MISMATCH, {"label": label}).detail


@pytest.mark.parametrize("because", KeptBecause)
def test_each_reason_to_keep_a_file_has_a_sentence(because: KeptBecause) -> None:
    sentence = sentences.kept(because, "PNG image")
    assert sentence.title == "This is a PNG image"
    assert sentence.explanation.endswith(".")
    assert sentence.remedy.endswith(".")


def test_each_status_has_a_word_and_a_look_of_its_own() -> None:
    looks = WORDS.partition("set status_looks")[2].partition("%}")[0]
    for status in StatusFilter:
        assert f'"{status.lower()}": "' in WORDS.partition("set status_looks")[0], status
        assert f'"{status.lower()}": "' in looks, status
    assert len(set(re.findall(r': "(\w+)"', looks))) == len(StatusFilter)


def test_each_event_and_step_has_a_word() -> None:
    for kind in EventKind:
        assert f'"{kind.value}"' in WORDS, kind
    for steps in STAGES.values():
        for step in steps:
            assert WORDS.count(f'"{step.doing}"') == 2, step.doing
            assert f'"{step.done}"' in WORDS, step.done


@pytest.mark.parametrize(
    ("size", "shown"),
    [(1, "1 byte"), (812, "812 bytes"), (1500, "1.5 kB"), (512 * 1024**2, "512 MB"), (3 * 1024**4, "3072 GB")],
)
def test_sizes(size: int, shown: str) -> None:
    assert formatting.filesize(size) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.0404, "40 ms"), (1.26, "1.3 s"), (59.4, "59 s"), (59.7, "1 min"), (125, "2 min 5 s"), (11520, "3 h 12 min")],
)
def test_durations(seconds: float, shown: str) -> None:
    assert formatting.duration(seconds) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-5, "moments ago"), (20, "moments ago"), (61, "1 minute ago"), (7300, "2 hours ago"), (200_000, "2 days ago")],
)
def test_ages(seconds: float, shown: str) -> None:
    assert formatting.ago(utc_now() - timedelta(seconds=seconds)) == shown


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[a](javascript:alert(1))",
        "[a](data:text/html;base64,PHNjcmlwdD4=)",
        "![a](https://example.org/pixel.png)",
        '<a href="https://example.org" hx-get="/">a</a>',
        "[a](https://example.org 'x\" onmouseover=\"alert(1)')",
        "<div data-hx-get=/ style=position:fixed>a</div>",
        "`<b onclick=alert(1)>`",
        "<svg><style><!--</style><img src=x onerror=alert(1)>",
    ],
)
def test_rendered_text_can_do_nothing(hostile: str) -> None:
    html = str(markdown.render(hostile))
    for tag in re.findall(r"<[a-z][^>]*>", html):
        assert re.fullmatch(r'<[a-z0-9]+(?: href="(?:https?|mailto):[^"<>]*")?(?: rel="noopener nofollow")?>', tag), tag


# Cyrillic letters but for the last one.
LOOKS_LIKE_PAYPAL = "\u0440\u0430\u0443\u0440\u0430l"


@pytest.mark.parametrize(
    "address",
    [
        "//evil.example",
        "/sign-out",
        "#top",
        "?a=1",
        "page.html",
        "https:evil.example",
        "https:///evil.example",
        "http://",
    ],
)
def test_a_link_without_a_server_of_its_own_is_none(address: str) -> None:
    assert str(markdown.render(f"See [*this* page]({address}).")) == "<p>See <em>this</em> page.</p>\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[Your bank](https://evil.example/bank)", "Your bank</a> (evil.example)"),
        ("[bank.example](https://bank.example@evil.example/)", "bank.example</a> (evil.example)"),
        ("[https://evil.example.bank.example](https://evil.example)", "bank.example</a> (evil.example)"),
        (f"[paypal](https://{LOOKS_LIKE_PAYPAL}.example)", "paypal</a> (xn--l-7sba6dbr.example)"),
        (f"<https://{LOOKS_LIKE_PAYPAL}.example>", f"{LOOKS_LIKE_PAYPAL}.example</a> (xn--l-7sba6dbr.example)"),
        ("[Write](mailto:someone@evil.example)", "Write</a> (someone@evil.example)"),
        ("<https://plain.example/a>", "https://plain.example/a</a></p>"),
        ("[someone@plain.example](mailto:someone@plain.example)", "someone@plain.example</a></p>"),
    ],
)
def test_a_link_says_where_it_leads(text: str, shown: str) -> None:
    assert shown in markdown.render(text)


def test_headings_of_a_text_rank_below_those_of_the_page() -> None:
    assert "<h3>One</h3>" in markdown.render("# One\n\n###### Six")
    assert "<h6>Six</h6>" in markdown.render("# One\n\n###### Six")


def test_a_text_is_cut_between_pages_where_it_can_be() -> None:
    pages = [MarkdownPage(number, "grain " * 2500) for number in range(1, 8)]
    parts = markdown.parts(pages)
    assert [[piece.number for piece in part] for part in parts] == [[1, 2], [3, 4], [5, 6], [7]]
    assert markdown.part_of_page(parts, 6) == 2
    assert markdown.part_of_page(parts, 99) == 3


def test_a_page_that_is_too_long_goes_on_in_the_next_part() -> None:
    parts = markdown.parts([MarkdownPage(None, "word " * 20_000)])
    assert len(parts) == 3
    assert "".join(piece.text for part in parts for piece in part) == "word " * 20_000
    assert [piece.is_start for piece in markdown.rendered(parts, 1)] == [False]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_templates_leave_nothing_to_a_lenient_policy(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"\sstyle=|<style|\son[a-z]+=|javascript:|\|\s*safe", text)
    assert not re.search(r"<script(?![^>]*nonce)", text)
    for form in re.findall(r"<form[^>]*method=\"post\".*?</form>", text, re.DOTALL):
        assert "csrf()" in form, form


def test_each_style_is_linked_and_each_link_is_a_style() -> None:
    base = (ROOT / "templates/base.html").read_text(encoding="utf-8")
    [listed] = re.findall(r"set components = \[(.*?)\]", base, re.DOTALL)
    files = {path.stem for path in (ROOT / "static/css/components").glob("*.css")}
    assert set(re.findall(r'"([a-z]+)"', listed)) == files


def _palette() -> dict[str, tuple[str, str]]:
    pairs = re.findall(r"--([a-z0-9-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);", TOKENS)
    return {name: (light, dark) for name, light, dark in pairs}


def _resolved(role: str) -> tuple[str, str]:
    raw = re.search(rf"--{role}: var\(--([a-z0-9-]+)\);", TOKENS)
    return _palette()[raw[1] if raw else role]


def _luminance(colour: str) -> float:
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrasts(front: str, back: str) -> Iterator[float]:
    for one, other in zip(_resolved(front), _resolved(back), strict=True):
        bright, dim = sorted((_luminance(one), _luminance(other)), reverse=True)
        yield (bright + 0.05) / (dim + 0.05)


@pytest.mark.parametrize(
    ("front", "back"),
    [
        *((text, back) for text in ("text", "text-muted") for back in ("page", "surface", "surface-sunken")),
        *((text, back) for text in ("accent", "bad-text") for back in ("page", "surface")),
        ("accent-strong", "accent-tint"), ("on-accent", "accent"), ("on-accent", "accent-strong"),
        ("on-bad", "bad"), ("working-text", "working-tint"), ("working-text", "surface"), ("good-text", "good-tint"),
        ("bad-text", "bad-tint"), ("kept-text", "kept-tint"), ("late-text", "late-tint"), ("text", "highlight"),
    ],
)  # fmt: skip
def test_words_can_be_read(front: str, back: str) -> None:
    assert min(_contrasts(front, back)) >= 4.5


@pytest.mark.parametrize("role", ["control-line", "focus", "working", "good", "bad", "late"])
def test_lines_and_bars_can_be_seen(role: str) -> None:
    assert min(_contrasts(role, "surface")) >= 3
