"""Labels and values are found by where words stand, and prose is left alone."""

from webapp.readers.pdf.key_values import PlacedWord, find_fields

WIDTH, HEIGHT = 6.0, 10.0


def line(y: float, *texts: tuple[float, str]) -> list[PlacedWord]:
    words = []
    for start, text in texts:
        left = start
        for word in text.split():
            words.append(PlacedWord(word, left, y, left + WIDTH * len(word), y + HEIGHT))
            left += WIDTH * (len(word) + 0.6)
    return words


def found(words: list[PlacedWord], **more: object) -> dict[str, str]:
    return {field.name: field.value for field in find_fields(words, 1, **more)}  # type: ignore[arg-type]


def test_a_colon_between_them() -> None:
    fields = find_fields(line(100, (50, "Order number: A-17")), 3)
    (field,) = fields
    assert (field.name, field.value, field.page) == ("Order number", "A-17", 3)
    assert field.polygon is not None
    assert field.polygon[1] == 100
    assert field.polygon[0] > 50


def test_a_colon_and_a_gap() -> None:
    assert found(line(100, (50, "Due date:"), (300, "1 May 2026"))) == {"Due date": "1 May 2026"}


def test_a_gap_alone() -> None:
    assert found(line(100, (50, "Total"), (300, "EUR 12.50"))) == {"Total": "EUR 12.50"}


def test_a_label_above_its_value() -> None:
    words = line(100, (50, "Date"), (200, "Customer"), (350, "Number"))
    words += line(113, (50, "1.5.2026"), (200, "A. Brook"), (350, "17"))
    assert found(words) == {"Date": "1.5.2026", "Customer": "A. Brook", "Number": "17"}


def test_two_pairs_on_a_line() -> None:
    words = line(100, (50, "Date: 1.5.2026"), (300, "Number: 17"))
    assert found(words) == {"Date": "1.5.2026", "Number": "17"}


def test_prose_is_not_a_field() -> None:
    words = line(100, (50, "Note: the lamp was lit at dusk by the second keeper and burned until dawn"))
    words += line(120, (50, "He asked me this: are you the keeper"))
    words += line(140, (50, "It was late. The time was 12:30 when we came"))
    assert found(words) == {}


def test_tables_are_left_out() -> None:
    words = line(100, (50, "Item"), (200, "Price")) + line(113, (50, "Bolts"), (200, "8.50"))
    assert found(words, tables=[(40.0, 90.0, 400.0, 200.0)]) == {}


def test_columns_of_text_are_not_pairs() -> None:
    words = [w for y in range(20) for w in line(100 + 14 * y, (50, f"Left words {y}"), (300, f"right words {y}"))]
    assert found(words) == {}


def test_other_alphabets_have_labels_too() -> None:
    assert found(line(100, (50, "Номер счёта: 17"))) == {"Номер счёта": "17"}


def test_pages_full_of_words_are_skipped() -> None:
    words = [w for y in range(5100) for w in line(float(y), (50, "Total: 1"))]
    assert find_fields(words, 1) == []
    assert find_fields([], 1) == []
