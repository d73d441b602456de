"""Very many documents like one that was uploaded: copies of its rows, made by PostgreSQL in seconds.

To upload a million through the product would take hours. Only what this leaves is measured, not how it came there.
"""

from uuid import UUID

import psycopg

from webapp.runs.stages import PROCESS_DOCUMENT


def copy(owner_url: str, document_id: UUID, number: int) -> None:
    """So many more rows of the document, its run and the run's first job. All copies share its file."""
    values = {"number": number, "document": document_id, "stage": PROCESS_DOCUMENT}
    with psycopg.connect(owner_url, autocommit=True) as connection:
        # Nothing looks up what a row refers to, and no disk is waited for.
        connection.execute("SET session_replication_role = replica")
        connection.execute("SET synchronous_commit = off")
        for statement in _STATEMENTS:
            connection.execute(statement, values)
        connection.execute("VACUUM ANALYZE")


_STATEMENTS = (
    """
    CREATE TEMP TABLE made AS
    SELECT n, uuidv7() AS document_id, uuidv7() AS run_id, uuidv7() AS job_id
    FROM generate_series(1, %(number)s::int) AS n
    """,
    """
    INSERT INTO documents SELECT copied.* FROM made, documents AS one, jsonb_populate_record(one, jsonb_build_object(
        'id', made.document_id, 'sha256', lpad(to_hex(n), 64, '0'),
        'published_run_id', CASE WHEN one.published_run_id IS NOT NULL THEN made.run_id END)) AS copied
    WHERE one.id = %(document)s
    """,
    """
    INSERT INTO processing_runs SELECT copied.* FROM made, processing_runs AS one, jsonb_populate_record(one,
        jsonb_build_object('id', made.run_id, 'document_id', made.document_id)) AS copied
    WHERE one.document_id = %(document)s
    """,
    """
    INSERT INTO document_processing_jobs SELECT copied.*
    FROM made, document_processing_jobs AS one, jsonb_populate_record(one,
        jsonb_build_object('id', made.job_id, 'run_id', made.run_id, 'document_id', made.document_id)) AS copied
    WHERE one.document_id = %(document)s AND one.stage = %(stage)s
    """,
)
