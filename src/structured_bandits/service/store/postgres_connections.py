"""Connections to PostgreSQL: the address, what a server must promise, and what errors say.

No message holds a password: addresses are shown without it, and one that cannot be read is not shown.

Here are also the statements of PostgreSQL alone: who owns a store, and its own form of those of both.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any, NoReturn

from structured_bandits.base.extras import needs
from structured_bandits.service.store import statements as sql
from structured_bandits.service.store_protocol import ContradictionError, StoreError

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


with needs("A store in PostgreSQL", extra="postgres"):
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

Connection = psycopg.Connection[tuple[Any, ...]]

OLDEST = 14  # the first version of PostgreSQL that waits for a connection that it ends
#: What an address need not say: a server that is gone is noticed in seconds, and replicas are refused.
DEFAULTS = {
    "application_name": "structured-bandits",
    "client_encoding": "UTF8",
    "connect_timeout": "10",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
    "target_session_attrs": "primary",
}

# The settings that a commit relies on. Asking for the first one keeps it from changing under us.
SETTINGS = """
SELECT set_config('synchronous_commit', current_setting('synchronous_commit'), false),
       current_setting('server_encoding'), current_setting('fsync'),
       current_setting('full_page_writes'), current_schema() IS NOT NULL"""


class DurabilityWarning(UserWarning):
    """The server is set up such that a loss of power may damage its files."""


class DatabaseAddress:
    """Where a database is; opens connections to it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.where, self._parts = _understood(text)

    def writer(self) -> Connection:
        """Open a connection for writing, to a server that keeps what it has acknowledged."""
        connection = self._connect()
        try:
            _check_server(connection, self.where)
            connection.commit()  # what it has set is undone otherwise
            connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        except BaseException as error:
            connection.close()
            self.explain(error)
        return connection

    def reader(self) -> Connection:
        """Open a connection that can only read."""
        options = f"{self._parts.get('options', '')} -c default_transaction_read_only=on"
        return self._connect(autocommit=True, options=options)

    def _connect(self, **more: Any) -> Connection:
        try:
            return psycopg.connect(**{**DEFAULTS, **self._parts, **more})
        except psycopg.Error as error:
            self.explain(error, "; check the address, and that the server runs")

    def explain(self, error: BaseException, remedy: str = "") -> NoReturn:
        """Raise an error of the database as ours, in one line; all others as they are."""
        if isinstance(error, psycopg.Error):
            reason = error.diag.message_primary or str(error).partition("\n")[0]
            kind = ContradictionError if isinstance(error, psycopg.IntegrityError) else StoreError
            raise kind(f"{self.where}: {reason}{remedy}") from error
        raise error


def _check_server(connection: Connection, where: str) -> None:
    """Refuse a server whose commits may be lost, or that cannot hold a store."""
    version = connection.info.server_version // 10_000
    if version < OLDEST:
        raise StoreError(f"{where}: it is PostgreSQL {version}; {OLDEST} or newer is needed")
    row = connection.execute(SETTINGS).fetchone()
    assert row is not None
    waits, encoding, syncs, whole_pages, has_schema = row
    if waits not in ("on", "remote_apply"):
        raise StoreError(
            f"{where}: synchronous_commit is {waits}, with which a loss of power may lose what "
            "was acknowledged; set it on, for example by ALTER ROLE … SET synchronous_commit = on"
        )
    if encoding != "UTF8":
        raise StoreError(f"{where}: its encoding is {encoding}; UTF8 is needed")
    if not has_schema:
        raise StoreError(f"{where}: none of the schemas in its search_path exists")
    for setting, value in (("fsync", syncs), ("full_page_writes", whole_pages)):
        if value != "on":
            message = f"{where}: {setting} is {value}: a loss of power may damage it"
            warnings.warn(message, DurabilityWarning, stacklevel=4)


def _understood(address: str) -> tuple[str, dict[str, Any]]:
    """Return an address for people, without its password, and its parts.

    >>> _understood("postgresql://me:secret@db:5432/shop?sslmode=require")[0]
    'postgresql://me@db:5432/shop'
    """
    try:
        parts = conninfo_to_dict(address)
    except psycopg.Error:
        raise _unreadable() from None  # what libpq says of it might quote a part of the password
    user, host, port, name = (
        str(parts.get(part, "")) for part in ("user", "host", "port", "dbname")
    )
    if "@" in host + name or not f"0{port}".replace(",", "").isdecimal():
        raise _unreadable()
    place = host + (f":{port}" if port else "")
    return f"postgresql://{user}{'@' if user else ''}{place}/{name}", parts


def _unreadable() -> StoreError:
    return StoreError(
        "the address of the database cannot be read; expected postgresql://user:password@host:port/"
        "database, with special characters of the password as in %40 for @ and %2F for /"
    )
