"""Share links in tests: made, listed, and told from links that were never made."""

import re
from typing import Any

from flask import Flask

from tests.web.people import Browser, Program
from tests.web.shelves import NOTES, notes, read_json, shelve, use_hashed_words, work_off

RYE = "Rye is dark and heavy."
PATH = re.compile(r"/s/[\w-]{43}")
_MOVING = re.compile(r'nonce="[^"]+"|content="[^"]{60,}"|"X-CSRFToken": "[^"]+"')


def shelve_three(app: Flask, program: Program) -> list[str]:
    """Three documents that have been read: the first is tagged, and has a note that is nobody's business."""
    use_hashed_words(app)
    ids = shelve(program, ("first.md", NOTES), notes(2), notes(3))
    work_off(app)
    change = {"tags": ["open"], "note": "Our secret remark"}
    assert program.send("PATCH", f"/documents/{ids[0]}", json=change).status_code == 200
    return ids


def share_link(program: Program, target: str, **more: Any) -> str:
    """The path of a new link."""
    answer = program.post(f"{target}/shares", json=more)
    assert answer.status_code == 201, answer.text
    url = str(read_json(answer)["url"])
    assert url.startswith("http://localhost/s/")
    return url.removeprefix("http://localhost")


def make_view(program: Program, query: str = "tag:open", **more: Any) -> str:
    return f"/views/{read_json(program.post('/views', json={'name': 'Inner name', 'query': query, **more}))['id']}"


def links_of(program: Program, target: str = "") -> list[dict[str, Any]]:
    return list(read_json(program.get(f"{target}/shares"))["shares"])


def log_of(ops: Program, action: str) -> list[dict[str, Any]]:
    return list(read_json(ops.get(f"/ops/security?action={action}"))["entries"])


def is_nothing(visitor: Browser, path: str) -> bool:
    """Whether it is answered as a link that was never made."""
    answer, guessed = visitor.get(path), visitor.get(f"/s/{'x' * 43}")
    assert _MOVING.sub("", answer.text) == _MOVING.sub("", guessed.text)
    assert "This link does not work" in answer.text
    return answer.status_code == 404 == guessed.status_code
