"""The sentence for each mistake in a query, with the place where it is."""

from flask import Flask

from webapp.search.filters import FilterName
from webapp.search.grammar import QUERY_CHARACTERS_MAX, TERMS_MAX, Mistake, MistakeCode
from webapp.web.errors import Problem, answer_problem

_SENTENCES = {
    MistakeCode.TOO_LONG: f"This is too long: a search has {QUERY_CHARACTERS_MAX} characters at most.",
    MistakeCode.TOO_MANY_TERMS: f"This is too much at once: a search with operators has {TERMS_MAX} terms at most.",
    MistakeCode.UNCLOSED_PHRASE: "This quotation mark has no partner: add another one behind the last word.",
    MistakeCode.EMPTY_PHRASE: "There is no word between these quotation marks.",
    MistakeCode.LONELY_OR: "OR needs a word on both sides, as in lease OR tenancy. The word “or” has small letters.",
    MistakeCode.MIXED_OR: "OR can join words, or filters, but not a word and a filter.",
    MistakeCode.EXCLUDED_OR: "OR can't be combined with a minus: write -draft -copy to leave out both.",
    MistakeCode.MISPLACED_STAR: "A * can only end a word, as in invoi*. To find the character, use quotation marks.",
    MistakeCode.SHORT_PREFIX: "A * needs at least two letters or digits before it, and the last one right before it.",
    MistakeCode.UNKNOWN_FILTER: "There is no filter “{name}:”. The filters are: {filters}. To find this text, put it "
    "in quotation marks.",
    MistakeCode.EMPTY_FILTER: "“{name}:” needs a value right behind the colon.",
}
_VALUES = {
    FilterName.KIND: "kind: takes a kind of document or the end of a file's name, as in kind:invoice or kind:pdf.",
    FilterName.IN: 'in: takes words of a file\'s name or of a title, as in in:report or in:"annual report".',
    FilterName.LANG: "lang: takes the code of a language, as in lang:en or lang:pt.",
    FilterName.BEFORE: "before: takes a year, a month or a day, as in before:2026 or before:2026-03-31.",
    FilterName.AFTER: "after: takes a year, a month or a day, as in after:2026 or after:2026-03-31.",
    FilterName.PAGES: "pages: takes a number or a range, as in pages:12, pages:>100, pages:<=5 or pages:10-20.",
    FilterName.STATUS: "status: takes processing, ready, partly_read, kept, failed or timed_out.",
    FilterName.IS: "is: takes partly-read, kept, favourite or corrected.",
    FilterName.TAG: 'tag: takes the name of a tag, as in tag:tax or tag:"to pay".',
    FilterName.NOTE: 'note: takes words of a note, as in note:deposit or note:"ask Ana".',
}


def init_mistakes(app: Flask) -> None:
    """Answer a query that can't be understood, wherever it is met."""
    app.register_error_handler(Mistake, lambda mistake: answer_problem(problem(mistake)))


def sentence(mistake: Mistake) -> str:
    """What is wrong, and how it would be right."""
    if mistake.code is MistakeCode.BAD_VALUE:
        return f"“{mistake.value}” can't be used here. {_VALUES[FilterName(mistake.name)]}"
    known = ", ".join(f"{name}:" for name in FilterName)
    return _SENTENCES[mistake.code].format(name=mistake.name, filters=known)


def problem(mistake: Mistake) -> Problem:
    """The answer to a query that can't be understood; `position` counts from 1."""
    detail = f"{sentence(mistake)} (At character {mistake.position} of q.)"
    return Problem(422, "query", detail=detail, members={"code": mistake.code, "position": mistake.position})
