"""Who may come in, from where, and for how long."""

from dataclasses import dataclass

from webapp.config.group import Group
from webapp.config.reader import Reader


@dataclass(frozen=True)
class AccessSettings(Group):
    """Who may come in, from where, and for how long."""

    # Accounts: sessions and the security log.
    session_days: int
    session_idle_days: float
    invitation_days: int
    sharing: str
    audit_retention_days: float
    # Connections, uploads and the database's role.
    connections_per_address: int
    uploads_per_org: int
    slowest_bytes_per_second: int
    row_security: str

    @property
    def is_sharing_on(self) -> bool:
        """Whether links may show documents to people without an account."""
        return self.sharing == "on"


def read(env: Reader) -> AccessSettings:
    """Read and check this group."""
    return AccessSettings(
        session_days=env.whole("SESSION_DAYS", 30, most=36_500),
        session_idle_days=env.days("SESSION_IDLE_DAYS", 7),
        sharing=env.choice("SHARING", "on", ("on", "off")),
        invitation_days=env.whole("INVITATION_DAYS", 7, most=365),
        audit_retention_days=env.days("AUDIT_RETENTION_DAYS", 365),
        connections_per_address=env.whole("CONNECTIONS_PER_ADDRESS", 100, least=0),
        uploads_per_org=env.whole("UPLOADS_PER_ORG", 16),
        slowest_bytes_per_second=env.whole("SLOWEST_BYTES_PER_SECOND", 1000, least=0),
        row_security=env.choice("ROW_SECURITY", "require", ("require", "warn")),
    )
