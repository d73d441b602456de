"""GET /rules: what documents of a view are given when they are ready; rules are tried, and applied to the library."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from flask import Blueprint, Response, flash, jsonify, make_response, redirect, render_template, request, url_for

from webapp.accounts.audit import Action
from webapp.db import reading, transaction
from webapp.library import bulk, rule_trial, rules, views
from webapp.library.bulk import BulkAction, BulkRequest
from webapp.library.rule_effects import PLACEHOLDERS
from webapp.library.rule_trial import Trial
from webapp.library.rules import NAME_CHARACTERS_MAX, RULES_MAX, ShownRule, TooManyRules
from webapp.search.filters import KINDS, TAG_CHARACTERS_MAX, BadValue
from webapp.web import fragments
from webapp.web.access import org_id, principal, services
from webapp.web.csrf import FIELD
from webapp.web.document.changes import is_text
from webapp.web.errors import Problem
from webapp.web.query_mistakes import sentence
from webapp.web.security_log import note

pages = Blueprint("rules", __name__, url_prefix="/rules")

_KNOWN = {"name", "view_id", "tags", "kind", "title", "on"}
_WRONG_NAME = f"name must be a text of 1 to {NAME_CHARACTERS_MAX} characters."
_WRONG_GIFTS = (
    f"A rule gives tags of 1 to {TAG_CHARACTERS_MAX} characters, a kind that documents can have, and a title whose "
    f"placeholders are {', '.join(f'{{{name}}}' for name in PLACEHOLDERS)}."
)
_NOTHING = "Say what the rule gives: tags, a kind or a title."
_WRONG_VIEW = "view_id must be the id of a view that everybody in your organisation sees."


@dataclass(frozen=True)
class RuleView:
    """A rule as pages and programs are shown it."""

    rule: ShownRule

    @property
    def mistake(self) -> str | None:
        """Why the query of its view can't be read any more, in a sentence; the rule rests then."""
        found = self.rule.mistake
        return sentence(found) if found else None

    def json(self) -> dict[str, Any]:
        """The rule for programs."""
        rule, gifts = self.rule, self.rule.gifts
        own = {"id": rule.id, "name": rule.name, "view_id": rule.view_id, "view": rule.view_name, "on": rule.is_on}
        return {**own, "tags": list(gifts.tags), "kind": gifts.kind, "title": gifts.title, "mistake": self.mistake}


@pages.get("")
def index() -> Response:
    """The rules, in the order in which they are applied."""
    org = org_id()
    with reading(org):
        shown = [RuleView(rule) for rule in rules.of_org(org)]
        shared = [view for view in views.of_reader(org, None) if view.mistake is None]
    if fragments.is_for_program():
        return jsonify(rules=[each.json() for each in shown])
    return make_response(render_template("rules/page.html", rules=shown, views=shared, kinds=sorted(KINDS)))


@pages.get("/<uuid:rule_id>")
def show(rule_id: UUID) -> Response:
    """A rule, and what it would change in the library now."""
    rule = _found(rule_id)
    shown = RuleView(rule)
    trial = _tried(rule) if rule.mistake is None else None
    if fragments.is_for_program():
        return jsonify({**shown.json(), "trial": _trial_json(trial) if trial else None})
    return make_response(render_template("rules/rule.html", shown=shown, trial=trial))


@pages.post("")
def create() -> Response:
    """Make a rule: 201 with its address. It is on, and applies to what becomes ready from now on."""
    given = _asked()
    if not given.get("name"):
        raise Problem(422, detail=_WRONG_NAME)
    if not given.get("view_id"):
        raise Problem(422, detail=_WRONG_VIEW)
    values = {"tags": [], "kind": None, "title": None, "is_on": True, **_values(given)}
    _need_gift(values)
    try:
        with transaction(org_id()):
            rule_id = rules.add(org_id(), values, principal().ref)
    except TooManyRules as error:
        detail = f"Your organisation has {RULES_MAX} rules. Delete one that nobody needs."
        raise Problem(409, "too_many", detail=detail) from error
    if fragments.is_for_program():
        address = url_for("rules.show", rule_id=rule_id)
        return make_response(jsonify(RuleView(_found(rule_id)).json()), 201, {"Location": address})
    return make_response(redirect(url_for("rules.show", rule_id=rule_id), 303))


@pages.patch("/<uuid:rule_id>")
def change(rule_id: UUID) -> Response:
    """Change what is named of a rule."""
    _change(rule_id)
    return jsonify(RuleView(_found(rule_id)).json())


@pages.post("/<uuid:rule_id>")
def edit(rule_id: UUID) -> Response:
    """The same from a form of the page."""
    _change(rule_id)
    return make_response(redirect(url_for("rules.index", _anchor=f"rule-{rule_id}"), 303))


@pages.delete("/<uuid:rule_id>")
def remove(rule_id: UUID) -> Response:
    """Delete a rule; what it gave documents stays."""
    _remove(rule_id)
    return Response(status=204)


@pages.post("/<uuid:rule_id>/delete")
def delete(rule_id: UUID) -> Response:
    """Deleting for browsers, whose forms know no DELETE."""
    name = _remove(rule_id).name
    flash(render_template("rules/_deleted.txt", name=name).strip(), "success")
    return make_response(redirect(url_for("rules.index"), 303))


@pages.post("/<uuid:rule_id>/apply")
def apply(rule_id: UUID) -> Response:
    """Begin the operation that applies a rule to the whole library: 202 with its address; it can be undone."""
    rule, who = _found(rule_id), principal()
    if mistake := rule.mistake:
        raise mistake
    asked = BulkRequest(BulkAction.RULE, matching=rule.matching, gifts=rule.gifts)
    with transaction(who.org_id):
        count = bulk.count(who.org_id, asked)
        operation_id = bulk.begin(services().queue, who.org_id, asked, who.name)
        note(Action.BULK_BEGUN, f"bulk:{operation_id}", what=asked.action, matched=count.number)
    address = url_for("bulk.show", operation_id=operation_id)
    if fragments.is_for_program():
        return make_response(jsonify(id=operation_id, matched=count.number), 202, {"Location": address})
    return make_response(redirect(address, 303))


def _found(rule_id: UUID) -> ShownRule:
    with reading(org_id()):
        found = rules.find(org_id(), rule_id)
    if found is None:
        raise Problem(404)
    return found


def _tried(rule: ShownRule) -> Trial:
    with reading(org_id()):
        return rule_trial.try_out(org_id(), rule)


def _trial_json(trial: Trial) -> dict[str, Any]:
    examples = [
        {
            "id": each.document_id,
            "filename": each.filename,
            "before": {"title": each.title, "kind": each.kind},
            "tags": list(each.effect.tags),
            "title": each.effect.facts.get("title"),
            "kind": each.effect.facts.get("kind"),
        }
        for each in trial.examples
    ]
    numbers = {"matched": trial.matched.number, "more": trial.matched.more}
    return {**numbers, "tried": trial.tried, "changed": trial.changed, "examples": examples}


def _change(rule_id: UUID) -> None:
    rule, given = _found(rule_id), _asked()
    if not given:
        raise Problem(422, detail=f"Name what is to be changed: {', '.join(sorted(_KNOWN))}.")
    values = _values(given)
    _need_gift({"tags": rule.gifts.tags, "kind": rule.gifts.kind, "title": rule.gifts.title, **values})
    with transaction(org_id()):
        rules.change(org_id(), rule_id, values)


def _remove(rule_id: UUID) -> ShownRule:
    rule = _found(rule_id)
    with transaction(org_id()):
        rules.remove(org_id(), rule_id)
    return rule


def _asked() -> dict[str, Any]:
    if request.is_json:
        body: object = request.get_json(silent=True)
        if not isinstance(body, dict):
            raise Problem(422, detail=f"Send a JSON object with: {', '.join(sorted(_KNOWN))}.")
        given = dict(body)
    else:
        given = {name: value for name, value in request.form.items() if name != FIELD}
        if "tags" in given:
            given["tags"] = [name.strip() for name in given["tags"].split(",") if name.strip()]
    if unknown := sorted(str(name) for name in given.keys() - _KNOWN):
        known = ", ".join(sorted(_KNOWN))
        raise Problem(400, "unknown_parameter", detail=f"There is no member “{unknown[0][:100]}”. Known: {known}.")
    return given


def _values(given: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that are to be written."""
    values: dict[str, Any] = {}
    if "name" in given:
        values["name"] = " ".join(_text(given["name"], _WRONG_NAME).split())
        if not 1 <= len(values["name"]) <= NAME_CHARACTERS_MAX:
            raise Problem(422, detail=_WRONG_NAME)
    if "view_id" in given:
        values["view_id"] = _shared_view(given["view_id"])
    if "tags" in given:
        names = given["tags"]
        if not isinstance(names, list):
            raise Problem(422, detail=_WRONG_GIFTS)
        values["tags"] = [_text(name, _WRONG_GIFTS) for name in names]
    for name in ("kind", "title"):
        if name in given:
            values[name] = _text(given[name] or "", _WRONG_GIFTS).strip() or None
    if "on" in given:
        values["is_on"] = _flag(given["on"])
    try:
        rules.check(values)
    except BadValue as error:
        raise Problem(422, detail=_WRONG_GIFTS) from error
    return values


def _need_gift(values: Mapping[str, Any]) -> None:
    if not (values["tags"] or values["kind"] or values["title"]):
        raise Problem(422, detail=_NOTHING)


def _shared_view(given: object) -> UUID:
    try:
        view_id = UUID(str(given))
    except ValueError as error:
        raise Problem(422, detail=_WRONG_VIEW) from error
    with reading(org_id()):
        if views.find(org_id(), view_id, None) is None:
            raise Problem(422, detail=_WRONG_VIEW)
    return view_id


def _flag(value: object) -> bool:
    if value in (True, "1", "on"):
        return True
    if value in (False, "", "0"):
        return False
    raise Problem(422, detail="on must be true or false.")


def _text(value: object, detail: str) -> str:
    if not isinstance(value, str) or not is_text(value):
        raise Problem(422, detail=detail)
    return value
