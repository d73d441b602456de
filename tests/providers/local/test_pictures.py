"""Pages of PDFs are drawn in a child that fits its pictures into a box, whatever the page says of itself."""

import io
import math
import struct
import threading
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests import samples, scans
from webapp.clock import monotonic
from webapp.provider_errors import BadInput, Busy, FailureCode, ParserCrashed, TimedOut
from webapp.providers.local.drawing_seats import DrawingSeats, SeatLimits
from webapp.providers.local.pictures import LocalPictures
from webapp.readers.pdf.picture import SIGNATURE, png

BOX = (200, 400)


@pytest.fixture(scope="module")
def pictures() -> Iterator[LocalPictures]:
    pictures = LocalPictures()
    yield pictures
    pictures.close()


def stored(folder: Path, content: bytes) -> Path:
    path = folder / "original"
    path.write_bytes(content)
    return path


def draw(pictures: LocalPictures, source: Path, number: int = 1) -> bytes | None:
    return pictures.draw(source, number, BOX, timeout_seconds=30)


def read_png(data: bytes) -> np.ndarray:
    """What a picture shows: the tests read what was written by hand."""
    assert data.startswith(SIGNATURE)
    parts, place = {}, len(SIGNATURE)
    while place < len(data):
        [length] = struct.unpack(">I", data[place : place + 4])
        kind, content = data[place + 4 : place + 8], data[place + 8 : place + 8 + length]
        assert struct.unpack(">I", data[place + 8 + length : place + 12 + length]) == (zlib.crc32(kind + content),)
        parts[kind], place = content, place + 12 + length
    assert list(parts) == [b"IHDR", b"IDAT", b"IEND"]
    width, height, *form = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    assert form == [8, 2, 0, 0, 0]
    rows = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(height, 1 + 3 * width)
    assert len(set(rows[:, 0])) == 1
    pixels = rows[:, 1:].reshape(height, width, 3)
    return pixels if rows[0, 0] == 0 else np.cumsum(pixels, axis=1, dtype=np.uint8)


def test_each_page_has_its_own_picture(pictures: LocalPictures, tmp_path: Path) -> None:
    source = stored(tmp_path, samples.report_pdf(3))
    first, second = draw(pictures, source, 1), draw(pictures, source, 2)
    assert first is not None
    assert second is not None
    assert first != second
    height, width = read_png(first).shape[:2]
    assert (width, height) == (BOX[0], math.ceil(BOX[0] * samples.PAGE_HEIGHT / samples.PAGE_WIDTH))
    assert 0 < (read_png(first) < 128).mean() < 0.3
    assert len(first) < 40_000


@pytest.mark.parametrize("number", [0, -1, 4, 2**40])
def test_there_is_no_picture_of_a_page_that_does_not_exist(
    pictures: LocalPictures, tmp_path: Path, number: int
) -> None:
    assert draw(pictures, stored(tmp_path, samples.report_pdf(3)), number) is None


@pytest.mark.parametrize("size", [b"1 30000", b"30000 1", b"14400 14400", b"0 0", b"-5 -5", b"0.001 0.001", b"1e30 1"])
def test_a_page_of_any_size_fits_the_box(pictures: LocalPictures, tmp_path: Path, size: bytes) -> None:
    page = samples.report_pdf(1)
    assert b"595 842]" in page
    picture = draw(pictures, stored(tmp_path, page.replace(b"595 842]", size + b"]")))
    assert picture is not None
    height, width = read_png(picture).shape[:2]
    assert 1 <= width <= BOX[0]
    assert 1 <= height <= BOX[1]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (samples.encrypted_pdf(), FailureCode.ENCRYPTED),
        (samples.truncated_pdf(), FailureCode.CORRUPT),
        (b"%PDF-1.7\nnothing", FailureCode.CORRUPT),
    ],
)
def test_what_cannot_be_opened_is_bad_input(
    pictures: LocalPictures, tmp_path: Path, content: bytes, code: FailureCode
) -> None:
    with pytest.raises(BadInput) as caught:
        draw(pictures, stored(tmp_path, content))
    assert caught.value.code is code


def test_letters_and_photographs_come_back_as_they_were() -> None:
    chance = np.random.default_rng(7)
    letters = np.full((60, 40, 3), 255, np.uint8)
    letters[10:12, 5:30] = 0
    slopes = np.broadcast_to(np.arange(0, 240, 6, dtype=np.uint8)[None, :, None], (60, 40, 3)) + chance.integers(
        0, 3, (60, 40, 3), dtype=np.uint8
    )
    for pixels in (letters, slopes, chance.integers(0, 256, (60, 40, 3), dtype=np.uint8)):
        assert np.array_equal(read_png(png(pixels)), pixels)


@pytest.mark.slow
def test_a_request_behind_too_many_is_refused_at_once(tmp_path: Path) -> None:
    pictures = LocalPictures(everybody=SeatLimits(1, 1), one_org=SeatLimits(1, 1))
    endless, simple = tmp_path / "endless", tmp_path / "simple"
    endless.write_bytes(samples.nested_forms_pdf())
    simple.write_bytes(samples.report_pdf(1))
    with ThreadPoolExecutor() as others:
        first = others.submit(pictures.draw, endless, 1, BOX, timeout_seconds=2)
        deadline = monotonic() + 20
        while not pictures._seats._present and monotonic() < deadline:
            threading.Event().wait(0.001)
        with pytest.raises(Busy, match="at once"):
            pictures.draw(simple, 1, BOX, timeout_seconds=20)
        with pytest.raises((TimedOut, ParserCrashed)):
            first.result(20)
    assert draw(pictures, simple) is not None
    pictures.close()


def test_an_org_leaves_others_a_seat_and_places_to_wait() -> None:
    seats = DrawingSeats(SeatLimits(at_once=2, places=4), SeatLimits(at_once=1, places=2))
    with ThreadPoolExecutor() as others:
        with seats.seat("greedy", 0):
            waiting = others.submit(_sit, seats, "greedy")
            deadline = monotonic() + 20
            while seats._present["greedy"] < 2 and monotonic() < deadline:
                threading.Event().wait(0.001)
            with pytest.raises(Busy, match="too many"):
                _sit(seats, "greedy", 0)
            _sit(seats, "modest", 0)
            assert not waiting.done()
        assert waiting.result(20) is None
    assert seats._present == seats._drawing == {}


def test_a_request_that_waits_too_long_is_refused() -> None:
    seats = DrawingSeats(SeatLimits(at_once=1, places=2), SeatLimits(at_once=1, places=2))
    with seats.seat("a", 0):
        with pytest.raises(Busy, match="in time"):
            _sit(seats, "b", 0.01)
        with pytest.raises(Busy, match="in time"):
            _sit(seats, "c", 0.01)
    _sit(seats, "b", 0)


def _sit(seats: DrawingSeats, org: str, wait_seconds: float = 20) -> None:
    with seats.seat(org, wait_seconds):
        pass


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF"])
def test_a_picture_file_is_drawn_as_its_page(pictures: LocalPictures, tmp_path: Path, kind: str) -> None:
    photo = Image.new("RGB", (300, 900), (200, 30, 30))
    drawn = draw(pictures, stored(tmp_path, scans.as_bytes(photo, kind)))
    assert drawn is not None
    shown = Image.open(io.BytesIO(drawn))
    assert shown.size == (133, 400)
    assert shown.getpixel((60, 200)) == pytest.approx((200, 30, 30), abs=6)


def test_each_page_of_a_fax_has_its_own_picture(pictures: LocalPictures, tmp_path: Path) -> None:
    source = stored(tmp_path, scans.as_bytes(Image.new("L", (90, 90), 10), "TIFF", [Image.new("L", (90, 90), 240)]))
    first, second = (draw(pictures, source, number) for number in (1, 2))
    assert first is not None
    assert second is not None
    assert [Image.open(io.BytesIO(each)).getpixel((9, 9)) for each in (first, second)] == [(10,) * 3, (240,) * 3]
    assert draw(pictures, source, 3) is None
    assert draw(pictures, source, 0) is None


def test_a_photo_is_drawn_as_its_camera_says(pictures: LocalPictures, tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    drawn = draw(pictures, stored(tmp_path, scans.as_bytes(Image.new("L", (900, 300)), "JPEG", exif=exif)))
    assert drawn is not None
    assert Image.open(io.BytesIO(drawn)).size == (133, 400)


def test_a_broken_picture_is_not_drawn(pictures: LocalPictures, tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        draw(pictures, stored(tmp_path, scans.as_bytes(Image.new("RGB", (900, 300)), "PNG")[:200]))
