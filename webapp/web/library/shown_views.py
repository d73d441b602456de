"""Saved views as pages and programs are shown them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import url_for

from webapp.db import reading
from webapp.db.bounded import Count
from webapp.library import views
from webapp.library.grid import Sort
from webapp.library.views import View
from webapp.web import fragments
from webapp.web.access import org_id, principal
from webapp.web.query_mistakes import sentence


@dataclass(frozen=True)
class ShownView:
    """A view in the bar and in lists, with its count where that is known."""

    view: View
    count: Count | None = None
    is_current: bool = False

    @property
    def url(self) -> str:
        """The library as this view shows it."""
        return url_for("library.index", **_arguments(self.view))

    @property
    def mistake(self) -> str | None:
        """Why its query can't be read any more, in a sentence."""
        found = self.view.mistake
        return sentence(found) if found else None

    def json(self) -> dict[str, Any]:
        """The view for programs."""
        view = self.view
        return {
            "id": view.id,
            "name": view.name,
            "query": view.query,
            "folder": view.folder,
            "status": view.status.lower() if view.status else None,
            "sort": view.sort,
            "private": view.is_private,
            "mistake": self.mistake,
        }


def of_reader() -> list[View]:
    """The views that the person or program who asks sees."""
    with reading(org_id()):
        return views.of_reader(org_id(), principal().user_id)


def shown_beside(arguments: Mapping[str, str]) -> list[ShownView]:
    """The views without counts, for the page of the library with these parameters."""
    return [ShownView(view, None, is_current(view, arguments)) for view in of_reader()]


def is_current(view: View, arguments: Mapping[str, str] | None) -> bool:
    """Whether the library with these parameters shows this view."""
    if arguments is None:
        return False
    known = {name: arguments[name].strip() for name in ("q", "folder", "status", "sort") if arguments.get(name)}
    if known.get("sort") == Sort.NEWEST:
        del known["sort"]
    return known == _arguments(view)


def _arguments(view: View) -> dict[str, Any]:
    status, sort = view.status.lower() if view.status else None, view.sort.value if view.sort != Sort.NEWEST else None
    return fragments.without({"q": view.query, "folder": view.folder, "status": status, "sort": sort})
