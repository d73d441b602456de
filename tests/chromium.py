"""Where this machine's Chromium is: Playwright drives the system's own, so that nothing is downloaded."""

import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from playwright.sync_api import Browser, sync_playwright

Made = TypeVar("Made")

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")


def find_chromium() -> str | None:
    """The path of a browser that Playwright can drive: CHROMIUM where it is set, else the system's."""
    chosen = os.environ.get("CHROMIUM")
    if chosen:
        return shutil.which(chosen)
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def with_browser(do: Callable[[Browser], Made]) -> Made:
    """Do something with a browser of its own, which is closed afterwards.

    In a thread of its own: Playwright starts once in a thread, and the tests of pages keep it started in theirs.
    """

    def run() -> Made:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
            try:
                return do(browser)
            finally:
                browser.close()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(run).result()
