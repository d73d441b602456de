"""How much an org may store, do and spend."""

from dataclasses import dataclass

from webapp.config.group import Group
from webapp.config.reader import Reader

_MB, _GB = 1024**2, 1024**3
FILES_MAX = 1000
"""Files in one upload request."""


@dataclass(frozen=True)
class LimitSettings(Group):
    """How much an org may store, do and spend; 0 means no limit."""

    disk_free_min_mb: int
    max_org_gb: float
    max_upload_mb: int
    max_request_mb: int
    request_files_max: int
    pages_max: int
    audio_hours_max: int
    spend_per_day: float
    rate_requests: float
    rate_polls: float
    rate_uploads: float
    rate_searches: float
    rate_links: float
    reprocess_per_hour: int
    searches_kept: int
    bin_days: float
    """How long what was deleted can be restored; 0 deletes it at once."""
    export_days: float
    """How long the file of an export can be downloaded; 0 keeps it as long as its operation."""

    @property
    def disk_free_min_bytes(self) -> int:
        """How much of the disk stays free."""
        return self.disk_free_min_mb * _MB

    @property
    def org_bytes_max(self) -> int:
        """How much an org's files may take together; 0 for any amount."""
        return round(self.max_org_gb * _GB)

    @property
    def upload_bytes_max(self) -> int:
        """The largest file that an upload may bring."""
        return self.max_upload_mb * _MB

    @property
    def request_bytes_max(self) -> int:
        """The largest upload request, with all its files."""
        return self.max_request_mb * _MB


def read(env: Reader) -> LimitSettings:
    """Read and check this group."""
    upload_mb = env.whole("MAX_UPLOAD_MB", 512)
    return LimitSettings(
        disk_free_min_mb=env.whole("DISK_FREE_MIN_MB", 256, least=0),
        max_org_gb=env.amount("MAX_ORG_GB", 0),
        max_upload_mb=upload_mb,
        max_request_mb=env.whole("MAX_REQUEST_MB", 10 * upload_mb, least=upload_mb),
        request_files_max=env.whole("REQUEST_FILES_MAX", FILES_MAX, most=FILES_MAX),
        pages_max=env.whole("PAGES_MAX", 5000, least=0),
        audio_hours_max=env.whole("AUDIO_HOURS_MAX", 4, most=24),
        spend_per_day=env.amount("SPEND_PER_DAY", 0),
        rate_requests=env.amount("RATE_REQUESTS", 600),
        rate_polls=env.amount("RATE_POLLS", 2000),
        rate_uploads=env.amount("RATE_UPLOADS", 400),
        rate_searches=env.amount("RATE_SEARCHES", 100),
        rate_links=env.amount("RATE_LINKS", 20),
        reprocess_per_hour=env.whole("REPROCESS_PER_HOUR", 10_000, least=0),
        bin_days=env.amount("BIN_DAYS", 30),
        export_days=env.amount("EXPORT_DAYS", 7),
        searches_kept=env.whole("SEARCHES_KEPT", 2000, most=100_000),
    )
