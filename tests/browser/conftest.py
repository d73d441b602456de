"""What the tests in a real browser share: one Chromium, a Docmill that works, and one that rests."""

import fcntl
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, Route, StorageState, expect, sync_playwright

from tests import samples
from tests.browser import server
from tests.browser.server import Visit
from tests.chromium import FLAGS, find_chromium
from webapp.providers.models import htmx

NewPage = Callable[..., Page]
_TOKEN = re.compile(r'<meta name="csrf-token" content="([^"]+)">')
CDN = f"{htmx.CDN_URL}*"

# A page may wait for a machine that is busy with other things; a fault shows all the same, only later.
expect.set_options(timeout=15_000)


def cdn_delivers(route: Route) -> None:
    """What the CDN answers, from this machine: tests reach no other."""
    path = htmx.copy_path(server.MODELS)
    route.fulfill(path=path, content_type="application/javascript", headers={"Access-Control-Allow-Origin": "*"})


@pytest.fixture(scope="session")
def working_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    """A Docmill with a worker that looks often."""
    with server.docmill(tmp_path_factory.mktemp("working"), POLL_SECONDS="0.1", MAX_UPLOAD_MB="2") as visit:
        yield visit


@pytest.fixture(scope="session")
def resting_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    """A Docmill that only serves pages, since the host's lock is ours: whatever is uploaded stays in line."""
    folder = tmp_path_factory.mktemp("resting")
    with (folder / "docmill.sqlite3.host").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with server.docmill(folder) as visit:
            yield visit


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """Playwright, once."""
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def chromium(playwright: Playwright) -> Iterator[Browser]:
    """The system's Chromium."""
    browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def owners(chromium: Browser) -> Callable[[Visit], StorageState]:
    """The cookies of the owner of each Docmill: a link works once, so one visit uses it for all tests."""
    known: dict[str, StorageState] = {}

    def of(visit: Visit) -> StorageState:
        if visit.url not in known:
            context = chromium.new_context()
            context.route(CDN, cdn_delivers)
            page = context.new_page()
            page.goto(visit.link)
            page.get_by_role("main").get_by_role("button", name="Sign in").click()
            page.wait_for_url(f"{visit.url}/")
            known[visit.url] = context.storage_state()
            context.close()
        return known[visit.url]

    return of


@pytest.fixture
def empty_library(chromium: Browser, owners: Callable[[Visit], StorageState]) -> Callable[[Visit], Visit]:
    """Deletes what earlier tests left: their files have the same names, and would be taken for this test's own."""

    def emptied(visit: Visit) -> Visit:
        context = chromium.new_context(base_url=visit.url, storage_state=owners(visit))
        token = _TOKEN.search(context.request.get("/account").text())
        assert token
        for place in ("/documents?limit=200", "/bin"):
            left = context.request.get(place, headers={"Accept": "application/json"}).json()["documents"]
            for document in left:
                gone = f"/documents/{document['id']}?purge=1"
                answer = context.request.delete(gone, headers={"X-CSRFToken": token[1]})
                assert answer.status == 204
        context.close()
        return visit

    return emptied


@pytest.fixture
def working(working_server: Visit, empty_library: Callable[[Visit], Visit]) -> Visit:
    """A Docmill that works, with an empty library."""
    return empty_library(working_server)


@pytest.fixture
def resting(resting_server: Visit, empty_library: Callable[[Visit], Visit]) -> Visit:
    """A Docmill that rests, with an empty library."""
    return empty_library(resting_server)


@pytest.fixture
def open_page(chromium: Browser, owners: Callable[[Visit], StorageState]) -> Iterator[NewPage]:
    """Opens a page as the owner. Whatever the console says is an error of ours, but for answers that report one."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def opened(visit: Visit, path: str = "/", cdn: Callable[[Route], None] = cdn_delivers, **options: object) -> Page:
        context = chromium.new_context(base_url=visit.url, storage_state=owners(visit), **options)  # type: ignore[arg-type]
        context.route(CDN, cdn)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda line: complaints.append(line.text) if line.type in {"error", "warning"} else None)
        page.goto(path)
        return page

    yield opened
    for context in contexts:
        context.close()
    # HTMX tells the console of each request that failed; the pages tell people.
    # Chromium also reports a file that was fetched and not used, as HTMX from the CDN is when it comes too late.
    reports = ("Failed to load resource", "Response Status Error Code", "htmx:", f"The resource {htmx.CDN_URL}")
    assert [line for line in complaints if not line.startswith(reports)] == []


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with something to upload, different for each test: the same bytes would be the same document."""
    folder = tmp_path / "files"
    folder.mkdir()
    unique = tmp_path.name.encode()
    (folder / "report.pdf").write_bytes(samples.report_pdf(3) + b"\n%" + unique)
    (folder / "table.pdf").write_bytes(samples.table_pdf() + b"\n%" + unique)
    (folder / "locked.pdf").write_bytes(samples.encrypted_pdf() + b"\n%" + unique)
    (folder / "notes.md").write_bytes(b"# Milling notes\n\nWheat is *ground* between stones. " + unique)
    (folder / "empty.txt").write_bytes(b"")
    (folder / "picture.pdf").write_bytes(b"\x89PNG\r\n\x1a\n" + unique)
    (folder / "program.bin").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(200) + unique)
    (folder / "large.txt").write_bytes(b"word " * 500_000)
    return folder
