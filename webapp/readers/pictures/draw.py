"""The sandboxed job that draws one page of a picture file as a PNG file, for people to look at."""

from pathlib import Path

from PIL import Image

from webapp.readers.pictures.frames import MANY_PAGES, frame_at, opened_picture
from webapp.sandbox.child import Report


def draw_frame(arguments: dict[str, object], _: Report) -> bool:
    """Draw page `number` of the file at `source` into `target`, within a box; False where there is no such page."""
    number, box = int(str(arguments["number"])), (int(str(arguments["width_max"])), int(str(arguments["height_max"])))
    with opened_picture(str(arguments["source"])) as picture:
        if number < 1 or (number > 1 and picture.format != MANY_PAGES):
            return False
        # Of a photograph only so many pixels are decoded as are shown.
        picture.draft("RGB", (2 * max(box), 2 * max(box)))
        try:
            drawn = frame_at(picture, number)
        except EOFError:
            return False
        drawn.thumbnail(box, Image.Resampling.LANCZOS)
        drawn.save(Path(str(arguments["target"])), format="PNG", optimize=False)
    return True
