"""GET /views: the saved views, made, changed, put in order and deleted; and the bar that has their counts."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from uuid import UUID

from flask import Blueprint, Response, flash, jsonify, make_response, redirect, render_template, request, url_for

from webapp.clock import monotonic
from webapp.db import reading, reading_late, transaction
from webapp.db.bounded import Count
from webapp.library import rules, shares, views
from webapp.library.grid import Sort
from webapp.library.status_filter import StatusFilter
from webapp.library.views import NAME_CHARACTERS_MAX, VIEWS_MAX, TooManyViews, View
from webapp.search.grammar import parse
from webapp.web import fragments
from webapp.web.access import org_id, principal
from webapp.web.csrf import FIELD
from webapp.web.document.changes import is_text
from webapp.web.errors import Problem
from webapp.web.library.library_pages import asked_folder, choice
from webapp.web.library.shown_views import ShownView, is_current, of_reader
from webapp.web.numbers import whole_number
from webapp.web.reads import may_be_late

pages = Blueprint("views", __name__, url_prefix="/views")

# Views that come after this have no count, so that the bar never takes long.
_COUNTING_SECONDS = 2.0
_KNOWN = {"name", "query", "folder", "status", "sort", "private", "position"}
_WRONG_NAME = f"name must be a text of 1 to {NAME_CHARACTERS_MAX} characters."
_NOT_YOURS = "Only the person who saved a view can make it private, and programs have no private views."


@pages.get("")
def index() -> Response:
    """The views in their order; for people with forms that change them."""
    shown = [ShownView(view) for view in of_reader()]
    if fragments.is_for_program():
        return jsonify(views=[each.json() for each in shown])
    with reading(org_id()):
        numbers = shares.numbers_of_views(org_id())
    page = render_template(
        "views/page.html", views=shown, sorts=list(Sort), statuses=list(StatusFilter), share_numbers=numbers
    )
    return make_response(page)


@pages.get("/bar")
def bar() -> Response:
    """The views beside the library, with their counts: a fragment that the page asks for by itself."""
    org = org_id()

    def read() -> list[ShownView]:
        ends_at = monotonic() + _COUNTING_SECONDS
        return [
            ShownView(view, views.count(org, view) if not view.mistake and monotonic() < ends_at else None)
            for view in of_reader()
        ]

    shown = reading_late(org, read, may_be_late=may_be_late())
    url = urlsplit(fragments.current_url() or "")
    here = dict(parse_qsl(url.query)) if url.path == url_for("library.index") else None
    marked = [ShownView(each.view, each.count, is_current(each.view, here)) for each in shown]
    return fragments.replacing("views/_bar.html", views=marked, is_counted=True)


@pages.get("/<uuid:view_id>")
def show(view_id: UUID) -> Response:
    """A view with the number of its documents; people are shown the library."""
    view = _found(view_id)
    shown = ShownView(view)
    if not fragments.is_for_program():
        return make_response(redirect(shown.url))
    org = org_id()
    with reading(org):
        count = views.count(org, view) if not view.mistake else Count()
    return jsonify({**shown.json(), "matched": count.number, "more": count.more})


@pages.post("")
def create() -> Response:
    """Save a view: 201 with its address; people go back to the library as they filtered it."""
    given = _asked()
    if "name" not in given:
        raise Problem(422, detail=_WRONG_NAME)
    values = {"query": "", "folder": None, "status": None, "sort": Sort.NEWEST, **_values(given, None)}
    try:
        with transaction(org_id()):
            view_id = views.add(org_id(), values, principal().ref)
    except TooManyViews as error:
        detail = f"Your organisation has {VIEWS_MAX} views. Delete one that nobody needs."
        raise Problem(409, "too_many", detail=detail) from error
    shown = ShownView(_found(view_id))
    if fragments.is_for_program():
        return make_response(jsonify(shown.json()), 201, {"Location": url_for("views.show", view_id=view_id)})
    flash(render_template("views/_saved.txt", name=shown.view.name).strip(), "success")
    return make_response(redirect(shown.url, 303))


@pages.patch("/<uuid:view_id>")
def change(view_id: UUID) -> Response:
    """Change what is named of a view; `position` is its place in the list, counted from 1."""
    _change(_found(view_id), _asked())
    return jsonify(ShownView(_found(view_id)).json())


@pages.post("/<uuid:view_id>")
def edit(view_id: UUID) -> Response:
    """The same from a form of the page."""
    given = _asked()
    # A box that is not ticked is not sent.
    if "name" in given:
        given.setdefault("private", "")
    _change(_found(view_id), given)
    return make_response(redirect(url_for("views.index", _anchor=f"view-{view_id}"), 303))


@pages.delete("/<uuid:view_id>")
def remove(view_id: UUID) -> Response:
    """Delete a view; the documents stay."""
    _remove(view_id)
    return Response(status=204)


@pages.post("/<uuid:view_id>/delete")
def delete(view_id: UUID) -> Response:
    """Deleting for browsers, whose forms know no DELETE."""
    name = _found(view_id).name
    _remove(view_id)
    flash(render_template("views/_deleted.txt", name=name).strip(), "success")
    return make_response(redirect(url_for("views.index"), 303))


def _found(view_id: UUID) -> View:
    with reading(org_id()):
        found = views.find(org_id(), view_id, principal().user_id)
    if found is None:
        raise Problem(404)
    return found


def _remove(view_id: UUID) -> None:
    _found(view_id)
    with transaction(org_id()):
        _check_unused(view_id, "deleted")
        views.remove(org_id(), view_id)


def _check_unused(view_id: UUID, wanted: str) -> None:
    if names := rules.of_view(org_id(), view_id):
        detail = f"The view can't be {wanted}: the rule “{names[0]}” is about its documents. Change that rule first."
        raise Problem(409, "in_use", detail=detail)


def _change(view: View, given: dict[str, Any]) -> None:
    if not given:
        raise Problem(422, detail=f"Name what is to be changed: {', '.join(sorted(_KNOWN))}.")
    values = _values(given, view)
    position = whole_number(str(given["position"]), "position", VIEWS_MAX) if "position" in given else None
    with transaction(org_id()):
        if "private_to" in values and values["private_to"] is not None:
            _check_unused(view.id, "private")
        views.change(org_id(), view.id, values)
        if position is not None:
            views.move(org_id(), view.id, principal().user_id, position - 1)


def _asked() -> dict[str, Any]:
    if request.is_json:
        body: object = request.get_json(silent=True)
        if not isinstance(body, dict):
            raise Problem(422, detail=f"Send a JSON object with: {', '.join(sorted(_KNOWN))}.")
        given = dict(body)
    else:
        given = {name: value for name, value in request.form.items() if name != FIELD}
    if unknown := sorted(str(name) for name in given.keys() - _KNOWN):
        known = ", ".join(sorted(_KNOWN))
        raise Problem(400, "unknown_parameter", detail=f"There is no member “{unknown[0][:100]}”. Known: {known}.")
    return given


def _values(given: Mapping[str, Any], view: View | None) -> dict[str, Any]:
    """The columns that are to be written."""
    values: dict[str, Any] = {}
    if "name" in given:
        values["name"] = " ".join(_text(given, "name").split())
        if not 1 <= len(values["name"]) <= NAME_CHARACTERS_MAX:
            raise Problem(422, detail=_WRONG_NAME)
    if "query" in given:
        values["query"] = _text(given, "query").strip()
        # A mistake is answered with its sentence.
        parse(values["query"])
    if "folder" in given:
        values["folder"] = asked_folder(_text(given, "folder"))
    if "status" in given:
        status = choice(StatusFilter, "status", _text(given, "status"))
        values["status"] = status.value if status else None
    if "sort" in given:
        values["sort"] = (choice(Sort, "sort", _text(given, "sort")) or Sort.NEWEST).value
    if "private" in given:
        values["private_to"] = _owner(_flag(given["private"]), view)
    return values


def _owner(is_private: bool, view: View | None) -> UUID | None:
    who = principal()
    if not is_private:
        return None
    if who.user_id is None or (view is not None and view.created_by != who.ref):
        raise Problem(422, "not_yours", detail=_NOT_YOURS)
    return who.user_id


def _flag(value: object) -> bool:
    if value in (True, "1", "on"):
        return True
    if value in (False, None, "", "0"):
        return False
    raise Problem(422, detail="private must be true or false.")


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given[name]
    if value is None:
        return ""
    if not isinstance(value, str) or not is_text(value):
        raise Problem(422, detail=f"{name} must be a text.")
    return value
