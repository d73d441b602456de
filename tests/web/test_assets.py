"""Styles and scripts: kept by browsers for as long as they are what they were."""

import re

import pytest

from tests.web.people import Browser


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_each_address_carries_a_version_and_is_kept(browser: Browser) -> None:
    page = browser.get("/").text
    addresses = re.findall(r'(?:href|src)="(/static/[^"]+)"', page)
    assert len(addresses) > 20
    for address in addresses:
        with browser.client.get(address) as answer:
            assert answer.status_code == 200
            assert "immutable" in answer.headers["Cache-Control"]
            assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_without_a_version_or_with_an_old_one_a_file_is_asked_for_again(browser: Browser) -> None:
    for address in ("/static/js/poll.js", "/static/js/poll.js?v=old"):
        with browser.client.get(address) as answer:
            assert answer.status_code == 200
            assert "immutable" not in answer.headers["Cache-Control"]
            assert answer.headers["ETag"]
