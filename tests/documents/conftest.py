"""An org on each database."""

from uuid import UUID

import pytest
from flask import Flask

from tests.documents.rows import new_document, new_org


@pytest.fixture
def org_id(bare_app: Flask) -> UUID:
    return new_org()


@pytest.fixture
def document_id(org_id: UUID) -> UUID:
    return new_document(org_id)
