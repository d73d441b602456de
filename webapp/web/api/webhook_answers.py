"""The JSON that programs get about webhooks, and send."""

from datetime import datetime
from typing import Annotated, Any, NotRequired, TypedDict
from uuid import UUID

from msgspec import Meta

from webapp.providers.checked_post import URL_CHARACTERS_MAX

_Url = Annotated[str, Meta(min_length=1, max_length=URL_CHARACTERS_MAX, description="Where events are sent.")]
_Events = Annotated[list[str], Meta(min_length=1, description="document.ready, document.failed, import.done")]


class WebhookJson(TypedDict):
    """A webhook, and how many of its deliveries are not delivered, by state."""

    id: UUID
    url: str
    events: list[str]
    on: Annotated[bool, Meta(description="false: it is paused, and events are held.")]
    created_at: datetime
    failures: Annotated[int, Meta(description="How many tries in a row have failed.")]
    rests_until: Annotated[datetime | None, Meta(description="Nothing is sent until then, since it did not answer.")]
    earlier_secret_until: Annotated[datetime | None, Meta(description="The earlier secret signs as well until then.")]
    pending: int
    failed: int
    held: int


class WebhooksJson(TypedDict):
    """The webhooks, the oldest first."""

    webhooks: list[WebhookJson]


class NewWebhookJson(WebhookJson):
    """A webhook with its secret, which is in no other answer; null where this answer is repeated."""

    secret: str | None


class DeliveryJson(TypedDict):
    """An event on its way to a webhook."""

    id: UUID
    event_id: UUID
    event: str
    state: str
    attempts: int
    created_at: datetime
    tried_at: datetime | None
    next_try_at: datetime | None
    delivered_at: datetime | None
    status: Annotated[int | None, Meta(description="The status of the last answer.")]
    error: Annotated[str | None, Meta(description="Why there was no answer.")]


class WholeDeliveryJson(DeliveryJson):
    """A delivery with what is sent, and how the last answer begins."""

    payload: dict[str, Any]
    answer: str | None


class WholeWebhookJson(WebhookJson):
    """A webhook and some of its deliveries."""

    deliveries: list[DeliveryJson]
    next_cursor: str | None


class WebhookRequestJson(TypedDict):
    """A webhook to be added."""

    url: _Url
    events: _Events


class WebhookChangeJson(TypedDict):
    """What is to be changed of a webhook."""

    url: NotRequired[_Url]
    events: NotRequired[_Events]
    on: NotRequired[bool]


class ReplayJson(TypedDict):
    """From when on deliveries are sent again; all of them where nothing is said."""

    since: NotRequired[str]


class ReplayedJson(TypedDict):
    """How many deliveries are sent again."""

    queued: int
