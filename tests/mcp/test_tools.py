"""The tools for assistants, called with answers of the HTTP API."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from webapp.mcp.tools import PIECE_CHARACTERS, TOOLS, ToolFailed

ID = "00000000-0000-7000-8000-000000000000"
TEXT = "Before.\n\n<!-- page 2 -->\nTwo.\n\n<!-- page 3 -->\nThree.\n"


@dataclass
class Answers:
    """An API with one answer for all."""

    answer: Any = None
    text: str = TEXT
    asked: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    def get(self, path: str, **parameters: Any) -> Any:
        self.asked.append((path, parameters))
        return self.answer

    def get_text(self, path: str) -> str:
        return self.text

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        self.asked.append((path, body))
        return self.answer


def call(name: str, api: Answers, **arguments: Any) -> Any:
    [tool] = [tool for tool in TOOLS if tool.name == name]
    assert list(Draft202012Validator(tool.schema).iter_errors(arguments)) == []
    return tool.call(api, arguments)


@pytest.mark.parametrize(
    ("pages", "text"),
    [
        ({}, TEXT),
        ({"first_page": 1}, "Before.\n\n"),
        ({"first_page": 2}, "<!-- page 2 -->\nTwo.\n\n"),
        ({"first_page": 2, "last_page": 9}, TEXT[9:]),
        ({"last_page": 2}, TEXT[: TEXT.index("<!-- page 3")]),
        ({"first_page": 7}, ""),
    ],
)
def test_pages_are_read(pages: dict[str, int], text: str) -> None:
    assert call("read_document", Answers(), document_id=ID, **pages)["text"] == text


def test_a_long_text_is_read_in_pieces() -> None:
    api = Answers(text="x" * PIECE_CHARACTERS + "end")
    first = call("read_document", api, document_id=ID)
    assert first["next_start"] == PIECE_CHARACTERS
    last = call("read_document", api, document_id=ID, start=first["next_start"])
    assert (last["text"], last["next_start"]) == ("end", None)
    with pytest.raises(ToolFailed, match="has no pages"):
        call("read_document", api, document_id=ID, first_page=2)


def test_tools_that_write_are_few_and_say_so() -> None:
    assert [tool.name for tool in TOOLS if tool.writes] == ["set_tags"]
    api = Answers({"tags": ["x"]})
    assert call("set_tags", api, document_id=ID, tags=["x"]) == {"tags": ["x"]}
    assert api.asked == [(f"/documents/{ID}", {"tags": ["x"]})]


@pytest.mark.parametrize("wrong", ["../ops/jobs#", f"{ID}/original#", f"{ID}\n/", ""])
@pytest.mark.parametrize("name", ["get_document", "read_document", "get_fields", "get_tables", "set_tags", "search"])
def test_an_id_leads_nowhere_else(name: str, wrong: str) -> None:
    api = Answers({"tags": [], "hits": [], "did_you_mean": None})
    needed: dict[str, dict[str, Any]] = {"set_tags": {"tags": []}, "search": {"query": "x"}}
    more = needed.get(name, {})
    with pytest.raises(ToolFailed, match="document_id must be"):
        call(name, api, document_id=wrong, **more)
    assert api.asked == []
