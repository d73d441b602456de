"""The migration that lets documents be found by words: the words of those that are there already come after it."""

import shutil
from pathlib import Path

import flask_migrate
import pytest
import sqlalchemy as sa
from flask import Flask

from tests.migrations.databases import MIGRATIONS, connections, on_both
from tests.migrations.filled import fill_states
from webapp.clock import new_id

DOCUMENTS = 3_456
_DOCUMENT = """
INSERT INTO documents (id, org_id, filename, title, content_type, size_bytes, sha256, blob_path, status, created_at,
    updated_at)
SELECT '{id}', id, '{filename}', {title}, 'text/plain', 1, '{hash}', 'b', 'PROCESSING', CURRENT_TIMESTAMP,
    CURRENT_TIMESTAMP
FROM orgs
"""
_WORDS = "SELECT word FROM document_words WHERE document_id = '{id}' ORDER BY word"


def _add(connection: sa.Connection, number: int, filename: str, title: str = "NULL") -> str:
    document_id = new_id().hex
    values = {"id": document_id, "filename": filename, "title": title, "hash": f"{number:064x}"}
    connection.exec_driver_sql(_DOCUMENT.format(**values))
    return document_id


def _words(connection: sa.Connection, document_id: str) -> list[str]:
    return list(connection.exec_driver_sql(_WORDS.format(id=document_id)).scalars())


@pytest.mark.slow
@on_both
def test_documents_that_were_there_before_are_found_by_their_words(unmigrated: Flask) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(revision="0005")
        with engine.begin() as connection:
            fill_states(connection)
            some = [_add(connection, number, f"MyInvoice_{number}.pdf") for number in range(1, DOCUMENTS)]
            odd = _add(connection, DOCUMENTS, "Żółć 契約書.PDF", "'Straße'")
            wordless = _add(connection, DOCUMENTS + 1, "--")
        for _ in range(2):
            flask_migrate.upgrade(revision="0006")
            with engine.connect() as connection:
                for number in (1, 999, 1_000, 1_001, 2_000, DOCUMENTS - 1):
                    assert _words(connection, some[number - 1]) == sorted(
                        [str(number), "invoice", "my", "myinvoice", "pdf"]
                    )
                assert set(_words(connection, odd)) == {"zołc", "契", "約", "書", "pdf", "strasse"}
                assert _words(connection, wordless) == []
                found = connection.exec_driver_sql("SELECT count(DISTINCT document_id) FROM document_words").scalar()
                # All but the one without words; the one that `fill_states` made is called "a".
                assert found == DOCUMENTS + 1
                assert not sa.inspect(connection).has_table("document_words_to_fill")
            flask_migrate.downgrade(revision="0005")


@pytest.mark.slow
@on_both
def test_words_that_were_interrupted_go_on_with_the_next_upgrade(unmigrated: Flask, tmp_path: Path) -> None:
    """What is committed is kept; a newer process may have added a document's words meanwhile."""
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(revision="0005")
        with engine.begin() as connection:
            fill_states(connection)
            last = [_add(connection, number, f"invoice {number}.pdf") for number in range(1, 1_500)][-1]
        broken = _copied(tmp_path, "    if last is not None:\n        raise ArithmeticError\n")
        with pytest.raises(ArithmeticError):
            flask_migrate.upgrade(directory=str(broken))
        with engine.begin() as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM document_words").scalar_one() > 1_000
            assert _words(connection, last) == []
            add = "INSERT INTO document_words (org_id, document_id, word) SELECT org_id, id, 'pdf' FROM documents"
            connection.exec_driver_sql(f"{add} WHERE id = '{last}'")
        flask_migrate.upgrade()
        with engine.connect() as connection:
            assert _words(connection, last) == ["1499", "invoice", "pdf"]
            assert not sa.inspect(connection).has_table("document_words_to_fill")


@pytest.mark.slow
@pytest.mark.parametrize("unmigrated", ["postgresql"], indirect=True)
def test_nobody_waits_for_the_words(unmigrated: Flask, tmp_path: Path) -> None:
    """While words are added, others read and write documents and jobs: no lock blocks them."""
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(revision="0005")
        with engine.begin() as connection:
            fill_states(connection)
        seen = tmp_path / "locks"
        noting = f"""
    modes = connection.scalars(sa.text("SELECT mode FROM pg_locks WHERE pid = pg_backend_pid() AND relation IN "
        "(CAST('documents' AS regclass), CAST('document_processing_jobs' AS regclass))")).all()
    with open({str(seen)!r}, "a") as file:
        file.write(" ".join(modes) + " ")
"""
        flask_migrate.upgrade(revision="0006", directory=str(_copied(tmp_path, noting)))
        modes = set(seen.read_text().split())
        assert modes <= {"AccessShareLock", "RowShareLock"}
        assert "RowShareLock" in modes


def _copied(folder: Path, lines: str) -> Path:
    """The migrations, with some lines in `fill`, before it notes how far it has come."""
    directory = folder / "migrations"
    shutil.copytree(MIGRATIONS, directory)
    path = directory / "earlier" / "0006_pages.py"
    text, mark = path.read_text(), "    connection.execute(sa.update(_last_id.table)"
    assert text.count(mark) == 1
    path.write_text(text.replace(mark, f"{lines}{mark}"))
    return directory
