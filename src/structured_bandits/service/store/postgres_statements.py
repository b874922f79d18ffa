"""The statements of PostgreSQL alone: who owns a store, and its own form of those of both."""

from __future__ import annotations

from functools import cache

from structured_bandits.service.store import statements as sql

WORDS = {"int": "BIGINT", "real": "DOUBLE PRECISION", "bytes": "BYTEA", "tail": ""}
WORDS["lock"] = " FOR UPDATE"

# The lock of a store: one for each schema of a database. The number says that it is ours.
LOCK_CLASS = 0x5342
LOCK = f"SELECT pg_try_advisory_lock({LOCK_CLASS}, current_schema()::regnamespace::oid::int)"
HOLDER = f"""
FROM pg_locks AS held JOIN pg_stat_activity AS backend USING (pid)
WHERE held.locktype = 'advisory' AND held.granted AND held.database = backend.datid
  AND backend.datname = current_database() AND held.classid = {LOCK_CLASS}
  AND held.objid = current_schema()::regnamespace::oid AND held.objsubid = 2"""
# Ending a connection waits until it is gone, for at most 5 s. One that is younger than our patience
# belongs to an owner who has only just begun.
END = f"SELECT pg_terminate_backend(pid, 5000) {HOLDER} AND pid = %s"
END_SILENT = f"""
SELECT pg_terminate_backend(pid, 5000) {HOLDER}
  AND backend.backend_start < clock_timestamp() - make_interval(secs => %s)
  AND EXISTS (SELECT 1 FROM meta WHERE key = 'heartbeat'
              AND to_timestamp(value::float8) < clock_timestamp() - make_interval(secs => %s))"""
SILENCE = """
SELECT extract(epoch FROM clock_timestamp())::float8 - value::float8
FROM meta WHERE key = 'heartbeat'"""
NOW = "extract(epoch FROM clock_timestamp())::text"
BEAT = f"""
UPDATE meta SET value = {NOW} WHERE key = 'heartbeat'
AND EXISTS (SELECT 1 FROM meta WHERE key = 'epoch' AND value = %s)"""
FIRST_BEAT = f"""
INSERT INTO meta VALUES ('heartbeat', {NOW}) ON CONFLICT(key) DO UPDATE SET value = excluded.value"""
RAISE_EPOCH = """
INSERT INTO meta VALUES ('epoch', '1')
ON CONFLICT(key) DO UPDATE SET value = (meta.value::bigint + 1)::text RETURNING value"""
NAMES: tuple[str, ...] = (
    "meta_pkey",
    "structure_pkey",
    "experiment_pkey",
    "experiment_name_key",
    "version_pkey",
)
NAMES += ("version_uid_key", "version_experiment_number_key", "event_pkey", "snapshot_pkey")
NAMES += ("token_pkey", "outcome", "late", "start", "request")
INDEXES = """
SELECT relname::text FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
WHERE relnamespace = current_schema()::regnamespace AND indisvalid AND indisready"""
COPY = f"COPY event(version, {sql.COLUMNS}) FROM STDIN"


@cache
def own(statement: str) -> str:
    """Return a statement of both stores as PostgreSQL's."""
    return statement.format(**WORDS).replace("?", "%s")
