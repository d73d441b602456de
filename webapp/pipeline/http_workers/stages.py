"""The table of the stages that programs may work off over HTTP."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from webapp.pipeline.analyze import clean_notes, take_over_notes
from webapp.pipeline.extract import clean_text_of_file, take_over_text
from webapp.pipeline.steps import StageContext
from webapp.runs import stages
from webapp.runs.stages import Step

# The input that each job has: the uploaded file.
ORIGINAL = "original"


@dataclass(frozen=True)
class HttpStage:
    """A stage whose first step a program may do; its other steps, if there are any, are those of the stage `index`."""

    step: Step
    reads: Mapping[str, str]
    """The artifacts of earlier stages that it may read, beside the original, with their content types."""
    writes: str
    """The kind of its result, which is JSON."""
    clean: Callable[[StageContext, bytes], bytes]
    """Checks a result and makes it fit to be stored; ValueError."""
    take_over: Callable[[StageContext, str], None]
    """Runs the step with the result at this path, and hands the job on."""


HTTP_STAGES: Mapping[str, HttpStage] = {
    stages.PROCESS_DOCUMENT: HttpStage(stages.EXTRACT, {}, "extraction", clean_text_of_file, take_over_text),
    stages.ANALYZE: HttpStage(
        stages.TAKE_NOTES,
        {"transcript": "application/json", "sound": "application/json", "audio": "audio/ogg"},
        "analysis",
        clean_notes,
        take_over_notes,
    ),
}
