"""The order of things: stages, their steps, and how much of the progress bar each step fills."""

from dataclasses import dataclass

PROCESS_DOCUMENT = "process_document"


@dataclass(frozen=True)
class Step:
    """One checkpointed part of a job.

    `artifact` names the blob that the step leaves behind: without it the step's result is gone,
    and a retry does the step again whatever the checkpoint says.
    """

    doing: str
    done: str
    share: float
    artifact: str | None = None


EXTRACT = Step("extracting", "extracted", 0.40, artifact="extraction")
SAVE_MARKDOWN = Step("saving_markdown", "markdown_saved", 0.05, artifact="markdown")
CHUNK = Step("chunking", "chunked", 0.05, artifact="chunks")
EMBED = Step("embedding", "embedded", 0.45)
PUBLISH = Step("publishing", "complete", 0.05)

STAGES: dict[str, tuple[Step, ...]] = {
    PROCESS_DOCUMENT: (EXTRACT, SAVE_MARKDOWN, CHUNK, EMBED, PUBLISH),
}


def progress_before(stage: str, step: Step) -> float:
    """How full the progress bar is when a step begins, from 0 to 1."""
    steps = STAGES[stage]
    return sum(earlier.share for earlier in steps[: steps.index(step)])
