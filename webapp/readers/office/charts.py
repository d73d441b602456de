"""The values behind a chart, as the document itself keeps them: a column of categories, and one for each series."""

from webapp.readers.office.xml import Element, attribute, child, number, within

POINTS_MAX, SERIES_MAX = 5_000, 50


def chart_rows(root: Element) -> list[list[str]]:
    """The rows of a chart's table; none where it keeps no values."""
    series = list(within(root, "ser"))[:SERIES_MAX]
    columns = [
        _points(child(each, "val") if child(each, "val") is not None else child(each, "yVal")) for each in series
    ]
    if not any(columns):
        return []
    categories: dict[int, str] = {}
    for each in series:
        place = child(each, "cat")
        categories = categories or _points(child(each, "xVal") if place is None else place)
    names = [" ".join(_points(child(each, "tx")).values()) for each in series]
    places = sorted({place for column in columns for place in column})
    rows = [[categories.get(place, ""), *(column.get(place, "") for column in columns)] for place in places]
    return [["", *names], *rows]


def _points(element: Element | None) -> dict[int, str]:
    """The values by their places, which may leave some out."""
    found: dict[int, str] = {}
    for each in within(element, "pt"):
        value = child(each, "v")
        if value is not None and len(found) < POINTS_MAX:
            found[number(attribute(each, "idx"), most=1 << 31)] = (value.text or "").strip()
    return found
