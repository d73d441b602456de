"""From the key to the first result in a browser, beside 100,000 passages, and a bare page of the same size beside it.

Run as `python -m bench.result_page [--passages 100000] [--searches 60]` (needs chromium; the models and the copy of
HTMX of the tests). The server runs on SQLite. Each search is another one, so its words are embedded each time. The time
is the browser's own: from the key Enter until the first hit is painted. The bare page is a file of the same size that a
server without a database sends, fetched and shown at a key in the same browser, in turns with the searches.
"""

import argparse
import random
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from uuid import UUID

import numpy as np
from playwright.sync_api import Page, sync_playwright

from bench import _library_of_texts as of_texts
from bench._library_of_texts import Text
from bench._place import ROOT, Place, place
from bench._table import row, title
from tests.chromium import FLAGS, find_chromium
from tests.emulators.ports import free_port
from tests.search.passages import chunk, new_document, new_org, random_directions
from webapp.accounts import sign_in, users
from webapp.accounts.roles import Role
from webapp.accounts.sessions import Visit
from webapp.db import transaction
from webapp.documents.model import Document
from webapp.search import index

MODEL, DIMENSIONS = "minilm-l6-v2-int8", 384
WANTED_MS = 150
START_SECONDS = 60.0
# From the key until what it brought has been painted.
_TIMER = """(found) => new Promise((done) => {
  let start = 0;
  addEventListener("keydown", (event) => { if (event.key === "Enter" && !start) start = performance.now(); }, true);
  const seen = new MutationObserver(() => {
    if (!start || !document.querySelector(found)) return;
    seen.disconnect();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
  });
  seen.observe(document.body, { childList: true, subtree: true });
})"""
_BARE = """<!doctype html><title>bare</title><input id="q"><div id="hits"></div><script>
document.querySelector("#q").addEventListener("keydown", async (event) => {
  if (event.key === "Enter") document.querySelector("#hits").innerHTML = await (await fetch("/page")).text();
});</script>"""


def main() -> None:
    """Measure, and print both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--searches", type=int, default=60)
    options = parser.parse_args()
    library = of_texts.texts(1_500)
    with place("sqlite") as at:
        org_id = new_org()
        for text in of_texts.shuffled(library, options.passages):
            _shelve(org_id, text)
        questions = _questions(library, options.searches + 5)
        with _serving(at) as url, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
            context = browser.new_context(base_url=url)
            context.add_cookies([{"name": "docmill_session", "value": _session(org_id), "url": url}])
            _measure(context.new_page(), questions, options.passages)
            browser.close()


def _measure(page: Page, questions: Sequence[str], passages: int) -> None:
    page.goto("/search")
    page.wait_for_function("'htmx' in window")
    with _bare_server() as bare:
        other = page.context.new_page()
        ours: list[float] = []
        beside: list[float] = []
        for question in questions:
            ours.append(_timed(page, question))
            bare.page = page.evaluate("document.querySelector('#hits').outerHTML").encode()
            other.goto(bare.url)
            beside.append(_timed(other, question))
        size_kb = len(bare.page) / 1024
    # The first ones find everything cold: the matrix of vectors, the model.
    ours, beside = ours[5:], beside[5:]
    title(f"The result page, {passages} passages, sqlite, {len(ours)} searches, some {size_kb:.0f} kB each")
    for share, wanted in ((0.5, None), (0.95, WANTED_MS)):
        ms, peer = float(np.quantile(ours, share)), float(np.quantile(beside, share))
        row(
            f"key to first result, p{share * 100:.0f}",
            f"{ms:.0f} ms",
            wanted=f"≤ {wanted} ms" if wanted else "",
            beside=f"bare page {peer:.0f} ms",
            holds=ms <= wanted if wanted else None,
        )


def _timed(page: Page, question: str) -> float:
    """Type a question, press Enter, and tell the milliseconds until there is something new to see."""
    # What lies behind another page is painted once a second.
    page.bring_to_front()
    page.evaluate("document.querySelector('#hits').replaceChildren()")
    page.locator("#q").fill(question)
    page.evaluate(f"() => {{ window.timed = ({_TIMER})('#hits [data-hit]'); }}")
    page.locator("#q").press("Enter")
    return float(page.evaluate("window.timed"))


def _questions(library: Sequence[Text], count: int) -> list[str]:
    """Some words of a passage each, in another order."""
    chance = random.Random(5)
    every = [passage.split() for text in library for passage in text.passages]
    words = [[word for word in passage if word.isalpha() and word != "OR"] for passage in every]
    long = [each for each in words if len(each) > 12]
    return [" ".join(chance.sample(chance.choice(long), 4)) for _ in range(count)]


def _shelve(org_id: UUID, text: Text) -> None:
    document_id = new_document(org_id, f"{text.name}.txt")
    vectors = random_directions(len(text.passages), DIMENSIONS, seed=hash(text.name) % 2**32)
    passages = [
        chunk(document_id, number, passage, embedding=vectors[number], embedding_model=MODEL)
        for number, passage in enumerate(text.passages)
    ]
    with transaction(org_id) as opened:
        index.replace(org_id, document_id, passages, {})
        found = opened.get_one(Document, document_id)
        found.embedding_model = MODEL


def _session(org_id: UUID) -> str:
    with transaction(org_id):
        user = users.create(org_id, "bench@example.org", Role.MEMBER)
    return sign_in.start_session(user, days=1, visit=Visit(address="127.0.0.1"))


@contextmanager
def _serving(at: Place) -> Iterator[str]:
    """The product's own server on this database."""
    port = free_port()
    environment = at.environment(PORT=str(port), HTMX_URL="local", MODELS_DIR=str(ROOT / ".cache" / "models"))
    server = subprocess.Popen([str(ROOT / ".venv/bin/gunicorn"), "wsgi:app"], cwd=ROOT, env=environment)
    try:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            with suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz").close()
                break
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(60)


class _BareServer(ThreadingHTTPServer):
    """A server that sends one page, and what it shows at a key."""

    page = b""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"


class _Answer(BaseHTTPRequestHandler):
    server: _BareServer

    def do_GET(self) -> None:
        body = self.server.page if self.path == "/page" else _BARE.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing."""


@contextmanager
def _bare_server() -> Iterator[_BareServer]:
    with _BareServer(("127.0.0.1", 0), _Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


if __name__ == "__main__":
    main()
