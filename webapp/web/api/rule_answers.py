"""The JSON that programs get about rules, and send."""

from typing import Annotated, NotRequired, TypedDict
from uuid import UUID

from msgspec import Meta


class RuleJson(TypedDict):
    """A rule: which documents are given what when they are ready."""

    id: UUID
    name: str
    view_id: UUID
    view: Annotated[str, Meta(description="The name of the view that shows its documents.")]
    on: bool
    tags: list[str]
    kind: str | None
    title: Annotated[str | None, Meta(description="A pattern, as in {seller}, {date}.")]
    mistake: Annotated[str | None, Meta(description="Why the query of its view can't be read any more.")]


class RulesJson(TypedDict):
    """The rules in the order in which they are applied."""

    rules: list[RuleJson]


class ExampleBeforeJson(TypedDict):
    """A document as it is."""

    title: str | None
    kind: str | None


class TrialExampleJson(TypedDict):
    """A document that a rule would change: the tags that it lacks, and its new title and kind; null for what stays."""

    id: UUID
    filename: str
    before: ExampleBeforeJson
    tags: list[str]
    title: str | None
    kind: str | None


class TrialJson(TypedDict):
    """What a rule would change in the library: `changed` of the first `tried` documents of `matched`."""

    matched: int
    more: bool
    tried: int
    changed: int
    examples: list[TrialExampleJson]


class TriedRuleJson(RuleJson):
    """A rule, and what it would change in the library now."""

    trial: TrialJson | None


class NewRuleJson(TypedDict):
    """A rule to be made."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    view_id: UUID
    tags: NotRequired[list[str]]
    kind: NotRequired[str | None]
    title: NotRequired[Annotated[str, Meta(max_length=300)] | None]
    on: NotRequired[bool]


class RuleChangeJson(TypedDict):
    """What is to be changed of a rule."""

    name: NotRequired[Annotated[str, Meta(min_length=1, max_length=100)]]
    view_id: NotRequired[UUID]
    tags: NotRequired[list[str]]
    kind: NotRequired[str | None]
    title: NotRequired[Annotated[str, Meta(max_length=300)] | None]
    on: NotRequired[bool]
