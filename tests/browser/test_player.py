"""Listening to a recording: a click plays a sentence, the text follows, the keyboard is enough, a hit begins there."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests import sounds
from tests.browser import server
from tests.browser.conftest import NewPage
from tests.browser.server import Visit
from tests.emulators.speechkit import SpeechKitServer

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

READY = 30_000
TIME = "document.querySelector('[data-audio]').currentTime"


@pytest.fixture(scope="module")
def listening(tmp_path_factory: pytest.TempPathFactory, speechkit_server: SpeechKitServer) -> Iterator[Visit]:
    """A Docmill that has its calls heard by the emulator."""
    speechkit_server.reset()
    with server.docmill(
        tmp_path_factory.mktemp("listening"),
        POLL_SECONDS="0.1",
        SPEECHKIT_API_KEY=speechkit_server.key,
        SPEECHKIT_URL=speechkit_server.url,
        SPEECHKIT_POLL_INTERVAL_MS="200",
    ) as visit:
        yield visit


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("calls") / "weekly call.wav"
    path.write_bytes(sounds.wav(sounds.two_speakers(60), channels=2))
    return path


@pytest.fixture
def page(listening: Visit, open_page: NewPage, call: Path) -> Page:
    """The page of the call, once it is ready."""
    page = open_page(listening)
    page.set_input_files("#upload-files", [call])
    row = page.locator("tr", has=page.get_by_role("link", name=call.name, exact=True)).first
    expect(row).to_have_attribute("data-status", "ready", timeout=READY)
    row.get_by_role("link", name=call.name, exact=True).click()
    expect(page.locator("[data-player]")).to_be_visible()
    # Before the script is there, a sentence is a plain link that leads away to the recording itself.
    page.wait_for_load_state("networkidle")
    return page


def moment(page: Page) -> float:
    found: float = page.evaluate(TIME)
    return found


def until(page: Page, condition: str, looks: int = 200) -> None:
    """Look again and again: Playwright's own way of waiting is an eval, which pages forbid."""
    for _ in range(looks):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"this never came true: {condition}")


def is_playing(page: Page) -> bool:
    found: bool = page.evaluate("!document.querySelector('[data-audio]').paused")
    return found


def test_a_click_on_a_sentence_plays_it_and_marks_it(page: Page) -> None:
    sentence = page.locator(".said").nth(12)
    start = float(sentence.get_attribute("data-at") or 0)
    sentence.click()
    until(page, f"{TIME} > {start} + 0.2")
    expect(sentence).to_have_attribute("aria-current", "true")
    assert start < moment(page) < start + 5
    assert is_playing(page)
    until(page, "document.querySelector('[data-played]').getAttribute('width') > 0")


def test_the_text_follows_what_is_played(page: Page) -> None:
    last = page.locator(".said").last
    start = float(last.get_attribute("data-at") or 0)
    expect(last).not_to_be_in_viewport()
    page.evaluate(f"{TIME} = {start - 0.5}; document.querySelector('[data-audio]').play()")
    expect(last).to_have_attribute("aria-current", "true")
    expect(last).to_be_in_viewport()


def test_the_keyboard_is_enough(page: Page) -> None:
    page.locator(".turn .moment-link").nth(3).focus()
    page.keyboard.press("Enter")
    until(page, f"{TIME} > 1")
    page.keyboard.press(" ")
    until(page, "document.querySelector('[data-audio]').paused")
    before = moment(page)
    page.keyboard.press("ArrowRight")
    until(page, f"{TIME} > {before} + 4.5")
    page.keyboard.press("ArrowLeft")
    until(page, f"{TIME} < {before} + 0.5")
    page.keyboard.press("ArrowDown")
    until(page, f"{TIME} > {before}")
    expect(page.locator(".said[aria-current]")).to_have_count(1)


def test_a_click_on_the_wave_goes_there(page: Page) -> None:
    wave = page.locator("[data-wave]")
    until(page, "document.querySelector('[data-audio]').readyState > 0")
    box = wave.bounding_box()
    assert box is not None
    wave.click(position={"x": box["width"] / 2, "y": box["height"] / 2})
    until(page, f"Math.abs({TIME} - 30) < 3")


def test_a_hit_begins_at_its_moment(page: Page, listening: Visit) -> None:
    page.goto("/search?q=invoice")
    hit = page.locator(".passage-source").first
    target = float((hit.get_attribute("href") or "").rpartition("#t=")[2])
    hit.click()
    expect(page.locator("[data-player]")).to_be_visible()
    until(page, f"Math.abs({TIME} - {target}) < 0.5")
    expect(page.locator(".said[aria-current]")).to_have_count(1)


def test_without_script_each_sentence_is_a_link_into_the_sound(
    page: Page, listening: Visit, open_page: NewPage
) -> None:
    address = page.url
    plain = open_page(listening, address, java_script_enabled=False)
    expect(plain.locator("audio[controls]")).to_be_visible()
    expect(plain.get_by_text("Follow in the text")).to_be_hidden()
    link = plain.locator(".said").nth(2)
    assert "/audio#t=" in (link.get_attribute("href") or "")
    link.click()
    # The browser's own player, which the answer's policy lets play.
    expect(plain.locator("video, audio")).to_be_visible()


def test_nothing_overflows_on_a_small_screen(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    width: int = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 360
