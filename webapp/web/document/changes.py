"""What is to be changed of a document, out of a JSON object or a form."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from flask import request

from webapp.library import facts, tags
from webapp.library.facts import NOTE_CHARACTERS_MAX, TITLE_CHARACTERS_MAX, Fact
from webapp.search.filters import KINDS, TAG_CHARACTERS_MAX, BadValue
from webapp.web.csrf import FIELD
from webapp.web.errors import Problem

Value = TypeVar("Value")

_BODY_BYTES_MAX = 128 << 10
_TAGS, _NOTE, _FAVOURITE = "tags", "note", "favourite"
KNOWN = (_TAGS, *Fact, _NOTE, _FAVOURITE)
WRONG_TAGS = (
    f"tags must be a list of at most {tags.TAGS_MAX} names, each of 1 to {TAG_CHARACTERS_MAX} characters, "
    'as in {"tags": ["tax", "to pay"]}.'
)
WRONG_FILENAME = "filename must be a name for the file. Its ending stays as it was uploaded."
_SENTENCES = {
    Fact.TITLE: f'title must be a text of at most {TITLE_CHARACTERS_MAX} characters, "" for none, or null for what was '
    "found.",
    Fact.FILENAME: WRONG_FILENAME,
    Fact.KIND: f'kind must be "" for none, null for what was found, or one of: {", ".join(sorted(KINDS))}.',
    Fact.DATE: 'document_date must be a day such as 2026-03-31, "" for none, or null for what was found.',
}
_WRONG_NOTE = f"note must be a text of at most {NOTE_CHARACTERS_MAX:,} characters, or null for none."
_WRONG_FAVOURITE = "favourite must be true or false."
_TRUE, _FALSE = ("1", "true", "on"), ("", "0", "false")


@dataclass(frozen=True)
class Changes:
    """What is to be changed; None for what stays."""

    tags: Sequence[str] | None = None
    facts: Mapping[Fact, str | None] = field(default_factory=dict)
    note: str | None = None
    favourite: bool | None = None


def asked() -> Changes:
    """What a request asks for: 400 for what can't be changed, 422 for values that can't be."""
    if (request.content_length or 0) > _BODY_BYTES_MAX:
        raise Problem(413, detail="What a document's details hold is at most 128 KiB.")
    given = _json() if request.is_json else _form()
    if unknown := sorted(str(name) for name in given.keys() - {*KNOWN}):
        known = ", ".join(KNOWN)
        raise Problem(400, "unknown_parameter", detail=f"“{unknown[0][:100]}” can't be changed here. Known: {known}.")
    if not given:
        raise Problem(422, detail=f"Name what is to be changed: {', '.join(KNOWN)}.")
    return Changes(
        tags=_tags(given[_TAGS]) if _TAGS in given else None,
        facts={name: fact(name, given[name]) for name in Fact if name in given},
        note=note(given[_NOTE]) if _NOTE in given else None,
        favourite=_favourite(given[_FAVOURITE]) if _FAVOURITE in given else None,
    )


def of_button() -> Changes | None:
    """What a button of the details asks for; None where it is none. `found` names a fact that is to be found again."""
    form = request.form
    if name := form.get("found"):
        if name not in {*Fact}:
            raise Problem(422, detail=f"found must be one of: {', '.join(Fact)}.")
        return Changes(facts={Fact(name): None})
    return Changes(favourite=_favourite(form[_FAVOURITE])) if _FAVOURITE in form else None


def unix_lines(text: str) -> str:
    """A text of a form as it was shown there: browsers send each line break as two characters."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def is_text(text: str) -> bool:
    """Whether it has neither half of a character nor a zero, which no database stores."""
    return "\0" not in text and not any("\ud800" <= each <= "\udfff" for each in text)


def _json() -> dict[Any, Any]:
    body: object = request.get_json(silent=True)
    if not isinstance(body, Mapping):
        raise Problem(422, detail=f"Send a JSON object with what is to be changed: {', '.join(KNOWN)}.")
    return dict(body)


def _form() -> dict[Any, Any]:
    lists = {name: values for name, values in request.form.lists() if name != FIELD}
    return {name: values if name == _TAGS else values[-1] for name, values in lists.items()}


def _tags(names: object) -> Sequence[str]:
    def check() -> Sequence[str]:
        if not isinstance(names, list) or not all(isinstance(name, str) and is_text(name) for name in names):
            raise BadValue
        tags.named(names)
        return names

    return _checked(check, WRONG_TAGS)


def fact(name: Fact, value: object) -> str | None:
    """What a fact is to be; None for what was found. 422 where it can't be this."""
    if value is None:
        return None
    return _checked(lambda: facts.check(name, _text(value)), _SENTENCES[name])


def note(value: object) -> str:
    """What the note is to be, "" for none. 422 where it can't be this."""
    return _checked(lambda: facts.check_note("" if value is None else _text(value)), _WRONG_NOTE)


def _favourite(value: object) -> bool:
    if value in (True, *_TRUE):
        return True
    if value in (False, *_FALSE):
        return False
    raise Problem(422, detail=_WRONG_FAVOURITE)


def _text(value: object) -> str:
    if not isinstance(value, str) or not is_text(value):
        raise BadValue
    return value


def _checked(check: Callable[[], Value], sentence: str) -> Value:
    try:
        return check()
    except BadValue as error:
        raise Problem(422, detail=sentence) from error
