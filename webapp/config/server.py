"""Where the pages are served, and under which names."""

from dataclasses import dataclass

from webapp.config.group import Group
from webapp.config.reader import Reader


@dataclass(frozen=True)
class ServerSettings(Group):
    """Where the pages are served, and under which names."""

    host: str
    port: int
    web_threads: int
    public_url: str | None
    trusted_hosts: tuple[str, ...]
    proxy_hops: int

    @property
    def is_public_https(self) -> bool:
        """True where people reach the pages over https, whatever the last proxy speaks to us."""
        return (self.public_url or "").lower().startswith("https://")


def read(env: Reader, *, embedded: bool) -> ServerSettings:
    """Read and check this group."""
    return ServerSettings(
        host=env.text("HOST", "127.0.0.1" if embedded else "0.0.0.0"),  # noqa: S104 - dynos are reached from outside
        port=env.whole("PORT", 8000, most=65535),
        web_threads=env.whole("WEB_THREADS", 32),
        public_url=env.optional("PUBLIC_URL"),
        trusted_hosts=env.names("TRUSTED_HOSTS"),
        proxy_hops=env.whole("PROXY_HOPS", 0, least=0),
    )
