"""The table of what programs can call: what each route takes and answers. /openapi.json is made from it.

Parameters come from `webapp.web.parameters` and `webapp.web.api.query`, and who may call a route comes from
`webapp.web.access`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, NotRequired, TypedDict

from msgspec import Meta

from webapp.web.api import bulk_answers as bulk
from webapp.web.api import correction_answers as corrected
from webapp.web.api import document_answers as docs
from webapp.web.api import ops_answers as ops
from webapp.web.api import rule_answers as ruled
from webapp.web.api import search_answers as found
from webapp.web.api import share_answers as shared
from webapp.web.api import source_answers as sourced
from webapp.web.api import tag_answers as tagged
from webapp.web.api import view_answers as viewed
from webapp.web.api import webhook_answers as hooked
from webapp.web.http_workers.requests import ClaimBody, FailBody, HeartbeatBody

JSON = "application/json"
ANY_FILE = "application/octet-stream"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


class DocumentChange(TypedDict):
    """What a document should have. An empty list takes all tags away; null lets hold what was found, "" is for none."""

    tags: NotRequired[list[str]]
    title: NotRequired[Annotated[str, Meta(max_length=300)] | None]
    filename: NotRequired[str | None]
    document_date: NotRequired[str | None]
    kind: NotRequired[str | None]
    note: NotRequired[Annotated[str, Meta(max_length=10_000)] | None]
    favourite: NotRequired[bool]


class TagPatch(TypedDict):
    """What a tag should be. Another tag of this name and this one become one with `merge`."""

    name: NotRequired[Annotated[str, Meta(min_length=1, max_length=100)]]
    color: NotRequired[str | None]
    merge: NotRequired[bool]


class Password(TypedDict):
    """The password of a file."""

    password: Annotated[str, Meta(min_length=1, max_length=1000)]


class Spoken(TypedDict):
    """What is spoken in a recording."""

    language: NotRequired[str]


class Question(TypedDict):
    """A question, and the only document to answer from."""

    q: str
    document: NotRequired[str]


@dataclass(frozen=True)
class Described:
    """What a route does, takes and answers. `answer` is a type, or None for a file of type `media` or no body."""

    summary: str
    answer: Any = None
    status: int = 200
    media: str | None = None
    body: Any = None
    form: Mapping[str, Any] | None = None
    """The parts of a multipart form, by name, as JSON Schema."""
    is_form: bool = False
    """Whether `body` is sent as a form and not as JSON."""
    is_body_required: bool = True
    others: Mapping[int, Any] = field(default_factory=dict)
    """The types of answers with other statuses."""
    has_ranges: bool = False
    """Whether parts of the file can be asked for."""


_FILES = {
    "file": {"type": "array", "items": {"type": "string", "format": "binary"}, "description": "One or many files."},
    "folder": {"type": "string", "description": "The folder that they lay in, as in Tax/2025."},
    "folder_tags": {"type": "string", "enum": ["1"], "description": "1: new documents have their folder as a tag."},
    "language": {"type": "string", "description": "What is spoken in the recordings among them, as in en."},
}

SECTIONS: Mapping[str, Mapping[str, Described]] = {
    "Documents": {
        "library.listing": Described("List documents", docs.DocumentListJson),
        "library.counts": Described("Count the documents that a filter means, by status", docs.StatusCountsJson),
        "upload.create": Described("Upload one or many files", docs.UploadJson, form=_FILES),
        "document.show": Described("Get a document", docs.WholeDocumentJson),
        "document.status": Described("Get how far the processing of a document is", docs.StatusJson),
        "document.fields": Described("List the fields of a document", corrected.FieldsJson),
        "document.tables": Described("List the tables of a document", corrected.TablesJson),
        "document.chunks": Described("List the passages of a document", docs.ChunksJson),
        "connections.show": Described("List the connections of a document, the surest first", docs.ConnectionsJson),
        "document.parts": Described("List the files in a container", docs.PartsJson),
        "document.runs": Described("List the runs of a document and what happened in them", docs.RunsJson),
        "readings.show": Described("List the pages of a document and how well they were read", docs.PageReadingsJson),
        "document.markdown": Described("Download the text of a document as Markdown", media="text/markdown"),
        "document.original": Described("Download the file as it was uploaded", media=ANY_FILE, has_ranges=True),
        "searchable.show": Described("Download a PDF whose scanned pages have text", media="application/pdf"),
        "page_view.show": Described("Get where a passage is on a page", docs.PageMarksJson),
        "page_view.show_marks": Described("Get where the things of a section are on a page", docs.SectionMarksJson),
        "outline.show": Described("List the headings of a document", docs.OutlineJson),
        "book.show": Described("Get a picture of a book", media="image/png"),
        "picture.page": Described("Get the picture of a page", media="image/png"),
        "audio.sound": Described("Get the sound of a recording", media="audio/ogg", has_ranges=True),
        "audio.transcript": Described("Get the transcript of a recording and the notes", docs.TranscriptJson),
        "audio.vtt": Described("Download the transcript as WebVTT subtitles", media="text/vtt"),
        "audio.srt": Described("Download the transcript as SubRip subtitles", media="application/x-subrip"),
        "audio.text": Described("Download the transcript as plain text", media="text/plain"),
        "change.change": Described("Change a document", docs.WholeDocumentJson, body=DocumentChange),
        "field_correction.put": Described(
            "Correct or confirm a field", corrected.CorrectedFieldJson, body=corrected.SayingJson
        ),
        "field_correction.delete": Described("Let what was found of a field hold again", status=204),
        "field_correction.remove": Described("Take back a correction", status=204),
        "cell.put": Described("Correct or confirm a cell", corrected.TableJson, body=corrected.SayingJson),
        "cell.delete": Described("Let what was found of a cell hold again", status=204),
        "table_file.as_csv": Described("Download a table as CSV", media="text/csv"),
        "table_file.as_xlsx": Described("Download a table as an Excel workbook", media=XLSX),
        "doubts.show": Described("Get the field that is to be checked next", corrected.DoubtsJson),
        "document.reprocess": Described(
            "Reprocess a document", docs.StatusJson, 202, body=Spoken, is_body_required=False
        ),
        "password.give": Described("Give the password of a locked file", docs.StatusJson, 202, body=Password),
        "document.cancel_run": Described("Cancel a run", docs.StatusJson),
        "deletion.remove": Described(
            "Put a document into the bin, or delete it for good", status=204, others={202: bulk.BulkBegunJson}
        ),
        "deletion.restore": Described(
            "Restore a document from the bin", docs.WholeDocumentJson, others={202: docs.WholeDocumentJson}
        ),
        "bin.show": Described("List the bin", bulk.BinJson),
        "bin.empty": Described("Delete all that lies in the bin for good", bulk.EmptiedJson, 202),
        "bulk.begin": Described(
            "Change many documents",
            bulk.BulkBegunJson,
            202,
            body=bulk.BulkRequestJson,
            others={200: bulk.BulkCountJson},
        ),
        "bulk.index": Described("List the newest changes to many documents", bulk.BulkOperationsJson),
        "bulk.show": Described("Get how far a change to many documents is", bulk.BulkOperationJson),
        "export.download": Described("Download the file of an export", media="application/zip"),
        "bulk.stop": Described("Stop a change to many documents", bulk.BulkOperationJson),
        "bulk.resume": Described("Resume a change to many documents", bulk.BulkOperationJson, 202),
        "bulk.undo": Described("Undo a change to many documents", bulk.BulkOperationJson, 202),
        "reprocess.matching": Described("Reprocess all documents that match", docs.QueuedJson, 202),
        "fields.show": Described("List the fields of many documents as a table", docs.FieldTableJson),
        "fields.download": Described("Download the fields of many documents as CSV", media="text/csv"),
        "fields.workbook": Described("Download the fields of many documents as an Excel workbook", media=XLSX),
        "fields.lines": Described("Download the fields of many documents as JSON Lines", media="application/jsonl"),
    },
    "Tags": {
        "tags.index": Described("List the tags", tagged.TagsJson),
        "tags.change": Described(
            "Rename a tag, merge it with another, or give it a color", tagged.ChangedTagJson, body=TagPatch
        ),
        "tags.remove": Described("Delete a tag and the tags in it; the documents stay", tagged.DeletedTagJson),
        "tags.undo": Described("Undo a change of a tag", status=204),
    },
    "Views": {
        "views.index": Described("List the saved views", viewed.ViewsJson),
        "views.show": Described("Get a saved view, and how many documents it shows", viewed.CountedViewJson),
        "views.create": Described("Save a view", viewed.ViewJson, 201, body=viewed.NewViewJson),
        "views.change": Described("Change a saved view", viewed.ViewJson, body=viewed.ViewChangeJson),
        "views.remove": Described("Delete a saved view; the documents stay", status=204),
    },
    "Sharing": {
        "shares.index": Described("List the share links of the organisation", shared.ShareLinksJson),
        "shares.of_document": Described("List the share links to a document", shared.ShareLinksJson),
        "shares.share_document": Described(
            "Share a document by a link", shared.NewShareLinkJson, 201, body=shared.ShareLinkRequestJson
        ),
        "shares.of_view": Described("List the share links to a saved view", shared.ShareLinksJson),
        "shares.share_view": Described(
            "Share what a saved view shows by a link", shared.NewShareLinkJson, 201, body=shared.ShareLinkRequestJson
        ),
        "shares.remove": Described("Revoke a share link", status=204),
    },
    "Rules": {
        "rules.index": Described("List the rules", ruled.RulesJson),
        "rules.show": Described("Get a rule, and what it would change in the library", ruled.TriedRuleJson),
        "rules.create": Described("Make a rule", ruled.RuleJson, 201, body=ruled.NewRuleJson),
        "rules.change": Described("Change a rule", ruled.RuleJson, body=ruled.RuleChangeJson),
        "rules.remove": Described("Delete a rule; what it gave documents stays", status=204),
        "rules.apply": Described("Apply a rule to the whole library", bulk.BulkBegunJson, 202),
    },
    "Sources": {
        "sources.index": Described("List the sources", sourced.SourcesJson),
        "sources.show": Described("Get a source, and what it saw", sourced.SourceLedgerJson),
        "sources.create": Described("Make a source", sourced.SourceJson, 201, body=sourced.NewSourceJson),
        "sources.change": Described("Change or pause a source", sourced.SourceJson, body=sourced.SourceChangeJson),
        "sources.remove": Described("Delete a source; what it took stays", status=204),
        "sources.poll": Described("Poll a source within seconds", sourced.SourceJson, 202),
        "sources.test": Described("Look at what a poll would see", sourced.SourceTrialJson),
        "sources.retry": Described("Try an item again", sourced.SourceItemJson, 202),
    },
    "Webhooks": {
        "webhooks.index": Described("List the webhooks", hooked.WebhooksJson),
        "webhooks.show": Described("Get a webhook and its deliveries, the newest first", hooked.WholeWebhookJson),
        "webhooks.create": Described("Add a webhook", hooked.NewWebhookJson, 201, body=hooked.WebhookRequestJson),
        "webhooks.change": Described(
            "Change, pause or resume a webhook", hooked.WebhookJson, body=hooked.WebhookChangeJson
        ),
        "webhooks.remove": Described("Delete a webhook with its deliveries", status=204),
        "webhooks.renew": Described("Renew the secret of a webhook", hooked.NewWebhookJson),
        "webhooks.test": Described("Send a test to a webhook", hooked.DeliveryJson, 202),
        "webhooks.replay": Described(
            "Send deliveries again that were given up",
            hooked.ReplayedJson,
            202,
            body=hooked.ReplayJson,
            is_body_required=False,
        ),
        "deliveries.show": Described("Get a delivery of a webhook", hooked.WholeDeliveryJson),
        "deliveries.replay": Described("Send a delivery again, or now", hooked.DeliveryJson, 202),
    },
    "Search": {
        "search.show": Described("Search passages", found.SearchAnswerJson),
        "suggestions.show": Described("Complete a query", found.SuggestionsJson),
        "answers.create": Described("Ask a question", found.QuestionAnswerJson, body=Question, is_form=True),
        "answers.show": Described("Get the answer to a question", found.QuestionAnswerJson),
    },
    "Operations": {
        "ops.overview": Described("Get the state of the installation", ops.OverviewJson),
        "jobs.index": Described("List or search jobs", ops.JobsJson),
        "jobs.show": Described("Get a job", ops.WholeJobJson),
        "job_actions.retry_one": Described("Retry a failed job", ops.RetriedJson),
        "job_actions.retry": Described(
            "Retry failed jobs", ops.RetriedManyJson, body=ops.ChosenJobsJson, is_body_required=False
        ),
        "job_actions.cancel_one": Described("Cancel a job", ops.ChangedJson),
        "job_actions.cancel": Described("Cancel jobs", ops.CancelledManyJson, body=ops.ChosenJobsJson),
        "job_actions.discard_one": Described("Discard a failed job", ops.ChangedJson),
        "job_actions.discard": Described("Discard failed jobs", ops.DiscardedJson, body=ops.ChosenJobsJson),
        "job_actions.restore_one": Described("Restore a discarded job", ops.ChangedJson),
        "job_actions.restore": Described("Restore discarded jobs", ops.RestoredJson, body=ops.ChosenJobsJson),
        "stages.pause_all": Described("Pause all work", ops.StageStateJson),
        "stages.resume_all": Described("Resume work", ops.StageStateJson),
        "stages.pause": Described("Pause a stage", ops.StageStateJson),
        "stages.resume": Described("Resume a stage", ops.StageStateJson),
        "stages.limit": Described(
            "Limit how many jobs of a stage run at once", ops.StageStateJson, body=ops.StageLimitJson
        ),
        "reprocess.reembed": Described("Make new vectors where they are of an earlier model", docs.QueuedJson, 202),
        "reprocess.read_again": Described("Read documents again that an earlier reader read", ops.RereadingJson, 202),
        "correction_export.show": Described("Download all corrections as JSON Lines", media="application/jsonl"),
        "throughput.show": Described("Get how many jobs ended", ops.ThroughputJson),
        "security.show": Described("List the security log", ops.SecurityLogJson),
        "people.index": Described("List the people of the organisation", ops.PersonListJson),
        "people.change": Described(
            "Change the role of a person, or deactivate them", ops.PersonJson, body=ops.PersonChangeJson
        ),
        "people.remove": Described("Withdraw an invitation", status=204),
        "health.healthz": Described("Check that the process answers", ops.AliveJson),
        "health.readyz": Described("Check that requests can be served", ops.ReadyJson),
        "health.prometheus": Described("Get metrics for Prometheus", media="text/plain"),
    },
    "Workers over HTTP": {
        "http_worker.claim": Described("Claim jobs", ops.ClaimJson, body=ClaimBody),
        "http_worker.read_input": Described("Read an input of a job", media=ANY_FILE),
        "http_worker.heartbeat": Described(
            "Send a heartbeat", ops.HeartbeatJson, body=HeartbeatBody, is_body_required=False
        ),
        "http_worker.checkpoint": Described("Save a checkpoint", ops.SavedJson, body=dict[str, Any]),
        "http_worker.put_result": Described("Store the result", ops.StoredResultJson, body=dict[str, Any]),
        "http_worker.complete": Described("Complete a job", ops.EndedJobJson),
        "http_worker.fail": Described("Report a failed attempt", ops.EndedJobJson, body=FailBody),
        "http_worker.release": Described("Hand a job back", ops.EndedJobJson),
    },
}
"""By endpoint. The pages of a person's account are not here: programs can't call them."""

PAGES_ONLY = frozenset(
    {
        "account.sign_in",
        "account.sign_in_link",
        "api.show",
        "api.openapi",
        "cell.edit",
        "cell.say",
        "change.change_details",
        "change.change_tags",
        "bin.confirm_empty",
        "deletion.confirm_delete",
        "deletion.confirm_purge",
        "deletion.delete",
        "deletion.purge",
        "tags.confirm_delete",
        "tags.delete",
        "tags.edit",
        "tags.names",
        "sources.delete",
        "sources.edit",
        "rules.delete",
        "rules.edit",
        "views.bar",
        "views.delete",
        "views.edit",
        "webhooks.delete",
        "webhooks.edit",
        "document.details",
        "original.show",
        "doubts.say",
        "doubts.undo",
        "field_correction.say",
        "field_correction.undo",
        "htmx.script",
        "library.index",
        "mcp.serve",
        "reprocess.confirm",
        "shared.document",
        "shared.original",
        "shared.show",
        "shares.revoke",
        "static",
    }
)
"""What only browsers ask for (forms for what programs do by another method, what pages are made of), and /mcp."""
