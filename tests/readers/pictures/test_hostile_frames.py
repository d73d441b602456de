"""Picture files whose sizes, frames, lengths and notes lie: they are counted and drawn within limits, or refused."""

import io
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image

from tests import scans
from tests.postgres import ROOT
from tests.readers.pictures.test_hostile_pictures import SMALL, bitmap, gif_of, part, png, tiff
from webapp.clock import monotonic
from webapp.provider_errors import BadInput
from webapp.providers.local.ocr import LocalOcr, OcrOptions, PagesOf
from webapp.providers.local.pictures import LocalPictures

pytestmark = pytest.mark.slow

SECONDS_MAX, PAGES_MAX = 60, 2_000
ROW = zlib.compress(b"\0" * 110)
ONE = [
    (256, 4, 1, 10),
    (257, 4, 1, 10),
    (258, 3, 1, 8),
    (262, 3, 1, 1),
    (273, 4, 1, 8),
    (278, 4, 1, 10),
    (279, 4, 1, 99),
]
Make = Callable[[], bytes]


def phone() -> bytes:
    return (ROOT / "tests" / "providers" / "local" / "phone.heic").read_bytes()


def resized(width: int, height: int) -> bytes:
    """A HEIC file that says that it has so many pixels."""
    data = bytearray(phone())
    place = data.find(b"ispe")
    while place >= 0:
        data[place + 8 : place + 16] = struct.pack(">II", width, height)
        place = data.find(b"ispe", place + 4)
    return bytes(data)


def jpeg(before: bytes = b"", size: tuple[int, int] | None = None) -> bytes:
    """A JPEG file with more segments, or with another size in its head."""
    data = bytearray(scans.as_bytes(SMALL, "JPEG"))
    if size is not None:
        place = data.find(b"\xff\xc0")
        data[place + 5 : place + 9] = struct.pack(">HH", size[1], size[0])
    return bytes(data[:2] + before + data[2:])


def segment(kind: int, data: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, kind, len(data) + 2) + data


def exif(*entries: tuple[int, int, int, int], after: int = 0, data: bytes = b"") -> bytes:
    return segment(0xE1, b"Exif\0\0" + tiff(list(entries), after, data))


def bitmap_of(**fields: int) -> bytes:
    """A bitmap with other fields in its head: where they are, and what they say."""
    data = bytearray(bitmap(10, 10))
    for name, number in fields.items():
        struct.pack_into("<I", data, int(name[1:]), number)
    return bytes(data)


def chain(count: int) -> bytes:
    """A TIFF with so many directories, one behind the other."""
    size = 2 + 12 * len(ONE) + 4
    fields = b"".join(struct.pack("<HHII", *entry) for entry in ONE)
    each = (
        struct.pack("<H", len(ONE)) + fields + struct.pack("<I", 8 + size * number if number < count else 0)
        for number in range(1, count + 1)
    )
    return b"II*\0" + struct.pack("<I", 8) + b"".join(each) + bytes(100)


def moving(count: int) -> bytes:
    frame = struct.pack("<HHBBI", 0, 0, 9, 9, 100) + b"\0" * 6
    frames = b"".join(b"ANMF" + struct.pack("<I", len(frame)) + frame for _ in range(count))
    body = b"WEBPVP8X" + struct.pack("<IB3x", 10, 2) + b"\xff" * 6 + b"ANIM" + struct.pack("<IIH", 6, 0, 0) + frames
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _heic() -> Iterator[tuple[str, Make]]:
    for share in (0.1, 0.4, 0.8, 0.98):
        yield f"cut at {share}", lambda share=share: phone()[: int(share * len(phone()))]  # type: ignore[misc]
    yield "of 3,600 MP", lambda: resized(60_000, 60_000)
    yield "of 2^32 columns", lambda: resized(2**32 - 1, 2**32 - 1)
    yield "without pixels", lambda: resized(0, 0)
    yield "a thousand times smaller than it is", lambda: resized(1, 1)
    yield "places beyond the end", lambda: phone().replace(b"iloc", b"iloc\xff\xff\xff\xff")
    yield "properties that are not there", lambda: phone().replace(b"ipma", b"xxxx")
    yield "zeros for pixels", lambda: phone()[:-4_000] + bytes(4_000)
    yield "noise for pixels", lambda: phone()[:-4_000] + bytes(range(256)) * 16
    yield "a brand alone", lambda: b"\0\0\0\x14ftypheic\0\0\0\0heic"


FILES: dict[str, Make] = {
    **{f"HEIC {name}": make for name, make in _heic()},
    "PNG with 4 GB of pixels that are not there": lambda: png(180, 60, b"")[:33] + b"\xff\xff\x02\xa3IDAT" + ROW,
    "PNG with 4 GB behind its pixels": lambda: png(10, 10, ROW)[:-12] + b"\xff\xff\xff\xf0tEXt" + b"x" * 40,
    "PNG with 100,000 texts": lambda: png(10, 10, ROW, more=part(b"tEXt", b"a\0b") * 100_000),
    "PNG that moves a million times": lambda: png(10, 10, ROW, more=part(b"acTL", struct.pack(">II", 10**6, 0))),
    "PNG with a palette of nothing": lambda: png(10, 10, ROW, colour=3),
    "PNG of 99 bits": lambda: png(10, 10, ROW, depth=99),
    "PNG of 100 MP that is not there": lambda: png(10_000, 9_999, ROW),
    "PNG turned by its notes": lambda: png(10, 10, ROW, more=part(b"eXIf", tiff([(0x112, 2, 2**31, 8)]))),
    "PNG with a resolution of nothing": lambda: png(
        10, 10, ROW, more=part(b"pHYs", struct.pack(">IIB", 0, 2**32 - 1, 1))
    ),
    "GIF of a thousand frames": lambda: gif_of(1_000),
    "GIF with codes of 99 bits": lambda: b"GIF89a\x0a\0\x0a\0\0\0\0,\0\0\0\0\x0a\0\x0a\0\0\x63\x01\0\0;",
    "GIF of frames without a size": lambda: b"GIF89a\x0a\0\x0a\0\0\0\0" + b",\0\0\0\0\0\0\0\0\0\x02\0" * 50_000 + b";",
    "GIF with a comment that never ends": lambda: b"GIF89a\x0a\0\x0a\0\0\0\0!\xfe" + b"\xff" * 500_000,
    "TIFF of a thousand frames": lambda: chain(1_000),
    "TIFF of 100,000 frames": lambda: chain(100_000),
    "TIFF with 65,535 fields": lambda: tiff([(index % 60_000, 3, 1, 1) for index in range(65_535)]),
    "TIFF with tiles of 2^31": lambda: tiff([*ONE, (322, 4, 1, 2**31), (323, 4, 1, 2**31), (324, 4, 1, 8)]),
    "TIFF of 65,535 colours": lambda: tiff([*ONE, (277, 3, 1, 65_535)]),
    "TIFF of 64 bits": lambda: tiff([(258, 3, 1, 64), *ONE[:2], *ONE[3:]]),
    "TIFF without rows in a strip": lambda: tiff([*ONE[:5], (278, 4, 1, 0), ONE[6]]),
    "TIFF packed in an unknown way": lambda: tiff([*ONE, (259, 3, 1, 60_000)]),
    "TIFF of a fax that is none": lambda: tiff([*ONE, (259, 3, 1, 4)]) + b"\xaa" * 500,
    "TIFF of a JPEG that is none": lambda: tiff([*ONE, (259, 3, 1, 7)]) + b"\xff\xd8" * 500,
    "TIFF of LZW that unfolds": lambda: tiff([*ONE, (259, 3, 1, 5)]) + b"\x80\x0b\x60\x50" * 500,
    "BMP of RLE without end": lambda: bitmap_of(_30=1) + b"\xff\x01" * 50_000,
    "BMP with a palette of 2^31": lambda: bitmap_of(_28=8, _46=2**31),
    "BMP with a head of 2^31 bytes": lambda: bitmap_of(_14=2**31),
    "BMP that begins beyond its end": lambda: bitmap_of(_10=2**31),
    "BMP of masks": lambda: bitmap_of(_28=32, _30=3),
    "JPEG of 4,290 MP": lambda: jpeg(size=(65_500, 65_500)),
    "JPEG without a size": lambda: jpeg(size=(0, 0)),
    "JPEG with 20,000 notes": lambda: jpeg(segment(0xFE, b"x") * 20_000),
    "JPEG with 20,000 profiles": lambda: jpeg(segment(0xE2, b"ICC_PROFILE\0\x01\xffx") * 20_000),
    "JPEG that says that it is thousands": lambda: jpeg(
        segment(0xE2, b"MPF\0" + tiff([(0xB000, 7, 4, 0x30303130), (0xB001, 4, 1, 2**31), (0xB002, 7, 2**31, 8)]))
    ),
    "JPEG with tables of everything": lambda: jpeg(segment(0xC4, b"\x10" + b"\xff" * 16 + bytes(4_080)) * 20),
    "EXIF in circles": lambda: jpeg(exif((0x8769, 4, 1, 8), (0x8825, 4, 1, 8), after=8)),
    "EXIF with an orientation of words": lambda: jpeg(exif((0x112, 2, 9, 26), data=b"sideways\0")),
    "EXIF turned by 60,000": lambda: jpeg(exif((0x112, 3, 1, 60_000))),
    "EXIF turned by -1": lambda: jpeg(exif((0x112, 9, 1, 2**32 - 1))),
    "EXIF turned 2^31 times": lambda: jpeg(exif((0x112, 3, 2**31, 8))),
    "EXIF with a resolution by zero": lambda: jpeg(exif((0x11A, 5, 1, 26), (0x128, 3, 1, 2), data=bytes(8))),
    "EXIF with a resolution of 2^32": lambda: jpeg(exif((0x11A, 5, 1, 26), data=b"\xff\xff\xff\xff\1\0\0\0")),
    "EXIF with a size of its own": lambda: jpeg(exif((0xA002, 4, 1, 2**31), (0xA003, 4, 1, 2**31))),
    "EXIF of types that are none": lambda: jpeg(exif((0x112, 99, 1, 6), (0x112, 0, 2**32 - 1, 6))),
    "WebP of 2^24 by 2^24": lambda: moving(1),
    "WebP of 20,000 frames": lambda: moving(20_000),
    "WebP with a length of its own": lambda: scans.as_bytes(SMALL, "WEBP").replace(b"VP8 ", b"VP8 \xff\xff\xff\x7f"),
}


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[bytes], int]]:
    """Count the pages of a picture file, and draw the first one."""
    folder = tmp_path_factory.mktemp("frames")
    reader, artist = LocalOcr(OcrOptions(folder)), LocalPictures()

    def look(data: bytes) -> int:
        source = folder / "source"
        source.write_bytes(data)
        pages = PagesOf(source, is_pdf=False, timeout_seconds=SECONDS_MAX, progress=lambda _: None)
        count = len(reader.picture(pages, PAGES_MAX).pages)
        drawn = artist.draw(source, 1, (600, 800), timeout_seconds=SECONDS_MAX)
        # None where the file ends before its first frame does.
        assert drawn is None or max(Image.open(io.BytesIO(drawn)).size) <= 800
        return count

    yield look
    reader.close()
    artist.close()


@pytest.mark.parametrize("name", FILES)
def test_it_is_drawn_or_refused_within_limits(looked_at: Callable[[bytes], int], name: str) -> None:
    started = monotonic()
    try:
        assert 1 <= looked_at(FILES[name]()) <= PAGES_MAX
    except BadInput as error:
        assert error.message  # noqa: PT017 - either is right
    assert monotonic() - started < SECONDS_MAX


def test_a_thousand_frames_of_a_scan_are_pages_and_of_a_moving_picture_are_none(
    looked_at: Callable[[bytes], int], tmp_path: Path
) -> None:
    pages = scans.as_bytes(SMALL.resize((8, 8)), "TIFF", [SMALL.resize((8, 8))] * 999)
    assert looked_at(pages) == 1_000
    assert looked_at(FILES["GIF of a thousand frames"]()) == 1
