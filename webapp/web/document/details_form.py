"""The form of a document's details: what somebody typed into it, beside what it showed them.

Only what they typed is changed. Where another person changed the same thing meanwhile, nothing is saved: the form comes
back with what was typed, and says what the other person wrote.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from flask import request

from webapp.documents.model import Document
from webapp.library.facts import Fact
from webapp.web.document import changes
from webapp.web.document.changes import Changes
from webapp.web.errors import Problem

NOTE = "note"
_SEEN = "seen_"


class Mistakes(Exception):
    """Why nothing was saved: a sentence for each thing of the form, and what the form shows now."""

    def __init__(self, status: int, sentences: Mapping[str, str], values: Mapping[str, str]) -> None:
        super().__init__(status)
        self.status, self.sentences, self.values = status, sentences, values


@dataclass(frozen=True)
class DetailsForm:
    """What was typed, and what the form showed before, by the names of the things. Without `seen`, all of it is new."""

    typed: Mapping[str, str]
    seen: Mapping[str, str] = field(default_factory=dict)

    def changes(self, document: Document) -> Changes:
        """What is to be changed of the document as it is now; Mistakes."""
        now = shown(document)
        new = {name: text for name, text in self.typed.items() if text != self.seen.get(name, now[name])}
        wrong, values = _checked(new)
        other = {
            name: _other(now[name])
            for name, text in new.items()
            if name not in wrong and name in self.seen and now[name] not in (self.seen[name], text)
        }
        if wrong or other:
            raise Mistakes(422 if wrong else 409, {**wrong, **other}, {**now, **new})
        note = values.pop(NOTE, None)
        return Changes(facts={Fact(name): value for name, value in values.items()}, note=note)


def shown(document: Document) -> dict[str, str]:
    """What the form shows of a document. A title that was guessed is none."""
    day = document.document_date
    return {
        Fact.TITLE: document.chosen_title or "",
        Fact.FILENAME: document.filename,
        Fact.KIND: document.kind or "",
        Fact.DATE: day.isoformat() if day else "",
        NOTE: document.note or "",
    }


def read() -> DetailsForm:
    """The form that was sent."""
    names = [name for name in (*Fact, NOTE) if name in request.form]
    return DetailsForm(
        {name: _text(name).strip() for name in names},
        {name: _text(_SEEN + name) for name in names if _SEEN + name in request.form},
    )


def _checked(new: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Sentences for what can't be, and the values of the rest."""
    wrong, values = {}, {}
    for name, text in new.items():
        try:
            values[name] = changes.note(text) if name == NOTE else changes.fact(Fact(name), text) or ""
        except Problem as problem:
            wrong[name] = problem.detail or ""
    return wrong, values


def _other(text: str) -> str:
    now = f"“{text}”" if text else "none"
    return f"Somebody else changed this meanwhile. It is now: {now}. Save again to keep what you typed."


def _text(name: str) -> str:
    return changes.unix_lines(request.form[name])
