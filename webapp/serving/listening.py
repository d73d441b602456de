"""Whether the address that the pages are to be served at can be had."""

import errno
import socket

_WHY = {
    errno.EADDRINUSE: "Another program listens at port {port} already. Choose another one: PORT={other}",
    errno.EACCES: "Port {port} is reserved for the system. Choose one from 1024: PORT=8000",
    errno.EADDRNOTAVAIL: "HOST={host} is no address of this machine.",
}


def port_trouble(host: str, port: int) -> str | None:
    """A sentence where nobody can listen there; what is not foreseen here the server finds out by itself."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            # As the server does it: what is left of closed connections is no obstacle.
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((host.strip("[]"), port))
    except OSError as error:
        words = _WHY.get(error.errno or 0)
        return words and words.format(host=host, port=port, other=port + 1)
    return None
