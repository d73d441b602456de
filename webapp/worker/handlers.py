"""Which function does which stage."""

from collections.abc import Mapping

from webapp.pipeline.process import process_document
from webapp.pipeline.stages import PROCESS_DOCUMENT
from webapp.worker.attempt import Handler

HANDLERS: Mapping[str, Handler] = {PROCESS_DOCUMENT: process_document}
