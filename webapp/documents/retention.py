"""What of a document's past may be forgotten, where the settings say so. Its runs never are."""

from typing import cast

from sqlalchemy import Table

from webapp.documents import model
from webapp.pruning import Prunable

_events = cast(Table, model.RunEvent.__table__)
_calls = cast(Table, model.ProviderCall.__table__)

EVENTS = Prunable(_events, _events.c.created_at)
CALLS = Prunable(_calls, _calls.c.created_at)
