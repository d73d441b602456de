"""The fixtures of documents and of the pipeline."""

from tests.documents.conftest import document_id, org_id
from tests.pipeline.conftest import clients_are_closed, reader, workplace

__all__ = ["clients_are_closed", "document_id", "org_id", "reader", "workplace"]
