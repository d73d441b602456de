"""The JSON that programs get about share links, and send."""

from typing import Annotated, NotRequired, TypedDict
from uuid import UUID

from msgspec import Meta

from webapp.web.api.document_answers import Time


class ShareLinkJson(TypedDict):
    """A link by which somebody without an account sees a document, or what a view shows."""

    id: UUID
    document_id: UUID | None
    view_id: UUID | None
    name: Annotated[str | None, Meta(description="Whom it is for; who opens it does not see it.")]
    original: Annotated[bool, Meta(description="Whether originals may be downloaded.")]
    created_at: Time
    expires_at: Time
    openings: int
    last_opened_at: Time | None


class ShareLinksJson(TypedDict):
    """The links that work, the newest first."""

    shares: list[ShareLinkJson]


class NewShareLinkJson(ShareLinkJson):
    """A link that was just made, with its address, which is told this once."""

    url: str


class ShareLinkRequestJson(TypedDict):
    """A link that is to be made: for some days, or until the end of a day (UTC). Without either for 7 days."""

    days: NotRequired[Annotated[int, Meta(ge=1, le=366)]]
    until: NotRequired[Annotated[str, Meta(description="A day, as in 2026-12-31.")]]
    name: NotRequired[Annotated[str, Meta(max_length=100)]]
    original: NotRequired[bool]
