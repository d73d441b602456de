"""The stage `process_document`: from the uploaded file to published passages."""

from webapp.pipeline.chunk import chunk
from webapp.pipeline.embed import embed
from webapp.pipeline.extract import extract, save_markdown
from webapp.pipeline.publish import publish
from webapp.pipeline.steps import StageContext


def process_document(context: StageContext) -> None:
    """All steps in their order; those that an earlier attempt finished are skipped."""
    extract(context)
    save_markdown(context)
    chunk(context)
    embed(context)
    publish(context)
