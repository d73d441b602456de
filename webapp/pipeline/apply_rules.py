"""Applies an org's rules to a document that has just become ready, in the transaction that publishes its result.

So each result is put in order exactly once, and readers never see it without. A rule that fails costs the document what
the rules would have given it, and nothing else: its result is published, and an incident says so.
"""

import logging

from webapp.db import session
from webapp.db.errors import DATABASE_ERRORS, trouble_of
from webapp.library import rule_effects, rules, selection
from webapp.pipeline.steps import StageContext
from webapp.statistics import incidents
from webapp.statistics.incidents import IncidentName

_log = logging.getLogger(__name__)


def apply_rules(context: StageContext) -> None:
    """Apply the rules that are on, the oldest first, each to what those before it have made of the document."""
    active = rules.active(context.org_id)
    if not active:
        return
    try:
        with session().begin_nested():
            for rule in active:
                if selection.is_meant(context.org_id, context.document_id, rule.matching):
                    rule_effects.apply(context.org_id, rule.gifts, [context.document_id], run_id=context.run_id)
    except Exception as error:
        # The attempt is repeated where the database was away or busy.
        if isinstance(error, DATABASE_ERRORS) and trouble_of(error) is not None:
            raise
        _log.exception("the rules failed at document %s", context.document_id)
        incidents.record(IncidentName.RULES_FAILED)
