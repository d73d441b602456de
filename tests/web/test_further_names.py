"""The same file under another name: the name is kept, shown, and found by, also after other changes of names."""

import pytest
from flask import Flask

from tests.web.databases import both_databases
from tests.web.people import Browser, Program
from tests.web.shelves import NOTES, read_json, send, use_hashed_words, work_off
from webapp.library import further_names


def _found(program: Program, query: str) -> list[str]:
    return [each["id"] for each in read_json(program.get("/documents", query_string={"q": query}))["documents"]]


@both_databases
def test_a_second_name_is_kept_shown_and_found(app: Flask, program: Program, browser: Browser) -> None:
    use_hashed_words(app)
    first = send(program, ("lease.md", NOTES), folder="Home").get_json()["documents"][0]["id"]
    again = send(program, ("contract.md", NOTES), folder="Work").get_json()["documents"][0]
    assert (again["id"], again["duplicate_of"]) == (first, first)
    send(program, ("contract.md", NOTES), folder="Work")
    send(program, ("lease.md", NOTES))
    work_off(app)

    whole = read_json(program.get(f"/documents/{first}"))
    assert (whole["filename"], whole["folder"]) == ("lease.md", "Home")
    assert whole["further_names"] == [{"filename": "contract.md", "folder": "Work"}]
    assert "Also uploaded as" in browser.get(f"/documents/{first}/details").text
    assert _found(program, "contract") == _found(program, "in:contract") == [first]

    program.client.patch(f"/documents/{first}", json={"title": "The contract"}, headers=program.headers)
    program.client.patch(f"/documents/{first}", json={"title": "Other"}, headers=program.headers)
    assert _found(program, "contract") == [first], "the other name has the word, too"
    assert program.send("DELETE", f"/documents/{first}").status_code == 204
    assert _found(program, "contract") == []
    assert program.post(f"/documents/{first}/restore").status_code == 200
    assert _found(program, "contract") == [first]


def test_only_so_many_names_are_kept(app: Flask, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(further_names, "NAMES_MAX", 1)
    ids = {send(program, (name, NOTES)).get_json()["documents"][0]["id"] for name in ("a.md", "b.md", "c.md")}
    assert len(ids) == 1
    assert [each["filename"] for each in read_json(program.get(f"/documents/{ids.pop()}"))["further_names"]] == ["b.md"]
