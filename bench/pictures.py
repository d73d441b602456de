"""Makes the pictures of docs/images: a real server reads a pile of generated files, and Chromium looks at its pages.

Run as `make pictures`. It measures nothing, but a page that shows an error or does not come ends it.
"""

import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, ViewportSize

from bench._pile import pile
from bench._site import installation, running, until
from tests.chromium import with_browser
from tests.journeys.site import Installation
from tests.postgres import ROOT

_PICTURES_SEEN = """
[...document.images].every((each) => each.getBoundingClientRect().top > innerHeight || each.naturalWidth > 0)
"""
IMAGES = ROOT / "docs" / "images"
WIDE, PHONE = ViewportSize(width=1280, height=860), ViewportSize(width=390, height=844)


def main() -> None:
    """Make all of them."""
    with tempfile.TemporaryDirectory() as folder:
        site = installation(Path(folder))
        with running(site):
            ids = {name: site.upload({name: data})[0]["id"] for name, data in pile().items()}
            until(lambda: all(site.get(f"/documents/{each}/status")["status"] != "PROCESSING" for each in ids.values()))
            link = site.flask("users", "sign-in-link", "--org", "Home", "--email", _person(site)).split()[-1]
            with_browser(lambda browser: _look(browser, site, link, ids))
    print(f"The pictures are in {IMAGES.relative_to(ROOT)}.")


def _person(site: Installation) -> str:
    address = "me@example.org"
    site.flask("users", "create", "--org", "Home", "--email", address, "--role", "operator")
    return address


def _look(browser: Browser, site: Installation, link: str, ids: dict[str, str]) -> None:
    page = browser.new_page(viewport=WIDE)
    page.goto(f"http://127.0.0.1:{site.port}/sign-in/{link.rpartition('/')[2]}")
    if page.locator("form button", has_text="Sign in").count():
        page.locator("form button", has_text="Sign in").click()
    scan = next(each for name, each in ids.items() if name.startswith("Scan"))
    for name, address in {
        "library": "/",
        "document": f"/documents/{scan}/fields",
        "search": "/search?q=when+is+the+lamp+lit",
        "fields": "/fields?q=kind:invoice&sort=-total",
    }.items():
        _shoot(page, site, address, name)
    page.set_viewport_size(PHONE)
    _shoot(page, site, "/", "phone")


def _shoot(page: Page, site: Installation, address: str, name: str) -> None:
    answer = page.goto(f"http://127.0.0.1:{site.port}{address}")
    if answer is None or not answer.ok:
        raise SystemExit(f"{address} did not come")
    page.wait_for_load_state("networkidle")
    until(lambda: page.evaluate(_PICTURES_SEEN))
    page.screenshot(path=IMAGES / f"{name}.png")


if __name__ == "__main__":
    main()
