"""Which jobs may be forgotten: those that are done. What failed stays, since it can be tried again."""

from typing import cast

from sqlalchemy import Table

from webapp.jobs import model
from webapp.jobs.states import JobStatus
from webapp.pruning import Prunable

_jobs = cast(Table, model.Job.__table__)

DONE = Prunable(_jobs, _jobs.c.completed_at, _jobs.c.status == JobStatus.COMPLETED)
