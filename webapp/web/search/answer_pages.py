"""POST /search/answers: a question's answer from the passages, and GET /search/answers/<key>: how far it is written."""

from uuid import UUID

from flask import Blueprint, Response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from webapp.db import reading
from webapp.pipeline.answer import TooManyQuestions, ask
from webapp.pipeline.paid_calls.query_vectors import NotAsked
from webapp.search import answers
from webapp.search.answers import GivenAnswer
from webapp.web import fragments
from webapp.web.access import get_document, org_id, services
from webapp.web.errors import Problem

pages = Blueprint("answers", __name__)


@pages.post("/search/answers")
def create() -> AnyResponse:
    """Ask; the answer is written while the page waits for it."""
    question = request.form.get("q", "").strip()
    answerer = services().providers.answerer
    if answerer is None:
        raise Problem(404, detail="Questions are answered only where a chat model is set (OPENAI_CHAT_MODEL).")
    if not question:
        raise Problem(422, detail="q is missing: the question.")
    document_id = _document_id()
    try:
        key = ask(services(), answerer, org_id(), question, document_id)
    except TooManyQuestions:
        raise Problem(503, detail="Several questions are being answered. Try again in some seconds.") from None
    except NotAsked as refusal:
        return _refused(question, refusal)
    if key is None or fragments.is_for_program() or fragments.wants_fragment():
        return _answer(question, _given(key) if key else None, document_id)
    return redirect(
        url_for("answers.show", key=key, **fragments.without({"q": question, "document": document_id})), 303
    )


def _document_id() -> UUID | None:
    """The only document to answer from; 404 where there is none."""
    value = request.values.get("document", "")
    try:
        return get_document(UUID(value)).id if value else None
    except ValueError as error:
        raise Problem(422, detail="document must be the id of a document.") from error


@pages.get("/search/answers/<key>")
def show(key: str) -> AnyResponse:
    """An answer, whole or as far as it is written."""
    found = _given(key)
    if found is None and not fragments.wants_fragment():
        raise Problem(404, detail="There is no such answer: it was made from a document that is gone, or too long ago.")
    return _answer(request.args.get("q", ""), found, _document_id(), is_gone=found is None)


def _given(key: str) -> GivenAnswer | None:
    with reading(org_id()):
        return answers.find(org_id(), key)


def _refused(question: str, refusal: NotAsked) -> Response:
    if fragments.is_for_program():
        raise Problem(503, detail="No question can be answered now: " + refusal.reason.value)
    return Response(render_template("search/_answer.html", q=question, answer=None, reason=refusal.reason))


def _answer(
    question: str, found: GivenAnswer | None, document_id: UUID | None = None, *, is_gone: bool = False
) -> Response:
    return fragments.answer(
        page="search/answer.html",
        fragment="search/_answer.html",
        data=lambda: _json(found),
        q=question,
        answer=found,
        document_id=document_id,
        is_gone=is_gone,
        reason=None,
    )


def _json(found: GivenAnswer | None) -> dict[str, object]:
    if found is None:
        return {"id": None, "state": "done", "sentences": [], "left_out": 0, "sources": [], "model": None}
    return {
        "id": found.key,
        "state": found.state.lower(),
        "model": found.model,
        "sentences": [{"text": each.text, "sources": list(each.sources)} for each in found.sentences],
        "left_out": found.left_out,
        "sources": [
            {
                "number": each.number,
                "document_id": str(each.document_id),
                "chunk_id": str(each.chunk_id) if each.chunk_id else None,
                "filename": each.filename,
                "title": each.title,
                "page_from": each.page_from,
            }
            for each in found.sources
        ],
    }
