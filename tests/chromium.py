"""Where this machine's Chromium is: Playwright drives the system's own, so that nothing is downloaded."""

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")


def find_chromium() -> str | None:
    """The path of a browser that Playwright can drive: CHROMIUM where it is set, else the system's."""
    chosen = os.environ.get("CHROMIUM")
    if chosen:
        return shutil.which(chosen)
    return next((path for name in NAMES if (path := shutil.which(name))), None)
