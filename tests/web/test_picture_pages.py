"""Pictures of pages: drawn once, kept beside the file, gone with it."""

from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from flask import Flask

from tests import samples
from tests.web.people import Browser, People, Program
from tests.web.shelves import NOTES, read_json, services_of, shelve, use_hashed_words, work_off
from webapp.providers.blob_copies import BlobCopies
from webapp.readers.book_pictures import BookPictures

# Nothing here asks the database anything that another test does not ask on both.
pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)

PNG = b"\x89PNG"


@pytest.fixture
def report(app: Flask, program: Program) -> str:
    """A document of three pages that has been processed."""
    use_hashed_words(app)
    [document] = shelve(program, ("report.pdf", samples.report_pdf(3)))
    work_off(app)
    return document


def kept(app: Flask) -> list[str]:
    """The pictures in storage, by the ends of their paths."""
    return [
        blob.path.rpartition("/pages/")[2] for blob in services_of(app).providers.blobs.list() if "/pages/" in blob.path
    ]


def test_a_page_is_drawn_once_and_kept_in_both_sizes(app: Flask, program: Program, report: str) -> None:
    large = program.get(f"/documents/{report}/pages/2.png")
    assert (large.status_code, large.mimetype) == (200, "image/png")
    assert large.data.startswith(PNG)
    assert "sandbox" in large.headers["Content-Security-Policy"]
    assert large.headers["Cache-Control"] == "private, no-cache"
    small = program.get(f"/documents/{report}/pages/2.png?size=small")
    assert small.data.startswith(PNG)
    assert len(small.data) < len(large.data)
    assert kept(app) == ["1-large-2.png", "1-small-2.png"]
    again = program.get(f"/documents/{report}/pages/2.png")
    assert again.data == large.data
    known = program.get(f"/documents/{report}/pages/2.png", headers={"If-None-Match": large.headers["ETag"]})
    assert (known.status_code, known.data) == (304, b"")


def test_it_needs_no_result(program: Program) -> None:
    [waiting] = shelve(program, ("report.pdf", samples.report_pdf(3)))
    assert program.get(f"/documents/{waiting}/pages/3.png").status_code == 200
    assert program.get(f"/documents/{waiting}/pages/4.png").status_code == 404


@pytest.mark.parametrize("page", ["0", "4", "99999999999999999999999999"])
def test_there_are_no_other_pages(app: Flask, program: Program, report: str, page: str) -> None:
    answer = program.get(f"/documents/{report}/pages/{page}.png")
    assert answer.status_code == 404
    assert read_json(answer)["reason"] == "no_such_page"
    assert kept(app) == []


@pytest.mark.parametrize("page", ["x", "-1", "1.5", ""])
def test_nonsense_is_no_page(program: Program, report: str, page: str) -> None:
    assert program.get(f"/documents/{report}/pages/{page}.png").status_code == 404
    assert program.get(f"/documents/{report}/pages/1.png?size=huge").status_code == 422


def test_only_pdf_files_have_pictures(program: Program) -> None:
    [text] = shelve(program, ("notes.md", NOTES))
    answer = program.get(f"/documents/{text}/pages/1.png")
    assert answer.status_code == 404
    assert "Only the pages of PDF files and of pictures" in read_json(answer)["detail"]


def test_a_file_that_cannot_be_drawn_is_tried_once(app: Flask, program: Program) -> None:
    [locked] = shelve(program, ("locked.pdf", samples.encrypted_pdf()))
    for _ in range(2):
        answer = program.get(f"/documents/{locked}/pages/1.png")
        assert answer.status_code == 404
        assert read_json(answer)["reason"] == "no_picture"
    assert kept(app) == ["1-large-1.png"]


def test_where_files_lie_elsewhere_one_is_fetched_once_for_many_pages(
    app: Flask, program: Program, report: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    services, fetched = services_of(app), []

    def local_copy(path: str) -> AbstractContextManager[Path]:
        fetched.append(path)
        return services.providers.blobs.local_copy(path)

    providers = replace(services.providers, copies=BlobCopies(local_copy).use)
    monkeypatch.setitem(app.extensions, "docmill", replace(services, providers=providers))
    for number in (1, 2, 3):
        assert program.get(f"/documents/{report}/pages/{number}.png?size=small").status_code == 200
    assert len(fetched) == 1


def test_small_pictures_are_given_up_early_and_each_org_has_a_share(
    app: Flask, program: Program, report: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    services, asked = services_of(app), []

    class Listening:
        """An artist that tells what it was asked for."""

        def draw(
            self, source: Path, number: int, box: tuple[int, int], *, timeout_seconds: float, org: str = ""
        ) -> bytes | None:
            asked.append((timeout_seconds, org))
            return None

        def words(self, source: Path, number: int, *, timeout_seconds: float, org: str = "") -> None:
            raise AssertionError("a picture needs no words")

        def in_book(self, source: Path, *, timeout_seconds: float, org: str = "") -> BookPictures:
            raise AssertionError("no book")

        def draw_in_book(
            self, source: Path, member: str, box: tuple[int, int], *, timeout_seconds: float, org: str = ""
        ) -> bytes:
            raise AssertionError("no book")

    providers = replace(services.providers, artist=Listening())
    monkeypatch.setitem(app.extensions, "docmill", replace(services, providers=providers))
    program.get(f"/documents/{report}/pages/1.png?size=small")
    program.get(f"/documents/{report}/pages/1.png")
    assert asked == [(5, str(program.org_id)), (20, str(program.org_id))]


def test_pictures_go_with_their_document_and_outlive_another_run(
    app: Flask, program: Program, ops: Program, report: str
) -> None:
    program.get(f"/documents/{report}/pages/1.png")
    program.post(f"/documents/{report}/reprocess")
    work_off(app)
    assert kept(app) == ["1-large-1.png"]
    ops.client.delete(f"/documents/{report}?purge=1", headers=ops.headers)
    assert kept(app) == []
    assert program.get(f"/documents/{report}/pages/1.png").status_code == 404


def test_text_files_show_none(app: Flask, people: People, browser: Browser) -> None:
    use_hashed_words(app)
    [text] = shelve(people.program(), ("notes.md", NOTES))
    work_off(app)
    assert "data-reader" not in browser.get(f"/documents/{text}").text


def test_a_passage_is_marked_on_its_page(program: Program, report: str, people: People) -> None:
    [hit, *_] = read_json(program.get(f"/search?q=lighthouse&document={report}"))["hits"]
    number = hit["page_from"]
    path = f"/documents/{report}/pages/{number}?passage={hit['chunk_id']}"
    body = read_json(program.get(path))
    width, height = body["size"]
    assert body["marks"]
    assert all(0 <= x < x + w <= width and 0 <= y < y + h <= height for x, y, w, h in body["marks"])
    # One box a line, not a word, each below the other.
    tops = [y for _, y, _, _ in body["marks"]]
    assert tops == sorted(tops)
    assert len(tops) < len(hit["text"].split()) / 3
    assert read_json(program.get(f"/documents/{report}/pages/{number}"))["marks"] == []
    page = people.browser().get(f"{path}&q=lighthouse").text
    assert page.count("<rect ") > len(tops)
    assert f'src="/documents/{report}/pages/{number}.png"' in page
    assert "is not known" in people.browser().get(f"/documents/{report}/pages/1?words=a+wobbulator+hums").text
    assert program.get(f"/documents/{report}/pages/9").status_code == 404
    assert people.program(org="Theirs").get(path).status_code == 404
