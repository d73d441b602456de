"""What the parameters of addresses mean: one line for each name, and others where a route gives a name another meaning.

Which parameters a route knows is in `webapp.web.parameters`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from webapp.documents.states import DeliveryState
from webapp.jobs.states import JobStatus, Resolution
from webapp.library.grid import Sort
from webapp.library.pictures import Size
from webapp.library.sources.ledger import STATES
from webapp.library.status_filter import StatusFilter
from webapp.providers.spoken import SPOKEN
from webapp.search.connections import Kind
from webapp.web.document.document_pages import WAIT_SECONDS_MAX
from webapp.web.document.page_marks import Marked

_UUID = {"type": "string", "format": "uuid"}


@dataclass(frozen=True)
class Parameter:
    """What a parameter means, and its JSON Schema."""

    description: str
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})


def _one_of(values: type) -> Mapping[str, Any]:
    return {"type": "string", "enum": [str(getattr(each, "value", each)) for each in values]}  # type: ignore[attr-defined] # enums are iterable


PARAMETERS: Mapping[str, Parameter] = {
    "q": Parameter("A query in the search language: words, “phrases”, -not, OR, prefix*, tag:, kind:, before: …"),
    "folder": Parameter("Documents of this folder and the folders in it, as in Tax/2025."),
    "status": Parameter("Documents with this status.", _one_of(StatusFilter)),
    "sort": Parameter("The order of the documents.", _one_of(Sort)),
    "limit": Parameter("At most so many.", {"type": "integer", "minimum": 1}),
    "cursor": Parameter("Where to go on: the next_cursor of an earlier answer."),
    "start": Parameter("The number to begin at.", {"type": "integer", "minimum": 0}),
    "run": Parameter("The run whose result is meant; 409 where another run's result is shown by now.", _UUID),
    "passage": Parameter("The id of a passage: the list begins there.", _UUID),
    "document": Parameter("Only this document.", _UUID),
    "filters": Parameter("1: count how many hits each filter would leave.", {"type": "string", "enum": ["1"]}),
    "language": Parameter("What is spoken in the recordings.", {"type": "string", "enum": sorted(SPOKEN)}),
    "bulk": Parameter("1: these files are part of a bulk import and wait behind others.", {"type": "string"}),
    "field": Parameter("A column of the table, by key; more than one by repeating it."),
    "kind": Parameter("Connections of this kind.", _one_of(Kind)),
    "other": Parameter("Connections with this document.", _UUID),
    "size": Parameter("How large the picture is.", _one_of(Size)),
    "words": Parameter("The first words of the passage, by which it is found where its id is gone."),
    "purge": Parameter("1: delete it for good, which ops may.", {"type": "string", "enum": ["1"]}),
    "of": Parameter("The section whose things are marked.", _one_of(Marked)),
    "wait": Parameter(
        "Wait up to so many seconds while the document is PROCESSING. Where too many wait, the answer comes at once.",
        {"type": "integer", "minimum": 1, "maximum": WAIT_SECONDS_MAX},
    ),
    "window": Parameter("The time that is shown.", {"type": "string", "enum": ["24h", "30d"]}),
    "action": Parameter("Lines of this action."),
    "state": Parameter("Items in this state.", {"type": "string", "enum": list(STATES)}),
    "person": Parameter("What this person did, and what was done to their account.", _UUID),
    "stage": Parameter("Jobs of this stage."),
    "edit": Parameter("The table whose cells lead to forms."),
    "behind": Parameter("Skip the queue up to here: the `behind` of an earlier answer."),
    "code": Parameter("Failures with this error."),
    "resolution": Parameter("Failures that ended like this.", _one_of(Resolution)),
}
ELSEWHERE: Mapping[tuple[str, str], Parameter] = {
    ("jobs.index", "status"): Parameter("Jobs with this status; FAILED if left out.", _one_of(JobStatus)),
    ("jobs.index", "q"): Parameter("The id of a job or document, or a part of a file's name."),
    ("tags.index", "q"): Parameter("Tags that have this in their names."),
    ("suggestions.show", "q"): Parameter("What has been typed."),
    ("answers.show", "q"): Parameter("The question."),
    ("page_view.show", "q"): Parameter("The query whose words are marked."),
    ("page_view.show", "passage"): Parameter("The passage that is marked.", _UUID),
    ("webhooks.show", "state"): Parameter("Deliveries in this state.", _one_of(DeliveryState)),
    ("fields.show", "sort"): Parameter("The key of a column; with a minus in front in falling order."),
    ("fields.download", "sort"): Parameter("The key of a column; with a minus in front in falling order."),
    ("fields.workbook", "sort"): Parameter("The key of a column; with a minus in front in falling order."),
    ("fields.lines", "sort"): Parameter("The key of a column; with a minus in front in falling order."),
}
"""By endpoint and name."""
PAGES_ONLY: Mapping[str, tuple[str, ...]] = {
    "document.show": ("part", "page", "view", "run", "passage", "words", "q"),
    "document.status": ("view",),
    "document.tables": ("edit",),
    "doubts.show": ("decided",),
    "library.counts": ("status", "sort"),
}
"""Parameters that change nothing in what programs are answered."""


def parameter(endpoint: str, name: str) -> Parameter | None:
    """What this parameter means for this route; None where it is for pages alone."""
    if name in PAGES_ONLY.get(endpoint, ()):
        return None
    return ELSEWHERE.get((endpoint, name)) or PARAMETERS[name]
