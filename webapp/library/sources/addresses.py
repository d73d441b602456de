"""The addresses of a mail server that a person named: checked first, and then connected to as they are.

A name that is asked for a second time may have another address by then, so the connection goes to the address that was
checked.
"""

import ipaddress
import socket

from webapp.config.sources import SourceSettings
from webapp.library.sources.trouble import SourceFailed, SourceTrouble
from webapp.providers.public_addresses import may_connect


def checked_addresses(settings: SourceSettings, host: str, port: int, *, is_plain: bool) -> list[str]:
    """The addresses of a host, all of which may be connected to; SourceFailed.

    Those of private networks and of this machine are for hosts that SOURCE_PRIVATE_HOSTS names. Without encryption,
    only this machine is.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise SourceFailed(SourceTrouble.HOST_UNKNOWN) from error
    addresses = [_address(str(each[4][0])) for each in found]
    allows_private = host.lower() in settings.private_hosts
    if not all(may_connect(str(each), allows_private=allows_private) for each in addresses):
        raise SourceFailed(SourceTrouble.HOST_PRIVATE)
    if is_plain and not all(each.is_loopback for each in addresses):
        raise SourceFailed(SourceTrouble.PLAIN_REFUSED)
    return list(dict.fromkeys(str(each) for each in addresses))


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """An address; one of IPv4 that is spelled as IPv6 is what it stands for."""
    found = ipaddress.ip_address(text.partition("%")[0])
    return (found.ipv4_mapped or found) if isinstance(found, ipaddress.IPv6Address) else found
