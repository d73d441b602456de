"""Other words are suggested for those that occur nowhere, out of the org's own passages."""

from tests.search.passages import Searcher, new_document, new_org, put
from webapp.db import reading
from webapp.search.grammar import parse
from webapp.search.spelling import corrected


def test_words_are_suggested_that_the_orgs_passages_have(searcher: Searcher) -> None:
    texts = ["The boiler had its yearly service.", "Die Kündigung der Wohnung.", "Счёт на оплату, привет."]
    put(searcher.org_id, new_document(searcher.org_id), texts)
    other = new_org()
    put(other, new_document(other), ["Their secret wobbulator."])
    expected = {
        "boilr service": "boiler service",
        "boielr": "boiler",
        "serviec -draft kind:pdf boiler": "service -draft kind:pdf boiler",
        "boilerhad": "boiler had",
        "kundigunk": "kündigung",
        "ghbdtn": "привет",
        "опалту": "оплату",
        # Nothing is mended that is there, in another form too; nor what nothing is like, or is no word.
        "boilers": None,
        "wobbulater": None,
        "boilr OR x": None,
        '"boilr service"': None,
        "4711x": None,
        "it": None,
        "kind:pdf": None,
    }
    with reading(searcher.org_id):
        assert {query: corrected(searcher.org_id, parse(query)) for query in expected} == expected
