"""Checks whether the server can listen on its address."""

import errno
import socket
import time

# A server that was killed a moment ago still has its port until the system has ended all of its processes.
PATIENCE_SECONDS = 5.0
_PAUSE_SECONDS = 0.1
_WHY = {
    errno.EADDRINUSE: "Another program is listening on port {port} already. Choose another one: PORT={other}",
    errno.EACCES: "Port {port} is reserved for the system. Choose one from 1024: PORT=8000",
    errno.EADDRNOTAVAIL: "HOST={host} is not an address of this machine.",
}


def port_trouble(host: str, port: int, patience_seconds: float = PATIENCE_SECONDS) -> str | None:
    """A sentence that says why the server can't listen there; None where it can, or will find out itself.

    A port in use is tried again for so long.
    """
    deadline = time.monotonic() + patience_seconds
    while (code := _error_code(host, port)) == errno.EADDRINUSE and time.monotonic() < deadline:
        time.sleep(_PAUSE_SECONDS)
    words = _WHY.get(code)
    return words and words.format(host=host, port=port, other=port + 1)


def _error_code(host: str, port: int) -> int:
    """The number of the error that listening there ends with; 0 where it works."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            # As the server does: remains of closed connections are no obstacle.
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((host.strip("[]"), port))
    except OSError as error:
        return error.errno or 0
    return 0
