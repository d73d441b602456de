"""How Yandex SpeechKit is reached."""

from dataclasses import dataclass, field

from webapp.config.group import Group
from webapp.config.reader import Reader

_RECOGNITION = "https://stt.api.cloud.yandex.net"
_OPERATIONS = "https://operation.api.cloud.yandex.net"


@dataclass(frozen=True)
class SpeechKitSettings(Group):
    """How Yandex SpeechKit is reached."""

    prefix = "speechkit_"

    api_key: str = field(repr=False)
    url: str
    operations_url: str
    model: str
    poll_interval_ms: int


def read(env: Reader) -> SpeechKitSettings:
    """Read and check this group."""
    url = env.address("SPEECHKIT_URL")
    return SpeechKitSettings(
        api_key=env.text("SPEECHKIT_API_KEY"),
        url=url or _RECOGNITION,
        operations_url=env.address("SPEECHKIT_OPERATIONS_URL") or url or _OPERATIONS,
        model=env.text("SPEECHKIT_MODEL", "general"),
        poll_interval_ms=env.whole("SPEECHKIT_POLL_INTERVAL_MS", 10_000),
    )
