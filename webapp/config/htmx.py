"""Where browsers load HTMX from."""

from dataclasses import dataclass

from webapp.config.group import Group
from webapp.config.reader import Reader

HTMX_LOCAL = "local"


@dataclass(frozen=True)
class HtmxSettings(Group):
    """Where browsers load HTMX from."""

    prefix = "htmx_"

    url: str | None
    integrity: str | None


def read(env: Reader) -> HtmxSettings:
    """Read and check this group."""
    return HtmxSettings(url=_url(env), integrity=env.integrity("HTMX_INTEGRITY"))


def _url(env: Reader) -> str | None:
    """`local`, an address of this server (`/…`), or a web address."""
    given = env.optional("HTMX_URL")
    is_own = given is not None and given.startswith("/") and not given.startswith("//")
    return given if given == HTMX_LOCAL or is_own else env.address("HTMX_URL")
