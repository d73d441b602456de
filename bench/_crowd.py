"""A large library to measure pages on: documents with their words, runs, jobs and calls, in one big org and many small.

Rows are made by the database itself, on PostgreSQL as a superuser, so that a million of them take minutes.
"""

import sqlite3
from uuid import UUID

import psycopg

from webapp.clock import new_id

ORG = UUID(int=1)
SMALL_ORGS = 200
CALLS_MOST = 300_000
CHUNKS_MOST = 30_000
# What few documents are spread over, so that the last two days hold few of them at any time of day.
DAYS_LEAST = 30
MODEL = "minilm-l6-v2-int8"


def on_postgresql(superuser_url: str, documents: int, *, analyze: bool = True) -> None:
    """Fill a migrated database. Without `analyze` its statistics are those of an empty one."""
    with psycopg.connect(superuser_url, autocommit=True) as connection:
        # Nothing looks up what a row refers to, and no disk is waited for.
        connection.execute("SET session_replication_role = replica")
        connection.execute("SET synchronous_commit = off")
        for statement in (*_ON_POSTGRESQL, *_ON_BOTH):
            connection.execute(_filled_in(statement, documents).encode())
        if analyze:
            connection.execute("VACUUM ANALYZE")


def on_sqlite(path: str, documents: int, *, analyze: bool = True) -> None:
    """Fill a migrated file."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    connection.create_function("mod", 2, lambda number, divisor: number % divisor, deterministic=True)
    connection.create_function("uuidv7", 0, lambda: new_id().hex)
    for statement in (*_ON_SQLITE, *_ON_BOTH):
        connection.execute(_filled_in(statement, documents))
    connection.commit()
    if analyze:
        connection.execute("ANALYZE")
    connection.close()


def _filled_in(statement: str, documents: int) -> str:
    """Numbers as a part of the text: all are our own."""
    values = {
        "$NUMBER": documents,
        "$ORGS": SMALL_ORGS,
        "$CALLS": CALLS_MOST,
        "$CHUNKS": CHUNKS_MOST,
        "$GAP": max(20, DAYS_LEAST * 86_400 // documents),
        "$ORG": ORG,
        "$HEX": ORG.hex,
        "$STATS": _STATS,
    }
    for name, value in values.items():
        statement = statement.replace(name, str(value))
    return statement


_STATS = """
org_id, at, stage, size, completed, failed, seconds, seconds_max, latency, latency_max, took_1, took_3, took_10,
took_30, took_60, took_300, took_1800, took_7200, took_more
"""
_STATUS = """
CASE WHEN mod(n, 100) IN (1, 2, 3, 4) THEN 'FAILED' WHEN mod(n, 100) IN (11, 12) THEN 'PROCESSING'
    WHEN mod(n, 1000) = 27 THEN 'TIMED_OUT' ELSE 'READY' END
"""
# Of ten documents nine are the big org's. Each is 20 seconds younger than the one before, or more where they are few.
_ON_POSTGRESQL = (
    "INSERT INTO orgs (id, name, created_at) VALUES ('$ORG', 'big', now())",
    """
    INSERT INTO orgs (id, name, created_at)
    SELECT md5('org' || n)::uuid, 'org ' || n, now() FROM generate_series(0, $ORGS - 1) AS n
    """,
    f"""
    CREATE TEMP TABLE made AS
    SELECT n, uuidv7(age) AS id, uuidv7(age) AS run_id, uuidv7(age) AS job_id, now() + age AS at, {_STATUS} AS status,
        CASE WHEN mod(n, 10) = 4 THEN md5('org' || mod(n / 10, $ORGS))::uuid ELSE '$ORG'::uuid END AS org_id,
        lpad(to_hex(n), 64, '0') AS sha256
    FROM (SELECT n, make_interval(secs => (n - $NUMBER) * $GAP) AS age FROM generate_series(1, $NUMBER) AS n) AS numbers
    """,
    "ANALYZE made",
)
_ON_SQLITE = (
    "INSERT INTO orgs (id, name, created_at) VALUES ('$HEX', 'big', '2026-01-01 00:00:00.000')",
    """
    INSERT INTO orgs (id, name, created_at)
    WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < $ORGS - 1)
    SELECT printf('%032x', n + 1000), 'org ' || n, '2026-01-01 00:00:00.000' FROM numbers
    """,
    f"""
    CREATE TEMP TABLE made AS
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < $NUMBER)
    SELECT n, uuidv7() AS id, uuidv7() AS run_id, uuidv7() AS job_id, {_STATUS} AS status,
        strftime('%Y-%m-%d %H:%M:%f', 'now', ((n - $NUMBER) * $GAP) || ' seconds') AS at,
        CASE WHEN mod(n, 10) = 4 THEN printf('%032x', mod(n / 10, $ORGS) + 1000) ELSE '$HEX' END AS org_id,
        printf('%064x', n) AS sha256
    FROM numbers
    """,
)

# One of ten is kept: nothing reads it. The others were processed by an earlier version, or by this one.
_FOLDER = "CASE WHEN mod(n, 7) = 0 THEN 'Archive' WHEN mod(n, 1000) = 1 THEN 'Tax/2025' END"
_PAGES_READ = "CASE WHEN mod(n, 100) BETWEEN 31 AND 40 THEN 0 WHEN mod(n, 2) = 1 THEN 3 END"
# Of twenty that were read one was read in part.
_READING = (
    "CASE WHEN mod(n, 100) NOT BETWEEN 31 AND 40 THEN CASE WHEN mod(n, 20) = 7 THEN 'in_part' ELSE 'well' END END"
)
# Half are invoices. "legacy" is in the oldest twentieth alone, and "zebra" at the end of the alphabet.
_NAME = """
CASE WHEN mod(n, 10) < 5
        THEN 'invoice_' || (2015 + mod(n / 7, 10)) || '-' || (10 + mod(n, 3)) || '_' || (10000000 + n) || '.pdf'
    WHEN mod(n, 10) < 7 THEN 'scan' || (10000000 + n) || '.pdf'
    WHEN mod(n, 10) = 7 THEN 'Contract customer' || mod(n, 1000) || ' ' || (10000000 + n) || '.docx'
    WHEN mod(n, 10) = 8 THEN 'zebra-' || (10000000 + n) || '.txt'
    ELSE 'Meeting notes ' || (10000000 + n) || '.md' END
"""
_TITLE = "CASE WHEN n < $NUMBER / 20 THEN 'Legacy archive' END"
# The words of these names and titles, as `names.words_of` would find them.
_WORDS = {
    "'invoice'": "mod(n, 10) < 5",
    "CAST(2015 + mod(n / 7, 10) AS text)": "mod(n, 10) < 5",
    "CAST(10 + mod(n, 3) AS text)": "mod(n, 10) < 5",
    "CAST(10000000 + n AS text)": "true",
    "'scan'": "mod(n, 10) IN (5, 6)",
    "'contract'": "mod(n, 10) = 7",
    "'customer'": "mod(n, 10) = 7",
    "CAST(mod(n, 1000) AS text)": "mod(n, 10) = 7",
    "'zebra'": "mod(n, 10) = 8",
    "'meeting'": "mod(n, 10) = 9",
    "'notes'": "mod(n, 10) = 9",
    "'pdf'": "mod(n, 10) < 7",
    "'docx'": "mod(n, 10) = 7",
    "'txt'": "mod(n, 10) = 8",
    "'md'": "mod(n, 10) = 9",
    "'legacy'": "n < $NUMBER / 20",
    "'archive'": "n < $NUMBER / 20",
}
# Failures of four errors, in the same numbers; of five, one was discarded and one superseded.
_ERROR = """
CASE WHEN status IN ('FAILED', 'TIMED_OUT') THEN CASE mod(n / 100, 4) WHEN 0 THEN 'corrupt' WHEN 1 THEN 'timed_out'
    WHEN 2 THEN 'no_text' ELSE 'unavailable' END END
"""
_RESOLUTION = """
CASE WHEN status IN ('FAILED', 'TIMED_OUT')
    THEN CASE mod(n / 400, 5) WHEN 1 THEN 'DISCARDED' WHEN 2 THEN 'SUPERSEDED' END END
"""
_HAS_ENDED = "CASE WHEN status <> 'PROCESSING' THEN at END"
_ON_BOTH = (
    f"""
    INSERT INTO documents (id, org_id, filename, title, content_type, size_bytes, sha256, blob_path, status, page_count,
        pages_read, reading, published_run_id, embedding_model, folder, created_at, updated_at)
    SELECT id, org_id, {_NAME}, {_TITLE}, 'application/pdf', 1000 + mod(n * CAST(7919 AS bigint), 5000000), sha256,
        'nowhere', status, 3, {_PAGES_READ}, {_READING}, run_id, CASE status WHEN 'READY' THEN '{MODEL}' END, {_FOLDER},
        at, at
    FROM made
    """,
    """
    INSERT INTO document_pages (org_id, document_id, number, reading, reason, by_ocr)
    SELECT org_id, id, 1, CASE WHEN mod(n, 20) = 7 THEN 'not_read' ELSE 'well' END,
        CASE WHEN mod(n, 20) = 7 THEN 'ocr_off' END, false
    FROM made WHERE mod(n, 100) NOT BETWEEN 31 AND 40
    """,
    # One of five has fields. A person confirmed a tenth of them; as many are doubtful.
    """
    INSERT INTO document_fields (id, org_id, document_id, ordinal, name, value, confidence, page, check_order)
    SELECT uuidv7(), org_id, id, ordinal, name, 'value ' || n, 0.9, 1, CASE WHEN mod(n, 50) = 15 THEN 0.5 END
    FROM made, (SELECT 0 AS ordinal, 'Invoice number' AS name UNION ALL SELECT 1, 'Total') AS names
    WHERE mod(n, 5) = 0 AND status = 'READY'
    """,
    """
    INSERT INTO corrections (id, org_id, document_id, target, name, nth, verdict, value, found, "by", at)
    SELECT uuidv7(), org_id, id, 'field', 'Total', 0, 'confirmed', 'value ' || n, 'value ' || n, 'somebody', at
    FROM made WHERE mod(n, 50) = 5 AND status = 'READY'
    """,
    "INSERT INTO document_words (document_id, word, org_id) "
    + " UNION ALL ".join(
        f"SELECT id, {word}, org_id FROM made WHERE {condition}" for word, condition in _WORDS.items()
    ),
    f"""
    INSERT INTO processing_runs (id, org_id, document_id, state, failure_type, failure_code, trigger, created_at,
        started_at, finished_at)
    SELECT run_id, org_id, id,
        CASE status WHEN 'READY' THEN 'SUCCEEDED' WHEN 'PROCESSING' THEN 'QUEUED' ELSE status END,
        CASE status WHEN 'FAILED' THEN 'STEP_FAILED' END, CASE status WHEN 'FAILED' THEN 'corrupt' END, 'UPLOAD', at,
        {_HAS_ENDED}, {_HAS_ENDED}
    FROM made
    """,
    f"""
    INSERT INTO document_processing_jobs (id, org_id, document_id, run_id, stage, status, priority, payload, checkpoint,
        attempts, max_attempts, available_at, created_at, completed_at, error_log, updated_at, error_code, resolution,
        resolved_at)
    SELECT job_id, org_id, id, run_id, CASE WHEN mod(n, 3) = 0 THEN 'process_document' ELSE 'detect_connections' END,
        CASE status WHEN 'READY' THEN 'COMPLETED' WHEN 'PROCESSING' THEN 'PENDING' ELSE 'FAILED' END, 0, '{{}}', '{{}}',
        0, 5, at, at, {_HAS_ENDED}, '[]', at, {_ERROR}, {_RESOLUTION}, CASE WHEN {_RESOLUTION} IS NOT NULL THEN at END
    FROM made
    """,
    """
    INSERT INTO run_events (id, org_id, document_id, run_id, kind, created_at)
    SELECT uuidv7(), org_id, id, run_id, 'RUN_QUEUED', at FROM made
    """,
    """
    INSERT INTO chunks (id, org_id, document_id, ordinal, text, text_sha256, created_at)
    SELECT uuidv7(), org_id, id, 0, 'passage ' || n, sha256, at FROM made WHERE n > $NUMBER - $CHUNKS
    """,
    """
    INSERT INTO stats_minute ($STATS)
    SELECT org_id, at, 'process_document', mod(n, 5), 1, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0
    FROM made WHERE n > $NUMBER - 180
    """,
    """
    INSERT INTO stats_hour ($STATS)
    SELECT org_id, at, 'process_document', mod(n, 5), 1, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0
    FROM made WHERE mod(n, 9) = 0 AND n > $NUMBER - 150000
    """,
    """
    INSERT INTO stats_day ($STATS)
    SELECT org_id, at, 'process_document', mod(n, 5), 1, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0
    FROM made WHERE mod(n, 216) = 0
    """,
    """
    INSERT INTO provider_calls (id, org_id, run_id, provider, operation, units, seconds, outcome, reused, price,
        created_at)
    SELECT uuidv7(), org_id, run_id, 'openai', 'embed', 3, 0.2, 'ok', mod(n, 3) = 0, 0.001, at
    FROM made WHERE n > $NUMBER - $CALLS
    """,
)
