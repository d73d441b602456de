"""The table of stages: their steps, and how much of the progress bar each step fills."""

from dataclasses import dataclass

from webapp.documents.kinds import is_recording

PROCESS_DOCUMENT = "process_document"
UNPACK = "unpack"
EXTRACT_AUDIO = "extract_audio"
TRANSCRIBE_START = "transcribe_start"
TRANSCRIBE_POLL = "transcribe_poll"
ANALYZE = "analyze"
INDEX = "index"
DETECT_CONNECTIONS = "detect_connections"
EMBED_ANEW = "embed_anew"
READ_ANEW = "read_anew"
BULK = "bulk"
EXPORT = "export"
DELIVER = "deliver"


@dataclass(frozen=True)
class Step:
    """One checkpointed part of a job.

    `artifact` names the blob that the step stores: where that is gone, a retry does the step again, whatever the
    checkpoint says.
    """

    doing: str
    done: str
    share: float
    artifact: str | None = None


EXTRACT = Step("extracting", "extracted", 0.40, artifact="extraction")
FIND_FIELDS = Step("finding_fields", "fields_found", 0.02, artifact="extraction")
SAVE_MARKDOWN = Step("saving_markdown", "markdown_saved", 0.05, artifact="markdown")
CHUNK = Step("chunking", "chunked", 0.05, artifact="chunks")
EMBED = Step("embedding", "embedded", 0.43)
PUBLISH = Step("publishing", "complete", 0.05)

ADD_PARTS = Step("unpacking", "unpacked", 0.30)

READ_SOUND = Step("extracting_audio", "audio_extracted", 0.15, artifact="sound")
START_TRANSCRIPTION = Step("starting_transcription", "transcription_started", 0.60)
TRANSCRIBE = Step("transcribing", "transcribed", 0.15, artifact="transcript")
TAKE_NOTES = Step("analyzing", "analyzed", 0.15, artifact="extraction")

# In place of all others, where nothing reads the file.
KEEP = Step("keeping", "kept", 1.00)

CHANGE_MANY = Step("changing_documents", "documents_changed", 1.00)
WRITE_EXPORT = Step("exporting", "exported", 1.00)
SEND = Step("sending", "sent", 1.00)

CONNECT = Step("connecting", "connected", 1.00)

STAGES: dict[str, tuple[Step, ...]] = {
    PROCESS_DOCUMENT: (EXTRACT, FIND_FIELDS, SAVE_MARKDOWN, CHUNK, EMBED, PUBLISH),
    # Where files lie in the document: between its first step and the others, which `index` does.
    UNPACK: (ADD_PARTS,),
    EXTRACT_AUDIO: (READ_SOUND,),
    TRANSCRIBE_START: (START_TRANSCRIPTION,),
    TRANSCRIBE_POLL: (TRANSCRIBE,),
    ANALYZE: (TAKE_NOTES,),
    # From a text that an earlier stage made.
    INDEX: (FIND_FIELDS, SAVE_MARKDOWN, CHUNK, EMBED, PUBLISH),
    # After a result is published, which does not wait for it.
    DETECT_CONNECTIONS: (CONNECT,),
    # For a published result that needs another model's vectors.
    EMBED_ANEW: (EMBED, PUBLISH),
    # For a file that an earlier version of a reader read, or none did.
    READ_ANEW: (EXTRACT, FIND_FIELDS, SAVE_MARKDOWN, CHUNK, EMBED, PUBLISH),
    # Of an operation, which changes many documents and is about none of them alone.
    BULK: (CHANGE_MANY,),
    # Of an operation, too: writes documents into a file.
    EXPORT: (WRITE_EXPORT,),
    # Of a delivery: sends an event to a webhook.
    DELIVER: (SEND,),
}

# Stages that together make one result, so they share one progress bar.
PIPELINES: tuple[tuple[str, ...], ...] = (
    (PROCESS_DOCUMENT,),
    (EXTRACT_AUDIO, TRANSCRIBE_START, TRANSCRIBE_POLL, ANALYZE, INDEX),
)

# A container's steps, of three stages.
_OF_CONTAINERS = (EXTRACT, ADD_PARTS, FIND_FIELDS, SAVE_MARKDOWN, CHUNK, EMBED, PUBLISH)


def first_stage(content_type: str) -> str:
    """The first stage for a kind of file. A video is a recording with a picture track."""
    return EXTRACT_AUDIO if is_recording(content_type) else PROCESS_DOCUMENT


def way_of(stage: str) -> tuple[Step, ...]:
    """All steps of the pipeline that a stage belongs to; its own steps where it belongs to none."""
    if stage == UNPACK:
        return _OF_CONTAINERS
    pipeline = next((stages for stages in PIPELINES if stage in stages), (stage,))
    return tuple(step for each in pipeline for step in STAGES[each])


def progress_at(stage: str, step: Step, fraction: float) -> float:
    """The progress, from 0 to 1, when this fraction of a step is done."""
    steps = (KEEP,) if step is KEEP else way_of(stage)
    before = sum(earlier.share for earlier in steps[: steps.index(step)])
    filled = before + step.share * min(1.0, max(0.0, fraction))
    return round(filled / sum(each.share for each in steps), 4)
