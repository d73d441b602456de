"""Pictures made to do harm, and broken ones: a clear error or a result, within the limits."""

import io
import struct
import zlib
from collections.abc import Iterator

import pytest
from PIL import Image

from tests import scans
from tests.readers.conftest import Extract
from webapp.clock import monotonic
from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.extraction import Extraction
from webapp.readers.pictures import frames

SECONDS_MAX = 60
TYPES = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "TIFF": "image/tiff",
    "BMP": "image/bmp",
    "GIF": "image/gif",
    "WEBP": "image/webp",
}
SMALL = Image.linear_gradient("L").resize((300, 200))


def png(width: int, height: int, data: bytes, depth: int = 8, colour: int = 0, more: bytes = b"") -> bytes:
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + more + part(b"IDAT", data) + part(b"IEND", b"")


def part(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def tiff(entries: list[tuple[int, int, int, int]], after: int = 0, data: bytes = b"") -> bytes:
    """A TIFF of one directory; `after` is where it says that the next one is."""
    fields = b"".join(struct.pack("<HHII", *entry) for entry in entries)
    return b"II*\0" + struct.pack("<IH", 8, len(entries)) + fields + struct.pack("<I", after) + data


def bitmap(width: int, height: int) -> bytes:
    return b"BM" + struct.pack("<IIIIiiHHIIiiII", 100, 0, 54, 40, width, height, 1, 24, 0, 0, 0, 0, 0, 0) + b"\0" * 60


def gif_of(frames_count: int) -> bytes:
    return scans.as_bytes(SMALL.convert("P"), "GIF", [SMALL.rotate(n).convert("P") for n in range(1, frames_count)])


def _broken() -> Iterator[tuple[str, str, bytes]]:
    for kind, content_type in TYPES.items():
        whole = scans.as_bytes(SMALL.convert("RGB"), kind)
        for share in (0.02, 0.1, 0.5, 0.9):
            yield f"{kind} cut at {share}", content_type, whole[: max(14, int(len(whole) * share))]
        yield f"{kind} with noise inside", content_type, whole[:30] + bytes(range(256)) * 4 + whole[1054:]
        yield f"{kind} of zeros", content_type, whole[:16] + b"\0" * 4_000


def _hostile() -> Iterator[tuple[str, str, bytes]]:
    size = [(256, 4, 1, 200_000), (257, 4, 1, 200_000)]
    plain = [(258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 8), (277, 3, 1, 1), (278, 4, 1, 10)]
    small = [(256, 4, 1, 10), (257, 4, 1, 10)]
    yield "PNG of 3,600 MP", "image/png", png(60_000, 60_000, zlib.compress(b"\0" * 1_000))
    yield "PNG of 2^31 columns", "image/png", png(2**31 - 1, 1, zlib.compress(b"\0"))
    yield "PNG without rows", "image/png", png(10, 0, zlib.compress(b"\0"))
    yield "PNG that unpacks to more than it says", "image/png", png(10, 10, zlib.compress(b"\0" * 300_000_000, 9))
    yield (
        "PNG with a text that unpacks to 300 MB",
        "image/png",
        png(10, 10, zlib.compress(b"\0" * 110), more=part(b"zTXt", b"a\0\0" + zlib.compress(b"a" * 300_000_000, 9))),
    )
    yield (
        "PNG with a broken profile",
        "image/png",
        png(10, 10, zlib.compress(b"\0" * 110), more=part(b"iCCP", b"x\0\0" + b"\xff" * 40)),
    )
    yield "PNG of 80 MP in one colour", "image/png", scans.as_bytes(Image.new("1", (10_000, 8_000), 1))
    yield "TIFF of 40,000 MP", "image/tiff", tiff([*size, *plain, (279, 4, 1, 10)])
    yield "TIFF that goes in circles", "image/tiff", tiff([*small, *plain, (279, 4, 1, 100)], after=8, data=b"\0" * 100)
    yield "TIFF with a million strips", "image/tiff", tiff([*small, (273, 4, 1_000_000, 200), (279, 4, 1_000_000, 200)])
    yield "TIFF without a size", "image/tiff", tiff(plain)
    yield "TIFF of 4 GB entries", "image/tiff", tiff([(256, 2, 2**32 - 1, 8), *plain])
    yield "TIFF that begins beyond its end", "image/tiff", b"II*\0" + struct.pack("<I", 2**31) + b"\0" * 50
    yield "BMP of 10,000 MP", "image/bmp", bitmap(100_000, 100_000)
    yield "BMP upside down without end", "image/bmp", bitmap(10, -(2**31))
    yield "GIF of 200 frames", "image/gif", gif_of(200)
    yield (
        "GIF of 65,535 by 65,535",
        "image/gif",
        b"GIF89a\xff\xff\xff\xff\x00\x00\x00,\0\0\0\0\xff\xff\xff\xff\0\x02\0;",
    )
    yield "WebP that is only a head", "image/webp", b"RIFF\xff\xff\xff\x7fWEBPVP8L\xff\xff\xff\x7f/\xff\xff\xff\xff"
    yield "HEIC that is only a head", "image/heic", b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + b"\0" * 200
    yield "HEIC with a huge box", "image/heic", b"\0\0\0\x18ftypheic\0\0\0\0mif1heic\xff\xff\xff\xffmeta" + b"\xff" * 90
    yield "JPEG with a broken EXIF", "image/jpeg", _with_exif(b"Exif\0\0II*\0\xff\xff\xff\xff")
    yield (
        "JPEG turned by an unknown way",
        "image/jpeg",
        _with_exif(b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0c\0\0\0\0\0\0\0"),
    )
    yield "PNG that is a script", "image/png", b"\x89PNG\r\n\x1a\n<script>alert(1)</script>"
    yield "JPEG that is PostScript", "image/jpeg", b"%!PS-Adobe-3.0 EPSF-3.0\n(/etc/passwd) run\n"


def _with_exif(data: bytes) -> bytes:
    whole = scans.as_bytes(SMALL, "JPEG")
    return whole[:2] + b"\xff\xe1" + struct.pack(">H", len(data) + 2) + data + whole[2:]


CASES = [*_broken(), *_hostile()]


def test_there_are_many_of_them() -> None:
    assert len(CASES) >= 40


@pytest.mark.slow
@pytest.mark.parametrize(("content_type", "data"), [pytest.param(*case[1:], id=case[0]) for case in CASES])
def test_it_is_an_error_or_a_result_within_the_limits(extract: Extract, content_type: str, data: bytes) -> None:
    started = monotonic()
    found: Extraction | BadInput
    try:
        found = extract(data, content_type)
    except BadInput as error:
        found = error
    assert monotonic() - started < SECONDS_MAX
    if isinstance(found, Extraction):
        assert found.page_count == len(found.pages)
    else:
        assert found.message


def test_a_moving_picture_is_one_page(tmp_path: object) -> None:
    with frames.opened_picture(_stored(tmp_path, gif_of(5))) as picture:
        assert frames.count_frames(picture, 10) == 1


def test_too_many_pages_are_refused(tmp_path: object) -> None:
    source = _stored(tmp_path, scans.as_bytes(SMALL, "TIFF", [SMALL] * 9))
    with frames.opened_picture(source) as picture:
        assert frames.count_frames(picture, 10) == 10
    with pytest.raises(BadInput) as refused, frames.opened_picture(source) as picture:
        frames.count_frames(picture, 9)
    assert refused.value.code is FailureCode.TOO_LARGE


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "I", "F"])
def test_each_kind_of_pixels_becomes_red_green_and_blue(mode: str) -> None:
    picture = SMALL.convert("L").convert(mode) if mode != "I;16" else SMALL.convert("I").convert("I;16")
    found = frames.on_white(picture)
    assert found.mode == "RGB"
    assert found.getpixel((0, 0)) != found.getpixel((0, 199))


def test_what_is_transparent_is_paper() -> None:
    assert frames.on_white(Image.new("RGBA", (2, 2), (0, 0, 0, 0))).getpixel((0, 0)) == (255, 255, 255)


@pytest.mark.parametrize(("dpi", "expected"), [((300, 300), 0.24), ((72, 72), 842 / 300), (None, 842 / 300)])
def test_a_resolution_counts_where_it_says_something(dpi: tuple[int, int] | None, expected: float) -> None:
    buffer = io.BytesIO()
    SMALL.save(buffer, "PNG", **({"dpi": dpi} if dpi else {}))
    assert frames.points_per_pixel(Image.open(buffer)) == pytest.approx(expected, rel=0.01)


def _stored(folder: object, data: bytes) -> str:
    path = f"{folder}/source"
    with open(path, "wb") as file:  # noqa: PTH123 - a job's arguments are texts
        file.write(data)
    return path
