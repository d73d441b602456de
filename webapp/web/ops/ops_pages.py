"""For the role ops: how the installation does, and what is wrong with it.

Everything is about the asking person's own org, except for the worker processes, which work for all.
"""

from typing import Any
from uuid import UUID

from flask import Blueprint, Response

from webapp.db import reading, row_security
from webapp.db.bounded import Count
from webapp.library import reread, selection, webhooks
from webapp.library.reprocess import with_other_vectors
from webapp.library.sources import registry
from webapp.provider_errors import ProviderError
from webapp.sandbox import state as sandbox_state
from webapp.web import fragments
from webapp.web.access import ops_only, org_id, principal, services
from webapp.web.formatting import counts_json
from webapp.web.ops import alerts, figures
from webapp.web.ops.dispatch_view import dispatch_state
from webapp.web.ops.provider_rows import provider_rows
from webapp.web.ops.spending import spending
from webapp.web.ops.stage_pages import drained_by, installation_figures, stage_rows
from webapp.web.ops.warnings import installation_warnings
from webapp.web.ops.watched import watched

pages = Blueprint("ops", __name__, url_prefix="/ops")


@pages.get("")
@ops_only
def overview() -> Response:
    """The health of the installation."""
    found = _overview(org_id())
    return fragments.answer(
        page="ops/page.html", fragment="ops/_refresh.html", data=lambda: _for_programs(found), **found
    )


def _overview(org: UUID) -> dict[str, Any]:
    settings, seen = services().settings, watched(org)
    with reading(org) as session:
        found = {
            "spending": spending(org, settings.prices.currency),
            "outdated": selection.count(org, with_other_vectors(services())),
            "sources": registry.summary(org),
            "given_up": webhooks.summary(org).given_up,
            "rereading": reread.progress(services(), org),
            "database": session.get_bind().dialect.name,
            "database_role": row_security.notice() if principal().is_operator else None,
        }
    drained, stages = drained_by(org, seen.controls), stage_rows(org, seen.controls, seen.stages)
    return {
        **found,
        "alerts": alerts.firing(seen),
        "counts": seen.jobs,
        "workers": seen.workers,
        "limits": seen.limits,
        "oldest_due_seconds": figures.oldest_due_seconds(stage.oldest_due_seconds for stage in stages),
        "stages": stages,
        "is_drained": drained is not None and drained.is_paused,
        "drained": drained,
        "installation": installation_figures() if principal().is_operator else None,
        "has_room": seen.has_space,
        "warnings": installation_warnings() if principal().is_operator else [],
        "mode": settings.execution.value,
        "dispatch": dispatch_state(),
        "providers": provider_rows(),
        "locks": _locks(),
        "sandbox": settings.parsers.sandbox,
        "disk_free_bytes": seen.disk.free_bytes if seen.disk else None,
    }


def _for_programs(shown: dict[str, Any]) -> dict[str, Any]:
    """Programs read the states as they are stored; pages look their words up by the lower-case ones."""
    plain = {**shown, **counts_json({status.upper(): count for status, count in shown["counts"].items()})}
    plain.pop("drained", None)
    if "outdated" in shown:
        plain |= {"outdated": shown["outdated"].number, "outdated_more": shown["outdated"].more}
    if "given_up" in shown:
        given_up: Count = plain.pop("given_up")
        plain |= {"deliveries_given_up": given_up.number, "deliveries_given_up_more": given_up.more}
    if "rereading" in shown:
        found: reread.Rereading = shown["rereading"]
        plain["rereading"] = {
            "left": found.left.number,
            "left_more": found.left.more,
            "done": found.done.number,
            "done_more": found.done.more,
            "is_asked": found.is_asked,
        }
    if shown.get("installation"):
        orgs, jobs = shown["installation"]["orgs"], shown["installation"]["jobs"]
        numbers = counts_json(jobs)
        plain["installation"] = {"orgs": orgs.number, "jobs": numbers["counts"], "jobs_more": numbers["counts_more"]}
    return plain


def _locks() -> dict[str, bool] | None:
    """What holds the processes that read files on this machine; None where none of them starts."""
    try:
        return sandbox_state.locks()
    except ProviderError:
        return None
