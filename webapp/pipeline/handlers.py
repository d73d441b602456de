"""Which function does which step of which stage. Their order is in webapp/runs/stages.py."""

from collections.abc import Callable, Mapping

from webapp.pipeline.analyze import take_notes
from webapp.pipeline.audio import extract_audio
from webapp.pipeline.change_many import change_many
from webapp.pipeline.chunk import chunk
from webapp.pipeline.connect import detect_connections
from webapp.pipeline.deliver import deliver
from webapp.pipeline.embed import embed
from webapp.pipeline.embed_anew import embed_published, publish_vectors
from webapp.pipeline.export import export
from webapp.pipeline.extract import extract, extract_here, save_markdown
from webapp.pipeline.find_fields import find_fields, use_kept_fields
from webapp.pipeline.keep import keep
from webapp.pipeline.publish import publish
from webapp.pipeline.source import NothingReads
from webapp.pipeline.steps import StageContext
from webapp.pipeline.transcribe import transcribe_poll, transcribe_start
from webapp.pipeline.unpack import HandedOn, hand_on_container, unpack
from webapp.runs import stages
from webapp.runs.stages import STAGES, Step

Handler = Callable[[StageContext], None]


def _extract(context: StageContext) -> None:
    """Read the file. Where others lie in it, they come next, and other jobs do the rest."""
    extract(context)
    hand_on_container(context)


_FROM_TEXT: dict[Step, Handler] = {
    stages.FIND_FIELDS: find_fields,
    stages.SAVE_MARKDOWN: save_markdown,
    stages.CHUNK: chunk,
    stages.EMBED: embed,
    stages.PUBLISH: publish,
}
STEP_FUNCTIONS: Mapping[str, Mapping[Step, Handler]] = {
    stages.PROCESS_DOCUMENT: {stages.EXTRACT: _extract, **_FROM_TEXT},
    stages.UNPACK: {stages.ADD_PARTS: unpack},
    stages.EXTRACT_AUDIO: {stages.READ_SOUND: extract_audio},
    stages.TRANSCRIBE_START: {stages.START_TRANSCRIPTION: transcribe_start},
    stages.TRANSCRIBE_POLL: {stages.TRANSCRIBE: transcribe_poll},
    stages.ANALYZE: {stages.TAKE_NOTES: take_notes},
    stages.INDEX: _FROM_TEXT,
    stages.DETECT_CONNECTIONS: {stages.CONNECT: detect_connections},
    stages.BULK: {stages.CHANGE_MANY: change_many},
    stages.EXPORT: {stages.WRITE_EXPORT: export},
    stages.DELIVER: {stages.SEND: deliver},
    stages.EMBED_ANEW: {stages.EMBED: embed_published, stages.PUBLISH: publish_vectors},
    stages.READ_ANEW: {stages.EXTRACT: extract_here, **_FROM_TEXT, stages.FIND_FIELDS: use_kept_fields},
}


def do_steps(context: StageContext) -> None:
    """Do all steps of the job's stage; those that an earlier attempt finished are skipped.

    The first step finds out whether anything reads the file at all.
    """
    try:
        for step in STAGES[context.lease.stage]:
            STEP_FUNCTIONS[context.lease.stage][step](context)
    except NothingReads:
        keep(context)
    except HandedOn:
        pass


HANDLERS: Mapping[str, Handler] = dict.fromkeys(STEP_FUNCTIONS, do_steps)
