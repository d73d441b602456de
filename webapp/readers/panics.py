"""Libraries written in Rust that give a damaged file up with a panic, which is no Exception."""

from collections.abc import Iterator
from contextlib import contextmanager

from webapp.provider_errors import BadInput

_PANIC = "PanicException"


@contextmanager
def panics_refuse(what: str) -> Iterator[None]:
    """Refuse the file where its library panics: trying again would change nothing. `what` it is: "workbook"."""
    try:
        yield
    # The class has no name that can be imported.
    except BaseException as error:
        if type(error).__name__ != _PANIC:
            raise
        raise BadInput(f"no {what} that is read: its library gave up") from error
