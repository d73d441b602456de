"""The settings of limits: what holds when nothing is said, and what is refused."""

from pathlib import Path

import pytest

from webapp.config import Settings, SettingsError


def read(tmp_path: Path, **variables: str) -> Settings:
    return Settings.from_environment({"DATA_DIR": str(tmp_path / "data"), **variables})


def test_what_holds_when_nothing_is_said(tmp_path: Path) -> None:
    settings = read(tmp_path)
    limits = settings.limits
    assert (limits.max_org_gb, limits.org_bytes_max, limits.spend_per_day) == (0, 0, 0)
    assert limits.disk_free_min_bytes == 256 * 1024**2
    assert limits.request_bytes_max == 10 * settings.limits.upload_bytes_max
    assert (limits.pages_max, limits.request_files_max, limits.searches_kept) == (5000, 1000, 2000)
    assert (limits.rate_requests, limits.rate_polls, limits.rate_uploads, limits.rate_searches) == (600, 2000, 400, 100)
    assert limits.reprocess_per_hour == 10_000


def test_parts_of_a_gigabyte_and_of_a_request_a_second(tmp_path: Path) -> None:
    limits = read(tmp_path, MAX_ORG_GB="0.5", RATE_SEARCHES="0.2", SPEND_PER_DAY="2.50").limits
    assert (limits.org_bytes_max, limits.rate_searches, limits.spend_per_day) == (512 * 1024**2, 0.2, 2.5)


def test_a_request_may_always_hold_the_largest_file(tmp_path: Path) -> None:
    assert read(tmp_path, MAX_UPLOAD_MB="2000").limits.max_request_mb == 20_000
    with pytest.raises(SettingsError, match="MAX_REQUEST_MB=100 is out of range: it must be at least 2000"):
        read(tmp_path, MAX_UPLOAD_MB="2000", MAX_REQUEST_MB="100")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAX_ORG_GB", "-1"),
        ("MAX_ORG_GB", "nan"),
        ("SPEND_PER_DAY", "ten"),
        ("RATE_REQUESTS", "inf"),
        ("DISK_FREE_MIN_MB", "1.5"),
        ("PAGES_MAX", "-5"),
        ("REQUEST_FILES_MAX", "0"),
        ("REQUEST_FILES_MAX", "5000"),
        ("SEARCHES_KEPT", "0"),
        ("REPROCESS_PER_HOUR", "many"),
    ],
)
def test_what_cannot_be_right_is_refused_by_name(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        read(tmp_path, **{name: value})
