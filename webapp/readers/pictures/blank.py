"""Says whether nothing is on a page's picture, such as the back of a sheet that a scanner took along."""

import numpy as np

from webapp.readers.pictures.frames import Picture

# Ink differs from its paper by more than this, of 255, and paper and dust by less.
INK = 40
# A share of the page: some 12 square millimetres of A4.
INK_SHARE_MOST = 0.0002


def is_blank(picture: Picture) -> bool:
    """Whether a picture shows an empty sheet, of whatever colour."""
    grey = np.asarray(picture.convert("L").reduce(2), dtype=np.int16)
    return float((np.abs(grey - np.median(grey)) > INK).mean()) <= INK_SHARE_MOST
