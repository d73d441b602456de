"""The place of a passage's words in a longer text, as they were and after some have changed."""

import tracemalloc

from webapp.search.places import WordRun, find_run, placed_words, words_of

LETTER = words_of(
    "Dear tenant, the boiler was serviced in March. Either party may end this contract with two months "
    "written notice, and the keys are handed over on the last day. Kind regards from the harbour."
)
NOTICE = words_of("Either party may end this contract with two months written notice")


def test_words_are_compared_without_case_and_accents() -> None:
    assert words_of("Kündigungs-Frist: 3\u00a0Monate, naïve_x") == ["kundigungs", "frist", "3", "monate", "naive", "x"]
    assert words_of("契約は") == ["契", "約", "は"]
    assert [(each.start, each.end) for each in placed_words("a — ßé")] == [(0, 1), (4, 6)]


def test_a_passage_is_found_where_it_is() -> None:
    assert find_run(LETTER, NOTICE) == WordRun(8, 19, 1.0)
    assert find_run(LETTER * 3, NOTICE) == WordRun(8, 19, 1.0)


def test_a_changed_passage_is_found_by_what_is_left_of_it() -> None:
    changed = words_of("Either party may always end this contract with three months written notice")
    run = find_run(LETTER, changed)
    assert run is not None
    assert (run.start, run.end) == (8, 19)
    longer = [*NOTICE, *words_of("and the keys must be handed over on the very last day")]
    found = find_run(LETTER, longer)
    assert found is not None
    assert (found.start, found.share < 1) == (8, True)


def test_other_words_are_found_nowhere() -> None:
    assert find_run(LETTER, words_of("a chronicle of lamps and oil in the storm of that winter")) is None
    assert find_run(LETTER, []) is None
    assert find_run([], NOTICE) is None


def test_a_text_that_repeats_itself_takes_little_memory() -> None:
    text, wanted = ["0"] * 4000 + NOTICE, ["0"] * 5 + ["1", *NOTICE]
    tracemalloc.start()
    try:
        run = find_run(text, wanted)
        assert find_run(text, ["0"] * 400 + ["1"] * 400) is None
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()
    assert run is not None
    assert (run.start, run.end) == (4000, 4011)


def test_the_first_of_equal_places_is_found_exactly() -> None:
    assert find_run(["a", "b", "a", "b", "c"], ["b", "c"]) == WordRun(3, 5, 1.0)
    assert find_run(["a", "b", "a"], ["a"]) == WordRun(0, 1, 1.0)
