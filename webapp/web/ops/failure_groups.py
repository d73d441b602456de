"""The open failures of an org, grouped by stage and error; and which of them "retry all" means."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from webapp.db.bounded import Count
from webapp.jobs import failures
from webapp.jobs.failures import FailureFilter
from webapp.web import sentences
from webapp.web.sentences import Sentence


@dataclass(frozen=True)
class FailureGroup:
    """The open failures of one stage with one error. `may_pass` where trying again can help."""

    stage: str
    code: str
    count: Count
    failure: Sentence

    @property
    def may_pass(self) -> bool:
        """Whether "retry all" includes them."""
        return self.failure.may_pass

    def for_programs(self) -> dict[str, object]:
        """As JSON."""
        return {
            "stage": self.stage,
            "code": self.code,
            "title": self.failure.title,
            "count": self.count.number,
            "more": self.count.more,
            "may_pass": self.may_pass,
        }


@dataclass(frozen=True)
class Retryable:
    """The jobs that "retry all" means, the newest of each group first, and the groups that it leaves out."""

    ids: Sequence[UUID]
    left_out: Sequence[FailureGroup]


def failure_groups(org_id: UUID) -> list[FailureGroup]:
    """The groups, the largest first, inside of a transaction about this org."""
    found = [
        FailureGroup(group.stage, group.code, group.count, sentences.failure(group.code))
        for group in failures.groups(org_id)
    ]
    return sorted(found, key=lambda group: (-group.count.number, group.stage, group.code))


def retryable(org_id: UUID, limit: int, stage: str | None = None, code: str | None = None) -> Retryable:
    """The open failures (of a stage) that trying again can help; with `code` those of this error, whatever it is.

    A file that is damaged stays so: who names the error decides that it is tried all the same.
    """
    groups = [group for group in failure_groups(org_id) if stage is None or group.stage == stage]
    if code is not None:
        chosen = [group for group in groups if group.code == code]
        left_out = []
    else:
        chosen = [group for group in groups if group.may_pass]
        left_out = [group for group in groups if not group.may_pass]
    ids: list[UUID] = []
    for group in chosen:
        if len(ids) < limit:
            ids += failures.page(org_id, FailureFilter(stage=group.stage, code=group.code), limit=limit - len(ids))
    return Retryable(ids, left_out)
