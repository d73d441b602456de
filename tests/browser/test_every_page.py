"""Every page, found from the routes: no violation of axe's rules, no console error, nothing that scrolls sideways.

A new page is looked at without being listed here; only what its address is made of has to be known.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests import samples
from tests.bare import dispose, settings_for
from tests.browser import server
from tests.browser.conftest import NewPage
from tests.browser.server import Visit
from tests.browser.test_without_script import FAULTS
from tests.worker.bench import wait_for
from webapp.app import create_app

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

# Each colour scheme once, each width once: rules about colours don't depend on the width.
LOOKS = {"wide and light": (1280, "light"), "narrow and dark": (390, "dark")}
# What is folded together is a part of the page, too.
UNFOLD = "document.querySelectorAll('details:not([open])').forEach((each) => { each.open = true })"
# Signing in is asked of people who are not signed in; the others are a link that works once, an answer to one search,
# and the file itself.
ELSEWHERE = {"account.sign_in", "account.sign_in_link", "answers.show", "original.show"}
RESULTS = {"resultTypes": ["violations"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that may be watched."""
    return tmp_path_factory.mktemp("watched")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Iterator[Visit]:
    """A Docmill of its own: what other tests leave behind would be looked at, too."""
    allowed = {"SOURCE_FOLDERS": str(folder), "WEBHOOK_PRIVATE_ADDRESSES": "1"}
    with server.docmill(tmp_path_factory.mktemp("site"), POLL_SECONDS="0.1", **allowed) as visit:
        yield visit


_PILES: dict[str, Mapping[str, Any]] = {}


@pytest.fixture
def pile(site: Visit, open_page: NewPage, folder: Path, tmp_path: Path) -> Mapping[str, Any]:
    """A library with a little of everything: what addresses are made of. All tests of a site share one."""
    if site.url not in _PILES:
        _PILES[site.url] = _make_pile(open_page(site), folder, tmp_path)
    return _PILES[site.url]


def _make_pile(page: Page, folder: Path, tmp_path: Path) -> Mapping[str, Any]:
    unique = tmp_path.name.encode()
    files = {
        "report.pdf": samples.report_pdf(3) + b"\n%" + unique,
        "table.pdf": samples.table_pdf() + b"\n%" + unique,
        "notes.md": b"# Notes\n\n## Harbours\n\nCall <KX-471199> about the *harbour*. " + unique,
        "prices.csv": b"part,price\nwheel,12.50\nbrake,8.00\n# " + unique,
        "locked.pdf": samples.encrypted_pdf() + b"\n%" + unique,
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    page.set_input_files("#upload-files", [tmp_path / name for name in files])
    for name in files:
        row = page.locator("tr", has=page.get_by_role("link", name=name, exact=True))
        expect(row).not_to_have_attribute("data-status", "processing", timeout=60_000)
    documents = {each["filename"]: each["id"] for each in _ask(page, "GET", "/documents")["documents"]}
    view = _ask(page, "POST", "/views", {"name": "Reports", "query": "in:report"})
    rule = {"name": "Tag reports", "view_id": view["id"], "tags": ["tax/2025"]}
    everything = {"action": "tag", "ids": list(documents.values()), "tags": ["archive/harbour"]}
    operation = _ask(page, "POST", "/bulk", everything)
    wait_for(lambda: bool(_ask(page, "GET", "/tags")["tags"]), "for a tag")
    source = {"kind": "folder", "name": "Scanner", "path": str(folder)}
    made = {
        "document_id": documents["table.pdf"],
        "view_id": view["id"],
        "rule_id": _ask(page, "POST", "/rules", rule)["id"],
        "operation_id": operation["id"],
        "tag_id": _ask(page, "GET", "/tags")["tags"][0]["id"],
        **_webhook(page),
        "token": _ask(page, "POST", f"/views/{view['id']}/shares", {"days": 7})["url"].rsplit("/", 1)[1],
        "source_id": _ask(page, "POST", "/sources", source)["id"],
        "job_id": _ask(page, "GET", "/ops/jobs?status=failed")["jobs"][0]["id"],
        "number": 1,
        "row": 1,
        "column": 1,
    }
    return made | {f"document_id of {name}": documents[name] for name in documents if name != "table.pdf"}


def _webhook(page: Page) -> Mapping[str, str]:
    """A webhook to an address where nobody answers, and a delivery to it."""
    hook = _ask(page, "POST", "/webhooks", {"url": "http://127.0.0.1:9/", "events": ["document.ready"]})
    address = f"/webhooks/{hook['id']}"
    _ask(page, "POST", f"{address}/test")
    return {"webhook_id": hook["id"], "delivery_id": _ask(page, "GET", address)["deliveries"][0]["id"]}


def _ask(page: Page, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
    token = page.locator('meta[name="csrf-token"]').get_attribute("content") or ""
    headers = {"Accept": "application/json", "X-CSRFToken": token}
    answer = page.context.request.fetch(path, method=method, headers=headers, data=dict(body) if body else None)
    assert answer.ok, (path, answer.text())
    return answer.json()


def _addresses(pile: Mapping[str, Any], folder: Path) -> list[str]:
    """Of each route that can be got, and of the page of each document."""
    app = create_app(settings_for(folder, DATABASE_URL=f"sqlite:///{folder}/routes.sqlite3"))
    found: list[str] = ["/no/such/page"]
    with app.test_request_context():
        for rule in app.url_map.iter_rules():
            if "GET" not in (rule.methods or ()) or rule.endpoint in ELSEWHERE or rule.endpoint == "static":
                continue
            if unknown := rule.arguments - pile.keys():
                assert _is_for_programs(rule.rule), f"{rule.rule}: say in the pile what {unknown} is"
                continue
            values = {name: pile[name] for name in rule.arguments}
            _, address = rule.build(values) or ("", "")
            found.append(address)
            if rule.endpoint == "document.show":
                others = (pile[name] for name in pile if name.startswith("document_id of"))
                found += [address.replace(pile["document_id"], each) for each in others]
    dispose(app)
    return sorted(set(found))


def _is_for_programs(rule: str) -> bool:
    return rule.startswith("/worker/")


def _is_page(page: Page, address: str) -> bool:
    """Whether a browser gets a whole page there, and no file, fragment or redirection."""
    answer = page.context.request.get(address, headers={"Accept": "text/html"}, max_redirects=0)
    return answer.headers.get("content-type", "").startswith("text/html") and "<title>" in answer.text()


@pytest.mark.parametrize("look", LOOKS)
def test_every_page_is_accessible(
    site: Visit, open_page: NewPage, pile: Mapping[str, Any], tmp_path: Path, look: str
) -> None:
    width, scheme = LOOKS[look]
    page = open_page(site, viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce")
    visited, faults = [address for address in _addresses(pile, tmp_path) if _is_page(page, address)], {}
    for address in visited:
        page.goto(address)
        found = list(page.evaluate(FAULTS))
        page.evaluate(UNFOLD)
        for each in Axe().run(page, options=RESULTS).response["violations"]:
            found += [f"{each['id']} ({each['impact']}): {node['html'][:200]}" for node in each["nodes"]]
        if found:
            faults[address] = found
    assert faults == {}
    assert len(visited) > 30, "the routes are found"
