"""Which addresses may be connected to where people name the host: public ones, private ones where that is allowed."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

# What a network's own machines have. Carriers' shared addresses (RFC 6598) reach machines of a provider.
_PRIVATE = tuple(
    ip_network(each)
    for each in ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "::1/128", "fc00::/7")
)
# Addresses that stand for an IPv4 address, which is the one that is reached: mapped ones, and those of NAT64.
_NAT64 = ip_network("64:ff9b::/96")
_6TO4 = ip_network("2002::/16")


def may_connect(address: str, *, allows_private: bool) -> bool:
    """Whether this address is a public one; with `allows_private` also this machine and private networks.

    Link-local addresses, where clouds answer with credentials, are never allowed, nor is multicast.
    """
    found = _reached(ip_address(address))
    if allows_private and any(found.version == each.version and found in each for each in _PRIVATE):
        return True
    if isinstance(found, IPv6Address) and (found in _6TO4 or found.is_site_local):
        return False
    refused = found.is_multicast or found.is_reserved or found.is_link_local or found.is_unspecified
    return found.is_global and not refused


def is_address(host: str) -> bool:
    """Whether this host is an address and not a name."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _reached(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address
