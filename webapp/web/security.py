"""What every answer carries and every request is held to, whatever page it is for."""

import secrets
from typing import Any
from urllib.parse import urlsplit

from flask import Flask, Response, g, request
from werkzeug.exceptions import SecurityError
from werkzeug.middleware.proxy_fix import ProxyFix

from webapp.config import Settings
from webapp.serving.arrival import BODY_BYTES_MAX
from webapp.serving.inflow import ENVIRON_KEY, Inflow
from webapp.web import cookies
from webapp.web.access import current_user, services
from webapp.web.errors import Problem
from webapp.web.exposure import is_loopback
from webapp.web.http_workers.requests import RESULT_BYTES_MAX
from webapp.web.library import uploads

_PROBES = frozenset({"health.healthz", "health.readyz"})
# Where programs send what they made of a document.
_RESULTS = "http_worker.put_result"
FORM_BYTES_MAX = BODY_BYTES_MAX
# Browsers know names under .localhost by themselves. Under a name of its own Docmill shares no cookies with
# whatever else listens on this machine, since cookies know no ports.
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1", "docmill.localhost")

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
_POLICY = (
    "default-src 'self'; script-src {scripts}; object-src 'none'; media-src 'self'; base-uri 'none'; "
    "frame-ancestors 'none'; form-action 'self'"
)


def init_security(app: Flask, settings: Settings) -> None:
    """Hosts, proxies, sizes and headers."""
    hosts = trusted_hosts(settings)
    app.config["MAX_CONTENT_LENGTH"] = FORM_BYTES_MAX
    app.config["MAX_FORM_MEMORY_SIZE"] = FORM_BYTES_MAX
    if settings.server.proxy_hops:
        _believe_proxies(app, settings.server.proxy_hops)
    app.before_request(lambda: _check_host(hosts))
    app.before_request(_limit_body)
    app.after_request(_add_headers)
    app.context_processor(lambda: _for_templates(settings))
    app.jinja_env.globals["csp_nonce"] = csp_nonce


def csp_nonce() -> str:
    """This answer's nonce: a script without it does not run."""
    if "csp_nonce" not in g:
        g.csp_nonce = secrets.token_urlsafe(16)
    nonce: str = g.csp_nonce
    return nonce


def trusted_hosts(settings: Settings) -> list[str] | None:
    """The names under which requests are answered; None for any.

    A server that listens on loopback alone serves browsers of this machine: no other name is right, and
    a web site that points its own name here (DNS rebinding) gets nothing.
    """
    server = settings.server
    public = urlsplit(server.public_url).hostname if server.public_url else None
    known = [*_LOOPBACK_NAMES, *([public] if public else [])]
    if server.trusted_hosts:
        return [*(host.lower() for host in server.trusted_hosts), *known]
    return known if is_loopback(server.host) else None


def _believe_proxies(app: Flask, hops: int) -> None:
    # The host is left alone: proxies pass it on as it is, and few of them remove a forged X-Forwarded-Host.
    app.wsgi_app = ProxyFix(app.wsgi_app, x_for=hops, x_proto=hops, x_host=0)  # type: ignore[method-assign]


def _check_host(hosts: list[str] | None) -> None:
    # Flask's own TRUSTED_HOSTS knows no IPv6 addresses, which have colons of their own.
    # Probes ask for an address that nobody could have listed, and what they get tells nothing.
    if hosts is None or request.endpoint in _PROBES:
        return
    asked = urlsplit(f"//{request.host}").hostname or ""
    if not any(asked == host or (host.startswith(".") and asked.endswith(host)) for host in hosts):
        raise SecurityError


def _limit_body() -> None:
    inflow: Inflow | None = request.environ.get(ENVIRON_KEY)
    if request.endpoint not in (uploads.ENDPOINT, _RESULTS) and inflow is not None and not inflow.is_whole:
        # All that a form may have would be here. A thread that waited for the rest would be one that uploads lack.
        raise Problem(413)
    # Any other kind of body is read into memory as a whole, so only a multipart one may be large.
    if request.endpoint == uploads.ENDPOINT and request.mimetype == "multipart/form-data":
        request.max_content_length = services().settings.limits.request_bytes_max
    if request.endpoint == _RESULTS:
        request.max_content_length = RESULT_BYTES_MAX


def _add_headers(response: Response) -> Response:
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    scripts = f"'nonce-{g.csp_nonce}'" if "csp_nonce" in g else "'none'"
    response.headers.setdefault("Content-Security-Policy", _POLICY.format(scripts=scripts))
    if cookies.is_https():
        response.headers.setdefault("Strict-Transport-Security", "max-age=31536000")
    if request.endpoint != "static" and "Cache-Control" not in response.headers:
        # What one person sees must not come back out of a cache after they have signed out.
        response.headers["Cache-Control"] = "no-store"
    return response


def _for_templates(settings: Settings) -> dict[str, Any]:
    return {
        "max_upload_mb": settings.limits.max_upload_mb,
        "bulk_upload_files": settings.queue.bulk_upload_files,
        "is_sharing_on": settings.access.is_sharing_on,
        "current_user": current_user(),
    }
