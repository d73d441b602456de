"""Opens picture files, a frame at a time, within limits on pixels, frames and sides; each comes upright and as RGB."""

import io
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from PIL import Image, ImageOps, ImageSequence, UnidentifiedImageError

from webapp.provider_errors import BadInput, FailureCode

FRAME_PIXELS_MAX = 100_000_000
ALL_PIXELS_MAX = 20_000_000_000
# A moving picture is not a document: of all others the first frame is read.
MANY_PAGES = "TIFF"
FORMATS: tuple[str, ...] = ("PNG", "JPEG", "TIFF", "BMP", "GIF", "WEBP")
HEIC_BRANDS = (b"heic", b"heix", b"hevc", b"mif1", b"msf1", b"heim", b"heis")
SIDE_MAX = 60_000
DEFAULT_LONG_SIDE_POINTS = 842.0
DPI_LEAST, DPI_MOST = 50.0, 1300.0
Picture = Image.Image
_TOLD_APART = (
    BadInput, EOFError, UnidentifiedImageError, Image.DecompressionBombError, Image.DecompressionBombWarning,
)  # fmt: skip

Image.MAX_IMAGE_PIXELS = FRAME_PIXELS_MAX
warnings.simplefilter("error", Image.DecompressionBombWarning)


@contextmanager
def opened_picture(source: str) -> Iterator[Picture]:
    """Open a picture file of a known kind; BadInput where it is damaged or too large."""
    try:
        with _FileAsLongAsItIs(source) as file, _open(file) as picture:
            _check_size(picture)
            yield picture
    except BadInput:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise BadInput(f"a picture of more than {FRAME_PIXELS_MAX:,} pixels", code=FailureCode.TOO_LARGE) from error
    except (OSError, SyntaxError, ValueError, EOFError, KeyError, IndexError, TypeError) as error:
        raise _damaged(error) from error


def count_frames(picture: Picture, frames_max: int) -> int:
    """Count the pages of an opened file; BadInput where there are too many."""
    if picture.format != MANY_PAGES:
        return 1
    pixels, count = 0, 0
    for count, frame in enumerate(ImageSequence.Iterator(picture), start=1):
        if count > frames_max:
            raise BadInput(f"more than {frames_max} pages", code=FailureCode.TOO_LARGE)
        _check_size(frame)
        pixels += frame.width * frame.height
        if pixels > ALL_PIXELS_MAX:
            raise BadInput(f"more than {ALL_PIXELS_MAX:,} pixels in all", code=FailureCode.TOO_LARGE)
    return count


def frame_at(picture: Picture, number: int) -> Picture:
    """Decode page `number` of an opened file, upright and as RGB."""
    with _decoding():
        picture.seek(number - 1)
        _check_size(picture)
        upright = ImageOps.exif_transpose(picture)
        return on_white(upright)


def on_white(picture: Picture) -> Picture:
    """A picture as RGB; what is transparent becomes white, as paper is."""
    if picture.mode in {"I", "I;16", "I;16B", "I;16L", "F"}:
        picture = _in_eight_bits(picture)
    if "A" in picture.getbands() or "transparency" in picture.info:
        with_alpha = picture.convert("RGBA")
        paper = Image.new("RGBA", with_alpha.size, "white")
        return Image.alpha_composite(paper, with_alpha).convert("RGB")
    return picture.convert("RGB")


def points_per_pixel(picture: Picture) -> float:
    """How large a pixel is on paper, as far as the file says something sensible; else the page is as long as A4."""
    given = picture.info.get("dpi")
    try:
        dpi = float(round(float(given[0]))) if given else 0.0
    except (TypeError, ValueError, ZeroDivisionError, IndexError):
        dpi = 0.0
    # What cameras and screens write by default says nothing about paper.
    if DPI_LEAST < dpi < DPI_MOST and dpi not in {72.0, 96.0}:
        return 72.0 / dpi
    return DEFAULT_LONG_SIDE_POINTS / max(picture.size)


@contextmanager
def _decoding() -> Iterator[None]:
    """Refuse what a decoder stumbles over, whatever it raises; what others tell apart they get as it is."""
    try:
        yield
    except (*_TOLD_APART, MemoryError):
        raise
    except Exception as error:
        raise _damaged(error) from error


class _FileAsLongAsItIs(io.BufferedReader):
    """A file that is asked for no more than it has: for 4 GB of a damaged length, room would be made first."""

    def __init__(self, source: str) -> None:
        raw = io.FileIO(source)
        super().__init__(raw)
        self._bytes = os.fstat(raw.fileno()).st_size

    def read(self, size: int | None = -1, /) -> bytes:
        left = max(0, self._bytes - self.tell())
        return super().read(left if size is None or size < 0 else min(size, left))


def _open(file: BinaryIO) -> Picture:
    head = file.read(12)
    file.seek(0)
    formats = FORMATS
    if head[4:8] == b"ftyp" and head[8:12] in HEIC_BRANDS:
        # Only for this kind of file: a library of its own, which crashes on some damaged ones.
        import pi_heif  # noqa: PLC0415 - see above

        pi_heif.register_heif_opener(thumbnails=False)
        formats = ("HEIF",)
    try:
        with _decoding():
            return Image.open(file, formats=formats)
    except UnidentifiedImageError as error:
        raise BadInput("no picture that can be read") from error


def _check_size(picture: Picture) -> None:
    width, height = picture.size
    if width < 1 or height < 1:
        raise BadInput("a picture without pixels", code=FailureCode.EMPTY)
    if max(width, height) > SIDE_MAX or width * height > FRAME_PIXELS_MAX:
        raise BadInput(f"a picture of {width} by {height} pixels", code=FailureCode.TOO_LARGE)


def _in_eight_bits(picture: Picture) -> Picture:
    low, high = (float(value) for value in _extrema(picture))
    scale = 255.0 / (high - low) if high > low else 1.0
    return picture.convert("F").point(lambda value: value * scale - low * scale).convert("L")


def _extrema(picture: Picture) -> tuple[Any, Any]:
    found: Any = picture.getextrema()
    return found[0], found[1]


def _damaged(error: Exception) -> BadInput:
    return BadInput(f"the picture cannot be decoded: {error}"[:300])
