"""The text of a document as pages show it: cut into parts of a readable size, rendered, and made harmless.

The Markdown comes from an uploaded file. It is rendered without raw HTML, and what comes out
passes an allow list: no attribute but the address of a link, and no address but http, https and mailto, or that of
another page of the same text. Behind each link to elsewhere it says where it leads, since its words may say something
else.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from webapp.pipeline.markdown import MarkdownPage
from webapp.search.places import find_run, words_of
from webapp.web.marked_tokens import MARK_ATTRIBUTES, MARK_TAGS, Marking, mark

PART_CHARACTERS = 40_000
_TAGS = {
    "a", "b", "blockquote", "br", "code", "del", "em", "h3", "h4", "h5", "h6", "hr", "i", "li", "ol", "p", "pre", "s",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_HEADINGS_BELOW = 2
# A link of a book to one of its chapters.
_OWN_PAGE = re.compile(r"#page-(\d{1,6})")
# So much of a passage tells it from nearly all others.
_LEAD_CHARACTERS = 200
# Of a long text the parts that have most of a passage's words.
_PARTS_COMPARED = 8


@dataclass(frozen=True)
class Figure:
    """A picture of the text: where it comes from, what stands for it, and the words right before it."""

    url: str
    alt: str
    before: str


@dataclass(frozen=True)
class RenderedPiece:
    """The text of a page, or a part of it, as HTML; `is_start` where the page does not go on from the part before."""

    page: int | None
    html: Markup
    is_start: bool
    figures: Sequence[Figure] = ()
    """Pictures that come right after it."""


def parts(found: Sequence[MarkdownPage]) -> list[list[MarkdownPage]]:
    """Pages put together into parts that a browser shows at once; pages are cut only where they must be."""
    result: list[list[MarkdownPage]] = []
    size = 0
    for piece in found:
        for slice_ in _slices(piece.text):
            if not result or size + len(slice_) > PART_CHARACTERS:
                result.append([])
                size = 0
            result[-1].append(MarkdownPage(piece.number, slice_))
            size += len(slice_)
    return result


def part_of_page(found: Sequence[Sequence[MarkdownPage]], page: int) -> int:
    """The index of the part in which a page begins; of one without text, that in which it would be."""
    has_it = (index for index, part in enumerate(found) if any(piece.number == page for piece in part))
    before = [index for index, part in enumerate(found) if (part[0].number or 0) <= page]
    return next(has_it, before[-1] if before else 0)


def part_of_passage(found: Sequence[Sequence[MarkdownPage]], passage: str, page: int | None) -> int | None:
    """The index of the part that holds a passage of this text; None where none does.

    Parts are looked at from the passage's page on, so that of equal texts the one on that page is found.
    """
    first = part_of_page(found, page) if page else 0
    lead = passage.strip()[:_LEAD_CHARACTERS]
    texts = {index: "\n\n".join(piece.text for piece in part) for index, part in enumerate(found)}
    order: list[int] = [*range(first, len(found)), *range(first)]
    for index in order:
        if lead and lead in texts[index]:
            return index
    wanted = words_of(passage)
    # To look for some words in a part takes far less time than to find its own.
    held = {index: _held(text.casefold(), wanted) for index, text in texts.items()}
    likely = sorted(held, key=lambda index: -held[index])[:_PARTS_COMPARED]
    runs = {index: run for index in likely if (run := find_run(words_of(texts[index]), wanted))}
    return max(runs, key=lambda index: runs[index].share) if runs else None


def _held(text: str, words: Sequence[str]) -> int:
    return sum(word in text for word in set(words))


def rendered(
    found: Sequence[Sequence[MarkdownPage]],
    index: int,
    without_text: Sequence[int] = (),
    marking: Marking | None = None,
    *,
    is_plain: bool = False,
    figures: Mapping[int, Sequence[Figure]] | None = None,
) -> list[RenderedPiece]:
    """One part as HTML, with an empty piece for each of these pages that belongs between its own ones.

    Plain text is shown as it is, and not rendered. A page is cut where it has figures, which are named by its number.
    """
    first = 0 if index == 0 else found[index][0].number or 0
    end = found[index + 1][0].number if index + 1 < len(found) else None
    empty = [RenderedPiece(n, Markup(), is_start=True) for n in without_text if n > first and (end is None or n < end)]
    own = _rendered(found, index, marking, is_plain=is_plain, figures=figures or {})
    return sorted([*own, *empty], key=lambda piece: piece.page or 0)


def _rendered(
    found: Sequence[Sequence[MarkdownPage]],
    index: int,
    marking: Marking | None,
    *,
    is_plain: bool,
    figures: Mapping[int, Sequence[Figure]],
) -> list[RenderedPiece]:
    before = found[index - 1][-1].number if index else None
    texts = [_as_it_is(piece.text) if is_plain else _tokens(piece.text, has_pages=True) for piece in found[index]]
    # Marks put other tokens into their places.
    cuts = [
        _cuts(tokens, figures.get(piece.number or 0, ())) for piece, tokens in zip(found[index], texts, strict=True)
    ]
    if marking is not None:
        mark(texts, marking)
    result = []
    for piece, tokens, places in zip(found[index], texts, cuts, strict=True):
        start = 0
        for end, after in places:
            result.append(RenderedPiece(piece.number, _html(tokens[start:end]), piece.number != before, after))
            before, start = piece.number, end
    return result


def _cuts(tokens: Sequence[Token], figures: Sequence[Figure]) -> list[tuple[int, list[Figure]]]:
    """Where the tokens of a page are cut, each time with the figures that come there; the last place is their end."""
    starts = [place for place, token in enumerate(tokens) if token.level == 0 and token.nesting >= 0]
    words: list[str] = []
    word_starts = []
    for start, end in zip(starts, [*starts[1:], len(tokens)], strict=True):
        word_starts.append(len(words))
        words += [
            word
            for token in tokens[start:end]
            for each in token.children or (token,)
            for word in words_of(each.content)
        ]
    places: dict[int, list[Figure]] = {}
    for figure in figures:
        run = find_run(words, words_of(f"{figure.before} {figure.alt}"))
        block = bisect_right(word_starts, run.end - 1) if run else len(starts)
        place = 0 if not figure.before.strip() else [*starts, len(tokens)][block]
        places.setdefault(place, []).append(figure)
    places.setdefault(len(tokens), [])
    return sorted(places.items())


def render(markdown: str) -> Markup:
    """Markdown as HTML that can do no harm."""
    return _html(_tokens(markdown))


def blocks(source: str) -> list[str]:
    """The texts of the blocks that a page's Markdown becomes, in their order: paragraphs, headings, lists, tables."""
    texts: list[list[str]] = []
    for token in _tokens(source):
        if token.level == 0 and token.nesting >= 0:
            texts.append([])
        texts[-1] += [each.content for each in token.children or (token,)]
    return [" ".join(text) for text in texts]


def _as_it_is(text: str) -> list[Token]:
    return [Token("code_block", "code", 0, content=text, block=True)]


def _tokens(markdown: str, *, has_pages: bool = False) -> list[Token]:
    """`has_pages`: the text's own pages are around, so links to them lead there."""
    tokens = _parser().parse(markdown)
    for token in tokens:
        # The page has its own first and second headings.
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(6, int(token.tag[1]) + _HEADINGS_BELOW)}"
        if token.children:
            token.children = list(_honest_links(token.children, has_pages=has_pages))
    return tokens


def _html(tokens: list[Token]) -> Markup:
    parser = _parser()
    html = parser.renderer.render(tokens, parser.options, {})
    clean = nh3.clean(
        html,
        tags=_TAGS | MARK_TAGS,
        attributes={"*": set(), "a": {"href"}},
        tag_attribute_values=MARK_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener nofollow",
    )
    return Markup(clean)  # noqa: S704 - nh3 has just made it harmless


def _honest_links(tokens: Sequence[Token], *, has_pages: bool) -> Iterator[Token]:
    """Name behind each link where it leads; one without a server of its own ("/sign-out", "//host") is left out."""
    place, words, is_inner = "", "", False
    for token in tokens:
        if token.type == "link_open":
            address = str(token.attrs.get("href", ""))
            place, words, is_inner = _place(address), "", False
            if has_pages and (page := _OWN_PAGE.fullmatch(address)):
                token.attrs["href"], is_inner = f"?page={page[1]}#page-{page[1]}", True
        words += token.content
        if place or is_inner or token.type not in {"link_open", "link_close"}:
            yield token
        if token.type == "link_close":
            if place and words != place and not (token.markup == "autolink" and place in words):
                yield Token("text", "", 0, content=f" ({place})")
            place, is_inner = "", False


def _place(address: str) -> str:
    """The server or the mail address that a link leads to; nothing where it may not lead there."""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
    except ValueError:
        return ""
    if parts.scheme == "mailto":
        return parts.path
    return host if parts.scheme in {"http", "https"} else ""


def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def _slices(text: str) -> Iterator[str]:
    """A page that is too long for one part, cut at empty lines, or at the ends of lines, or anywhere."""
    while len(text) > PART_CHARACTERS:
        places = (text.rfind(end, PART_CHARACTERS // 2, PART_CHARACTERS) for end in ("\n\n", "\n"))
        cut = next((place for place in places if place >= 0), PART_CHARACTERS)
        yield text[:cut]
        text = text[cut:]
    yield text
