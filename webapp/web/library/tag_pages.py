"""GET /tags: the tags of the library as a tree; another name, another color, deleting, and undoing each."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from flask import Blueprint, Response, flash, jsonify, make_response, redirect, render_template, request, url_for

from webapp.db import reading, transaction
from webapp.db.repeating import once_more
from webapp.library import suggestions, tag_changes, tag_tree, tags
from webapp.library.tag_changes import Taken
from webapp.library.tag_tree import TagNode
from webapp.search.filters import TAG_CHARACTERS_MAX, BadValue, tag_of
from webapp.web import fragments
from webapp.web.access import org_id, principal, writers_only
from webapp.web.csrf import FIELD
from webapp.web.document.changes import is_text
from webapp.web.errors import Problem

pages = Blueprint("tags", __name__, url_prefix="/tags")

_GREY = "grey"
_WRONG_NAME = (
    f"name must be a text of 1 to {TAG_CHARACTERS_MAX} characters, as in tax/2025, and no tag can lie in itself."
)
_WRONG_COLOR = f"color must be null, or one of: {', '.join(tags.COLORS)}."
_KNOWN = {"name", "color", "merge"}


@pages.get("")
def index() -> Response:
    """The tags, each below the one that it lies in, and the last changes of tags."""
    org, q = org_id(), request.args.get("q", "").replace("\0", "").strip()
    with reading(org):
        nodes = tag_tree.tree(org, q)
        changes = tag_changes.newest(org)
    if fragments.is_for_program():
        return jsonify(tags=[_json(node) for node in nodes if node.id])
    most = tag_tree.LISTED_MAX
    shown = {"nodes": nodes, "changes": changes, "q": q, "most": most, "colors": (_GREY, *tags.COLORS)}
    return make_response(render_template("tags/page.html", **shown))


@pages.get("/names")
def names() -> Response:
    """The names of tags that begin with what was typed, as options of a text box; `tags` is a box for several."""
    several = "tags" in request.args
    before, _, typed = request.args.get("tags" if several else "add", "").rpartition(",")
    typed = typed.strip()
    with reading(org_id()):
        found = suggestions.tag_names(org_id(), typed) if is_text(typed) else []
    # An option takes the place of all that was typed.
    kept = f"{before.strip()}, " if several and before.strip() else ""
    return fragments.replacing("tags/_options.html", names=[f"{kept}{name}" for name in found])


@pages.patch("/<uuid:tag_id>")
def change(tag_id: UUID) -> Response:
    """Rename a tag, or give it a color: 409 where another tag has this name, unless `merge` is true."""
    _found(tag_id)
    body: object = request.get_json(silent=True)
    if not isinstance(body, dict) or not {"name", "color"} & body.keys():
        raise Problem(422, detail="Send a JSON object with name, color or both.")
    if unknown := sorted(str(name) for name in body.keys() - _KNOWN):
        known = ", ".join(sorted(_KNOWN))
        raise Problem(400, "unknown_parameter", detail=f"There is no member “{unknown[0][:100]}”. Known: {known}.")
    merge = body.get("merge", False)
    if not isinstance(merge, bool):
        raise Problem(422, detail="merge must be true or false.")
    return jsonify(once_more(lambda: _change(tag_id, body, merge)))


def _change(tag_id: UUID, wanted: Mapping[str, Any], merge: bool) -> dict[str, Any]:
    with transaction(org_id()):
        if "color" in wanted:
            _paint(tag_id, wanted["color"])
        done = _rename(tag_id, wanted["name"], merge) if "name" in wanted else None
        target = tag_of(wanted["name"]) if "name" in wanted else tag_changes.get(org_id(), tag_id).word
        found = [node for node in tag_tree.tree(org_id(), target) if node.id and tag_of(node.name) == target]
        return {"tag": _json(found[0]), "change_id": done}


@pages.post("/<uuid:tag_id>")
def edit(tag_id: UUID) -> Response:
    """The same from the form of the page; before two tags become one, there is a question."""
    tag, form = _found(tag_id), request.form
    if unknown := sorted(form.keys() - _KNOWN - {FIELD}):
        raise Problem(400, "unknown_parameter", detail=f"There is no field “{unknown[0][:100]}”.")
    color = form.get("color") or None
    try:
        done = once_more(lambda: _edit(tag_id, form, color))
    except _Merging as merging:
        with reading(org_id()):
            count = tag_tree.count(org_id(), tags.within(org_id(), tag.word))
        shown = {"tag": tag, "name": merging.name, "count": count, "color": color}
        return make_response(render_template("tags/merge.html", **shown))
    return _back([change for change in done if change], "tags/_changed.txt", tag=tag)


def _edit(tag_id: UUID, form: Mapping[str, str], color: str | None) -> list[UUID | None]:
    with transaction(org_id()):
        done = [_paint(tag_id, None if color == _GREY else color)] if color else []
        if "name" in form:
            done.append(_rename(tag_id, form["name"], form.get("merge") == "1"))
        return done


@pages.get("/<uuid:tag_id>/delete")
@writers_only
def confirm_delete(tag_id: UUID) -> Response:
    """The question before a tag is deleted: how many documents have it, and which tags are in it."""
    tag = _found(tag_id)
    with reading(org_id()):
        ids = tags.within(org_id(), tag.word)
        count = tag_tree.count(org_id(), ids)
    return make_response(render_template("tags/delete.html", tag=tag, count=count, others=len(ids) - 1))


@pages.delete("/<uuid:tag_id>")
def remove(tag_id: UUID) -> Response:
    """Delete a tag and all in it; the documents stay. The answer has the id of the change, which can be undone."""
    _found(tag_id)
    return jsonify(change_id=once_more(lambda: _remove(tag_id)))


@pages.post("/<uuid:tag_id>/delete")
def delete(tag_id: UUID) -> Response:
    """Deleting for browsers, whose forms know no DELETE."""
    tag = _found(tag_id)
    done = once_more(lambda: _remove(tag_id))
    return _back([done] if done else [], "tags/_deleted.txt", tag=tag)


def _remove(tag_id: UUID) -> UUID | None:
    with transaction(org_id()):
        return tag_changes.remove(org_id(), tag_id, principal().name)


@pages.post("/changes/<uuid:change_id>/undo")
def undo(change_id: UUID) -> Response:
    """Let tags and documents be as before the change; 409 where another tag has got the name meanwhile."""
    try:
        if not once_more(lambda: _undo(change_id)):
            raise Problem(404)
    except Taken as taken:
        detail = f"Another tag is called “{taken.name}” by now. Rename that one first."
        raise Problem(409, "taken", detail=detail) from taken
    if fragments.is_for_program():
        return Response(status=204)
    return _back([], "tags/_undone.txt")


def _undo(change_id: UUID) -> bool:
    with transaction(org_id()):
        return tag_changes.undo(org_id(), change_id)


class _Merging(Exception):
    """Two tags would become one."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def _rename(tag_id: UUID, name: object, merge: bool) -> UUID | None:
    try:
        if not isinstance(name, str) or not is_text(name):
            raise BadValue
        return tag_changes.rename(org_id(), tag_id, name, principal().name, may_merge=merge)
    except BadValue as error:
        raise Problem(422, detail=_WRONG_NAME) from error
    except Taken as taken:
        if not fragments.is_for_program():
            raise _Merging(str(name)) from taken
        detail = f"There is a tag “{taken.name}”. Send “merge”: true to make one of the two."
        raise Problem(409, "taken", detail=detail) from taken


def _paint(tag_id: UUID, color: object) -> UUID | None:
    try:
        if not (color is None or isinstance(color, str)):
            raise BadValue
        return tag_changes.paint(org_id(), tag_id, color, principal().name)
    except BadValue as error:
        raise Problem(422, detail=_WRONG_COLOR) from error


def _found(tag_id: UUID) -> Any:
    with reading(org_id()):
        found = tag_changes.get(org_id(), tag_id)
    if found is None:
        raise Problem(404)
    return found


def _back(changes: list[UUID], message: str, **shown: Any) -> Response:
    if changes or "_undone" in message:
        flash(render_template(message, **shown).strip(), "success")
    if len(changes) == 1:
        flash(url_for("tags.undo", change_id=changes[0]), "undo")
    return make_response(redirect(url_for("tags.index"), 303))


def _json(node: TagNode) -> dict[str, Any]:
    return {
        "id": node.id,
        "name": node.name,
        "color": node.color,
        "documents": node.count.number,
        "more": node.count.more,
    }
