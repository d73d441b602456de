"""The HTTP layer: pages for people, JSON for programs, and who may see what."""

from datetime import datetime
from typing import Any

from flask import Flask
from flask.json.provider import DefaultJSONProvider

from webapp.config import Settings
from webapp.web import formatting, htmx
from webapp.web.access import init_access
from webapp.web.account import account_pages, session_pages, token_pages
from webapp.web.api import api_pages, mcp_pages
from webapp.web.assets import init_assets
from webapp.web.commands import commands
from webapp.web.cookies import init_cookies
from webapp.web.csrf import init_csrf
from webapp.web.document import (
    audio_pages,
    book_figures,
    cell_pages,
    change_pages,
    connection_pages,
    deletion_pages,
    document_pages,
    field_correction_pages,
    original_pages,
    outline_pages,
    page_view_pages,
    password_pages,
    picture_pages,
    reading_pages,
    searchable_pages,
    table_file_pages,
)
from webapp.web.errors import Problem, init_errors
from webapp.web.exposure import init_exposure
from webapp.web.fragments import init_fragments
from webapp.web.htmx import init_htmx
from webapp.web.http_workers import http_worker_pages
from webapp.web.idempotency import init_idempotency
from webapp.web.library import (
    bin_pages,
    bulk_pages,
    doubt_pages,
    export_pages,
    field_pages,
    library_pages,
    reprocess_pages,
    rule_pages,
    tag_pages,
    upload_pages,
    view_pages,
)
from webapp.web.library.upload_seats import init_upload_seats
from webapp.web.library.uploads import init_uploads
from webapp.web.long_polls import init_long_polls
from webapp.web.ops import (
    audit_pages,
    correction_export_pages,
    health,
    job_actions,
    job_pages,
    ops_pages,
    stage_pages,
    throughput_pages,
)
from webapp.web.ops.metrics import init_metrics
from webapp.web.parameters import init_parameters
from webapp.web.people import people_pages
from webapp.web.query_mistakes import init_mistakes
from webapp.web.rates import init_rates
from webapp.web.reads import init_reads
from webapp.web.search import answer_pages, search_pages, suggestion_pages
from webapp.web.security import init_security
from webapp.web.sharing import share_pages, shared_pages
from webapp.web.sources import source_pages
from webapp.web.webhooks import delivery_pages, webhook_pages

_PAGES = (
    account_pages,
    api_pages,
    audio_pages,
    audit_pages,
    bin_pages,
    book_figures,
    bulk_pages,
    cell_pages,
    change_pages,
    connection_pages,
    correction_export_pages,
    deletion_pages,
    document_pages,
    doubt_pages,
    export_pages,
    field_correction_pages,
    field_pages,
    health,
    htmx,
    job_actions,
    job_pages,
    library_pages,
    mcp_pages,
    ops_pages,
    original_pages,
    outline_pages,
    page_view_pages,
    password_pages,
    people_pages,
    picture_pages,
    reading_pages,
    searchable_pages,
    reprocess_pages,
    rule_pages,
    search_pages,
    answer_pages,
    session_pages,
    share_pages,
    shared_pages,
    source_pages,
    stage_pages,
    suggestion_pages,
    table_file_pages,
    tag_pages,
    throughput_pages,
    token_pages,
    upload_pages,
    view_pages,
    http_worker_pages,
    webhook_pages,
    delivery_pages,
)


def register_pages(app: Flask, settings: Settings) -> None:
    """Everything that answers HTTP, and the commands. The first one registered sees a request first."""
    app.json = _Json(app)
    init_errors(app)
    init_mistakes(app)
    init_cookies(app, settings)
    init_exposure(app, settings)
    init_csrf(app)
    init_metrics(app)
    health.init_health(app)
    init_security(app, settings)
    init_rates(app, settings)
    init_access(app)
    init_parameters(app)
    init_idempotency(app)
    init_reads(app, settings)
    init_upload_seats(app, settings)
    init_uploads(app)
    init_long_polls(app, settings)
    api_pages.init_api(app)
    init_fragments(app)
    init_assets(app)
    init_htmx(app, settings)
    formatting.register(app)
    for module in _PAGES:
        app.register_blueprint(module.pages)
    commands.register(app)


class _Json(DefaultJSONProvider):
    """Times as RFC 3339 in UTC, which every language reads; texts as they are."""

    ensure_ascii = False
    sort_keys = False

    def loads(self, s: str | bytes, **options: Any) -> Any:
        """Read a request's body; Python's own parser gives up in an unforeseen way where it is nested too deeply."""
        try:
            return super().loads(s, **options)
        except RecursionError as error:
            raise Problem(400, detail="The JSON is nested too deeply.") from error

    @staticmethod
    def default(value: Any) -> Any:
        """What JSON has no type for."""
        if isinstance(value, datetime):
            return value.isoformat()
        return DefaultJSONProvider.default(value)
