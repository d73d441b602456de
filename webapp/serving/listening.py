"""Checks whether the server can listen on its address."""

import errno
import socket

_WHY = {
    errno.EADDRINUSE: "Another program is listening on port {port} already. Choose another one: PORT={other}",
    errno.EACCES: "Port {port} is reserved for the system. Choose one from 1024: PORT=8000",
    errno.EADDRNOTAVAIL: "HOST={host} is not an address of this machine.",
}


def port_trouble(host: str, port: int) -> str | None:
    """A sentence that says why the server can't listen there; None where it can, or will find out itself."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            # As the server does: remains of closed connections are no obstacle.
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((host.strip("[]"), port))
    except OSError as error:
        words = _WHY.get(error.errno or 0)
        return words and words.format(host=host, port=port, other=port + 1)
    return None
