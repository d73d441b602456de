"""The grid of documents: filter, sort, one page after the other."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from flask import Blueprint, Response, jsonify, request, url_for

from webapp.db import reading_late
from webapp.db.bounded import Count
from webapp.library import grid, lookup, status_counts
from webapp.library.folders import clean_folder
from webapp.library.grid import Cursor, NoCursor, Sort
from webapp.library.status_filter import WHOLE_LIBRARY, StatusFilter
from webapp.search.grammar import Mistake
from webapp.web import fragments, kinds
from webapp.web.access import org_id, services
from webapp.web.document_view import DocumentView, document_views
from webapp.web.errors import Problem
from webapp.web.formatting import counts_json
from webapp.web.library.shown_views import shown_beside
from webapp.web.numbers import whole_number
from webapp.web.query_mistakes import sentence
from webapp.web.reads import may_be_late
from webapp.web.shapes import document_json

pages = Blueprint("library", __name__)

PAGE_ROWS = 50
PAGE_ROWS_MAX = 200
_RARE = {StatusFilter.PARTLY_READ, StatusFilter.KEPT, StatusFilter.TIMED_OUT}

# How the library looks is kept in cookies, so that each row that is asked for alone looks like the others.
_LOOKS = {"look": ("list", "roomy", "tiles"), "names": ("file", "title")}
_LOOK_SECONDS = 365 * 86_400

Choice = TypeVar("Choice", bound=StrEnum)


@dataclass(frozen=True)
class Query:
    """What of the library is asked for."""

    status: StatusFilter | None
    q: str
    folder: str | None
    sort: Sort
    cursor: Cursor | None
    limit: int

    def url(self, endpoint: str = "library.index", **changes: object) -> str:
        """The address of this view with some of its parameters changed; a cursor only where it is given."""
        kept = {
            "q": self.q,
            "folder": self.folder,
            "status": self.status.lower() if self.status else None,
            "sort": self.sort.value,
        }
        wanted = {**kept, **changes}
        if wanted["sort"] == Sort.NEWEST:
            wanted["sort"] = None
        return url_for(endpoint, **fragments.without(wanted))

    @property
    def is_filtered(self) -> bool:
        """Whether documents are left out for another reason than their status."""
        return bool(self.q or self.folder)


@dataclass(frozen=True)
class Tab:
    """A status to filter by; None is all of them."""

    value: str | None
    count: Count | None
    url: str
    is_current: bool


@dataclass(frozen=True)
class Tabs:
    """The tabs of the statuses, ready to be shown."""

    query: Query
    library: Mapping[StatusFilter, Count]
    """How many documents of the whole library have each status."""
    counts: Mapping[StatusFilter, Count] | None
    """How many of those that the filter means; None where they are not counted yet."""
    can_be_counted: bool = True

    @property
    def url(self) -> str:
        """Where the tabs with their present counts are."""
        return self.query.url("library.counts")

    @property
    def is_uncounted(self) -> bool:
        """Whether the page has to ask for the counts."""
        return self.counts is None and self.can_be_counted

    @property
    def is_moving(self) -> bool:
        """Whether counts will change by themselves, be it by documents that are on no page that is open."""
        return self.counts is not None and bool(self.library[StatusFilter.PROCESSING])

    @property
    def shown(self) -> list[Tab]:
        """All, then each status; some are rare, and have their tabs only where there is one, or they are chosen."""
        chosen, counts = self.query.status, self.counts
        shown = [one for one in StatusFilter if self.library[one] or one == chosen or one not in _RARE]
        number = sum((counts[one] for one in WHOLE_LIBRARY), Count()) if counts else None
        return [
            Tab(None, number, self.query.url(status=None), chosen is None),
            *(
                Tab(one.lower(), counts[one] if counts else None, self.query.url(status=one.lower()), one == chosen)
                for one in shown
            ),
        ]


@dataclass(frozen=True)
class Header:
    """A column. `url` sorts by it; `aria` says how it is sorted now."""

    key: str
    url: str | None = None
    aria: str | None = None
    is_number: bool = False


@dataclass(frozen=True)
class Grid:
    """One page of the library, ready to be shown."""

    query: Query
    rows: list[DocumentView]
    counts: dict[StatusFilter, Count]
    """Those of the whole library, whatever the filter is."""
    next_cursor: Cursor | None
    mistake: str | None = None
    """What is wrong with the filter, in a sentence."""

    @property
    def library_is_empty(self) -> bool:
        return not any(self.counts.values())

    @property
    def status(self) -> str | None:
        return self.query.status.lower() if self.query.status else None

    @property
    def q(self) -> str:
        return self.query.q

    @property
    def folder(self) -> str | None:
        return self.query.folder

    @property
    def url_without_folder(self) -> str:
        return self.query.url(folder=None)

    @property
    def sort(self) -> str:
        return self.query.sort

    @property
    def sorts(self) -> list[str]:
        return [sort.value for sort in Sort]

    @property
    def url(self) -> str:
        return self.query.url()

    @property
    def may_be_saved(self) -> bool:
        """Whether there is a filter or an order that a view could keep."""
        query = self.query
        return self.mistake is None and bool(query.q or query.folder or query.status or query.sort != Sort.NEWEST)

    def url_with(self, **look: str) -> str:
        """The address of this view in another look."""
        return self.query.url(**look)

    @property
    def next_url(self) -> str | None:
        return self.query.url(cursor=self.next_cursor) if self.next_cursor else None

    @property
    def is_continued(self) -> bool:
        """Whether there are rows before these: the page then offers a way back."""
        return self.query.cursor is not None and not fragments.wants_fragment()

    @property
    def tabs(self) -> Tabs:
        """The tabs: with the counts of the whole library, or without counts where a filter is to be counted later."""
        return Tabs(self.query, self.counts, None if self.query.is_filtered else self.counts, self.mistake is None)

    @property
    def headers(self) -> list[Header]:
        """The columns; a click on the one that is sorted by date turns it around."""
        sort, url = self.query.sort, self.query.url
        dates = {Sort.NEWEST: "descending", Sort.OLDEST: "ascending"}
        by_date = Sort.OLDEST if sort == Sort.NEWEST else Sort.NEWEST
        return [
            Header("name", url(sort=Sort.NAME), "ascending" if sort == Sort.NAME else None),
            Header("status"),
            Header("pages", is_number=True),
            Header("size", url(sort=Sort.LARGEST), "descending" if sort == Sort.LARGEST else None, is_number=True),
            Header("added", url(sort=by_date), dates.get(sort), is_number=True),
        ]


@pages.get("/")
def index() -> Response:
    """The library."""
    return _show()


@pages.get("/documents")
def listing() -> Response:
    """The same under the name that programs expect."""
    return _show()


@pages.get("/documents/counts")
def counts() -> Response:
    """How many documents that the filter means have each status: the tabs, which the page asks for by itself."""
    query, org = _query(), org_id()

    def read() -> Tabs:
        found = status_counts.read(org, query.q, query.folder)
        return Tabs(query, found.library, found.filtered)

    shown = reading_late(org, read, may_be_late=may_be_late())
    if fragments.is_for_program():
        return jsonify(counts_json(shown.counts or {}))
    return fragments.replacing("library/_tabs.html", tabs=shown)


def _show() -> Response:
    query = _query()
    try:
        return _answer(_grid(query))
    except Mistake as mistake:
        if fragments.is_for_program():
            raise
        org = org_id()
        library = reading_late(org, lambda: lookup.counts(org), may_be_late=may_be_late())
        return fragments.invalid(_answer(Grid(query, [], library, None, sentence(mistake))), "#results")


def _answer(shown: Grid) -> Response:
    response = fragments.answer(
        page="library/page.html",
        fragment="library/_grid.html",
        data=lambda: {
            "documents": [document_json(row) for row in shown.rows],
            "next_cursor": str(shown.next_cursor) if shown.next_cursor else None,
            **counts_json(shown.counts),
        },
        grid=shown,
        tabs=shown.tabs,
        kinds=kinds.words(services().providers),
        # A fragment and a program have no bar.
        views=[] if fragments.wants_fragment() or fragments.is_for_program() else shown_beside(request.args),
        is_counted=False,
    )
    for name, known in _LOOKS.items():
        if (value := request.args.get(name)) in known:
            response.set_cookie(name, str(value), max_age=_LOOK_SECONDS, samesite="Lax", secure=request.is_secure)
    return response


def _grid(query: Query) -> Grid:
    org = org_id()

    def read() -> Grid:
        found = grid.page(
            org,
            status=query.status,
            q=query.q,
            folder=query.folder,
            sort=query.sort,
            cursor=query.cursor,
            limit=query.limit,
        )
        library = lookup.counts(org)
        return Grid(query, document_views(services().queue, found.rows), library, found.next_cursor)

    return reading_late(org, read, may_be_late=may_be_late())


def _query() -> Query:
    arguments = request.args
    sort = choice(Sort, "sort", arguments.get("sort", "")) or Sort.NEWEST
    return Query(
        status=choice(StatusFilter, "status", arguments.get("status", "")),
        # A NUL cannot be stored, so no name has one; PostgreSQL would refuse the whole question.
        q=arguments.get("q", "").replace("\0", "").strip(),
        folder=asked_folder(arguments.get("folder", "")),
        sort=sort,
        cursor=_cursor(arguments.get("cursor", ""), sort),
        limit=_limit(arguments.get("limit", "")),
    )


def asked_folder(given: str) -> str | None:
    """The folder that is asked for; None where none is, 422 where it can be none: that is not the whole library."""
    folder = clean_folder(given)
    if given.strip() and folder is None:
        raise Problem(422, detail="folder must be the path of a folder, as in Tax/2025.")
    return folder


def choice(choices: type[Choice], name: str, value: str) -> Choice | None:
    """A value of the query that has to be one of these; None where there is none."""
    try:
        return choices(value) if value else None
    except ValueError as error:
        known = ", ".join(choice.value for choice in choices)
        raise Problem(422, detail=f"{name} must be one of: {known}.") from error


def _cursor(text: str, sort: Sort) -> Cursor | None:
    if not text:
        return None
    try:
        found = Cursor.parse(text)
    except NoCursor as error:
        raise Problem(422, detail="cursor must be the next_cursor of an earlier answer.") from error
    if found.sort is not sort:
        raise Problem(422, detail="cursor belongs to another sort.")
    return found


def _limit(value: str) -> int:
    if not value:
        return PAGE_ROWS
    return whole_number(value, "limit", PAGE_ROWS_MAX)
