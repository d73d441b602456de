"""Warnings about settings that expose the installation more than its owner may intend."""

import logging
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

from flask import Flask, current_app, request

from webapp.config import Settings

_log = logging.getLogger(__name__)

_ANY_NAME = (
    "HOST={host} can be reached from other machines, and neither TRUSTED_HOSTS nor PUBLIC_URL says under which name: "
    "requests for any name are answered. Without a proxy, passwords travel unencrypted. See docs/proxy.md."
)
_NO_HOPS = (
    "PUBLIC_URL begins with https://, but PROXY_HOPS is 0: behind a proxy all requests seem to come from its "
    "address, and a few wrong passwords from anybody keep everybody from signing in. "
    "Set PROXY_HOPS to the number of proxies in front."
)
_UNBELIEVED = (
    "Requests arrive with X-Forwarded-For, but PROXY_HOPS is 0: behind a proxy all requests seem to come from "
    "its address. Set PROXY_HOPS to the number of proxies in front (docs/proxy.md)."
)


def init_exposure(app: Flask, settings: Settings) -> None:
    """Notice headers of a proxy that nobody has told us about."""
    app.extensions["docmill_exposure"] = Exposure(settings)
    if not settings.server.proxy_hops:
        app.before_request(_look_for_proxy)


class Exposure:
    """What is known of this installation, by its settings and by the requests that came."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._has_seen_proxy = False

    @property
    def _mark(self) -> Path:
        """A file that tells `flask doctor` on this machine, which sees no requests; each start removes it."""
        return self._settings.data_dir / "unknown_proxy"

    def start(self) -> None:
        """Forget what an earlier process saw."""
        self._mark.unlink(missing_ok=True)

    def saw_proxy(self) -> None:
        """A request came with the headers of a proxy: said once for each process."""
        if self._has_seen_proxy:
            return
        self._has_seen_proxy = True
        _log.warning(_UNBELIEVED)
        try:
            self._mark.touch()
        except OSError as error:
            _log.warning("doctor cannot be told about the proxy: %s", error.strerror)

    def warnings(self) -> Iterator[str]:
        """Sentences for the people who run this installation."""
        server = self._settings.server
        if not is_loopback(server.host) and not server.trusted_hosts and not server.public_url:
            yield _ANY_NAME.format(host=server.host)
        if server.proxy_hops:
            return
        if server.is_public_https:
            yield _NO_HOPS
        elif self._has_seen_proxy or self._mark.exists():
            yield _UNBELIEVED


def warn(app: Flask) -> None:
    """At the start: say what can be known by then."""
    found: Exposure = app.extensions["docmill_exposure"]
    found.start()
    for warning in found.warnings():
        _log.warning(warning)


def exposure() -> Exposure:
    """That of the running application."""
    found: Exposure = current_app.extensions["docmill_exposure"]
    return found


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens there."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def _look_for_proxy() -> None:
    if "X-Forwarded-For" in request.headers:
        exposure().saw_proxy()
