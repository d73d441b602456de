"""SQLite's matrices: in step with the rows whatever happened to them, or to the files."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from flask import Flask
from sqlalchemy import delete, update

from tests.search.conftest import only_sqlite
from tests.search.passages import EMBEDDER, Searcher, chunk, new_document, put
from webapp.db import transaction
from webapp.documents.model import Document
from webapp.search import index, matrix
from webapp.search.model import Chunk

pytestmark = only_sqlite

TEXTS = ["red apples", "green pears", "blue plums", "yellow lemons"]


def forget() -> None:
    """What a fresh process knows of the files: nothing."""
    matrix._shelf.matrices.clear()


def states(searcher: Searcher) -> list[Path]:
    return list(searcher.folder.rglob("state.json"))


def nearest(searcher: Searcher, text: str) -> str:
    return searcher.by_vector(text, limit=1)[0]


@pytest.fixture
def document_id(searcher: Searcher) -> object:
    document_id = new_document(searcher.org_id)
    put(searcher.org_id, document_id, TEXTS)
    assert nearest(searcher, "pears") == "green pears"
    return document_id


def test_what_is_added_is_found_at_once(searcher: Searcher, document_id: object) -> None:
    put(searcher.org_id, new_document(searcher.org_id), ["purple grapes"])

    assert nearest(searcher, "grapes") == "purple grapes"
    assert nearest(searcher, "pears") == "green pears"


def test_what_is_deleted_is_gone_at_once_and_from_the_files(searcher: Searcher, document_id: object) -> None:
    with transaction(searcher.org_id) as opened:
        opened.execute(delete(Document).where(Document.id == document_id))
    assert searcher.by_vector("pears") == []

    (state,) = states(searcher)
    assert json.loads(state.read_text())["rows"] == 0
    assert [file.stat().st_size for file in state.parent.glob("*.vectors")] == [0]


def test_what_comes_back_is_found_again(searcher: Searcher, document_id: object) -> None:
    assert isinstance(document_id, type(searcher.org_id))
    put(searcher.org_id, document_id, TEXTS[:1])
    assert searcher.by_vector("pears") == ["red apples"]

    put(searcher.org_id, document_id, TEXTS)
    assert nearest(searcher, "pears") == "green pears"


def test_a_fresh_process_reads_the_files_and_not_the_rows(searcher: Searcher, document_id: object) -> None:
    (state,) = states(searcher)
    before = state.stat().st_mtime_ns
    forget()

    assert nearest(searcher, "plums") == "blue plums"
    assert state.stat().st_mtime_ns == before


def test_a_change_that_another_process_made_is_seen(searcher: Searcher, document_id: object) -> None:
    old = dict(matrix._shelf.matrices)
    put(searcher.org_id, new_document(searcher.org_id), ["purple grapes"])
    assert nearest(searcher, "grapes") == "purple grapes"
    # A process that has not looked since still holds the old view.
    matrix._shelf.matrices.update(old)

    assert nearest(searcher, "grapes") == "purple grapes"


def test_a_change_that_is_rolled_back_is_forgotten(searcher: Searcher, document_id: object) -> None:
    other = new_document(searcher.org_id)
    with transaction(searcher.org_id) as opened:
        index.replace(searcher.org_id, other, [chunk(other, 0, "purple grapes")])
        assert nearest(searcher, "grapes") == "purple grapes"
        opened.rollback()

    assert "purple grapes" not in searcher.by_vector("grapes")
    assert nearest(searcher, "pears") == "green pears"


def test_a_changed_vector_counts(searcher: Searcher, document_id: object) -> None:
    with transaction(searcher.org_id) as opened:
        vector = np.asarray(EMBEDDER.embed(["strawberries"])[0])
        opened.execute(update(Chunk).where(Chunk.text == "red apples").values(embedding=vector, embedding_model="new"))

    assert "red apples" not in searcher.by_vector("apples")
    assert searcher.texts(searcher.near("new", vector.astype(np.float32))) == ["red apples"]


@pytest.mark.parametrize("damage", ["state", "no_state", "vectors", "no_vectors", "ids", "wrong_state", "folder"])
def test_damaged_files_are_made_anew(searcher: Searcher, document_id: object, damage: str) -> None:
    (state,) = states(searcher)
    (vectors,), (ids,) = state.parent.glob("*.vectors"), state.parent.glob("*.ids")
    forget()
    match damage:
        case "state":
            state.write_text("{half")
        case "no_state":
            state.unlink()
        case "vectors":
            vectors.write_bytes(vectors.read_bytes()[:-1])
        case "no_vectors":
            vectors.unlink()
        case "ids":
            ids.write_bytes(b"")
        case "wrong_state":
            state.write_text('{"name": "nothing", "rows": 4, "dimensions": 64}')
        case "folder":
            shutil.rmtree(searcher.folder)

    assert nearest(searcher, "lemons") == "yellow lemons"
    assert len(searcher.by_vector("lemons")) == 4


def test_a_crash_while_appending_leaves_nothing(searcher: Searcher, document_id: object) -> None:
    (state,) = states(searcher)
    (vectors,), (ids,) = state.parent.glob("*.vectors"), state.parent.glob("*.ids")
    with vectors.open("ab") as file:
        file.write(b"\x01" * 1000)
    with ids.open("ab") as file:
        file.write(b"\x02" * 50)
    forget()
    put(searcher.org_id, new_document(searcher.org_id), ["purple grapes"])

    assert nearest(searcher, "grapes") == "purple grapes"
    assert len(searcher.by_vector("pears")) == 5


def test_without_a_folder_to_write_to_it_is_still_right(searcher: Searcher, bare_app: Flask) -> None:
    document_id = new_document(searcher.org_id)
    put(searcher.org_id, document_id, TEXTS)
    searcher.folder.parent.mkdir(exist_ok=True)
    searcher.folder.write_text("a file where the folder should be")

    assert nearest(searcher, "pears") == "green pears"


def test_the_database_of_yesterday_is_not_mixed_up_with_the_files_of_today(
    searcher: Searcher, document_id: object, tmp_path: Path, bare_app: Flask
) -> None:
    assert isinstance(document_id, type(searcher.org_id))
    put(searcher.org_id, document_id, [*TEXTS, "purple grapes"])
    assert nearest(searcher, "grapes") == "purple grapes"
    put(searcher.org_id, document_id, TEXTS)
    put(searcher.org_id, document_id, [*TEXTS, "black cherries"])

    assert nearest(searcher, "cherries") == "black cherries"
    assert "purple grapes" not in searcher.by_vector("grapes")
