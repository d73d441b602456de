"""Whole addresses of our own pages, for links that are given to somebody."""

from flask import request

from webapp.web.access import services


def own_address(path: str) -> str:
    """The address of this path as people reach it: by PUBLIC_URL, else by the name in the request."""
    base = services().settings.server.public_url or request.url_root
    return base.rstrip("/") + path
