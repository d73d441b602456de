"""What a request tells about who sends it: address, network, and the browser in words."""

from ipaddress import IPv6Address, ip_address, ip_network

from flask import request

from webapp.accounts.sessions import Visit

# The first that occurs names the browser: most browsers also call themselves by older ones' names.
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("FxiOS/", "Firefox"),
    ("Firefox/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
)
_SYSTEMS = (
    ("Windows", "Windows"),
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


def visit(via: str = "password") -> Visit:
    """How the sender of this request signs in: browser and address."""
    return Visit(via, device_of(request.user_agent.string), request.remote_addr)


def device_of(user_agent: str) -> str | None:
    """“Firefox on Linux”; None where nothing is recognised. What the browser sent is not kept: it can be anything."""
    browser = next((name for mark, name in _BROWSERS if mark in user_agent), None)
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), None)
    return f"{browser} on {system}" if browser and system else browser or system


def network_of(address: str | None) -> str:
    """Whom failures are counted against: one who has an IPv6 address has a whole network of them."""
    try:
        parsed = ip_address(address or "")
    except ValueError:
        return address or ""
    return str(ip_network((parsed, 64), strict=False)) if isinstance(parsed, IPv6Address) else str(parsed)
