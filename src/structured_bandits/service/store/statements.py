"""The statements of the store, which SQLite and PostgreSQL understand alike.

Placeholders are `?` here. Where the two differ, a word in braces stands for each one's own: {bytes} is
the type for bytes, {real} that for numbers of 64 bits, {int} that for whole ones, {tail} what SQLite
adds so that a table is stored in the order of its key, {lock} what PostgreSQL adds so that a row stays
as it was read until the end of the transaction.
"""

from __future__ import annotations

COLUMNS = "seq, kind, at, decision, n, arm, value, key, body, chain"

SCHEMA = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE structure(digest TEXT PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE experiment(id {int} PRIMARY KEY, name TEXT NOT NULL UNIQUE, current {int} NOT NULL);
CREATE TABLE version(
    id {int} PRIMARY KEY, experiment {int} NOT NULL, number {int} NOT NULL, uid TEXT NOT NULL UNIQUE,
    spec TEXT NOT NULL, structure TEXT NOT NULL, made_at {int} NOT NULL,
    head {int} NOT NULL, chain {bytes} NOT NULL, closed {int} NOT NULL, UNIQUE(experiment, number));
CREATE TABLE event(
    version {int} NOT NULL, seq {int} NOT NULL, kind TEXT NOT NULL, at {int} NOT NULL,
    decision {int}, n {int}, arm {int}, value {real}, key TEXT, body TEXT, chain {bytes} NOT NULL,
    PRIMARY KEY(version, seq)){tail};
CREATE UNIQUE INDEX outcome ON event(version, decision) WHERE kind IN ('tell', 'cancel', 'expire');
CREATE UNIQUE INDEX late ON event(version, decision) WHERE kind = 'late';
CREATE INDEX start ON event(version, seq) WHERE kind = 'start';
CREATE UNIQUE INDEX request ON event(version, key) WHERE key IS NOT NULL;
CREATE TABLE snapshot(
    version {int} NOT NULL, seq {int} NOT NULL, digest {bytes} NOT NULL, state {bytes} NOT NULL,
    anchor {int} NOT NULL, PRIMARY KEY(version, seq));
CREATE TABLE token(
    id TEXT PRIMARY KEY, name TEXT NOT NULL, hash TEXT NOT NULL, role TEXT NOT NULL,
    experiments TEXT NOT NULL, made_at {int} NOT NULL, revoked_at {int});
"""


def tables(words: dict[str, str]) -> list[str]:
    """Return the statements that make the tables, with a database's own words."""
    return [each for each in SCHEMA.format(**words).split(";") if each.strip()]


# Writing. The first one of each transaction finds a row only if the epoch is still ours.
CHECK_EPOCH = "SELECT 1 FROM meta WHERE key = 'epoch' AND value = ?{lock}"
EVENT = f"INSERT INTO event(version, {COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
HEAD = "UPDATE version SET head = ?, chain = ? WHERE id = ?"
EXPERIMENT = (
    "INSERT INTO experiment(id, name, current) VALUES (?, ?, ?) "
    "ON CONFLICT(id) DO UPDATE SET current = excluded.current"
)
VERSION = "INSERT INTO version VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
STRUCTURE = "INSERT INTO structure VALUES (?, ?) ON CONFLICT(digest) DO NOTHING"
CLOSED = "UPDATE version SET closed = ? WHERE id = ?"
DROP_EVENTS = "DELETE FROM event WHERE version = ?"
DROP_SNAPSHOTS = "DELETE FROM snapshot WHERE version = ?"
SNAPSHOT = "INSERT INTO snapshot VALUES (?, ?, ?, ?, ?)"
THIN = (  # keeps the newest ones, and those that are anchors
    "DELETE FROM snapshot WHERE version = ? AND anchor = 0 AND seq NOT IN "
    "(SELECT seq FROM snapshot WHERE version = ? ORDER BY seq DESC LIMIT ?)"
)
TOKEN = (
    "INSERT INTO token VALUES (?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT(id) DO UPDATE SET revoked_at = excluded.revoked_at"
)
SET_META = "INSERT INTO meta VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value"

# What play depends on and no log says, by table: it is sealed (`seal.py`). The end of a log is left out
# as long as its rows are there to tell it.
SEALED = {
    "meta": "SELECT key, value FROM meta WHERE key IN ('schema', 'epoch')",
    "experiment": "SELECT id, name, current FROM experiment",
    "version": (
        "SELECT id, experiment, number, uid, spec, structure, made_at, closed, "
        "CASE closed WHEN 2 THEN head END, CASE closed WHEN 2 THEN chain END FROM version"
    ),
    "token": "SELECT id, name, hash, role, experiments, made_at, revoked_at FROM token",
}
SEALING = {EXPERIMENT, VERSION, CLOSED, TOKEN, SET_META}  # statements that change such rows

# Reading.
GET_META = "SELECT value FROM meta WHERE key = ?"
EXPERIMENTS = "SELECT id, name, current FROM experiment ORDER BY id"
VERSIONS = (
    "SELECT id, experiment, number, uid, spec, structure, made_at, head, chain, closed "
    "FROM version ORDER BY id"
)
BODY = "SELECT body FROM structure WHERE digest = ?"
EVENTS = f"SELECT {COLUMNS} FROM event WHERE version = ? AND seq > ? ORDER BY seq LIMIT ?"
OUTCOME = (
    f"SELECT {COLUMNS} FROM event "
    "WHERE version = ? AND decision = ? AND kind IN ('tell', 'cancel', 'expire')"
)
LATE = f"SELECT {COLUMNS} FROM event WHERE version = ? AND decision = ? AND kind = 'late'"
BY_KEY = f"SELECT {COLUMNS} FROM event WHERE version = ? AND key = ?"
LAST_START = (  # looked up by itself: SQLite would else read the log backwards, all of it
    f"SELECT {COLUMNS} FROM event WHERE version = ? AND seq = "
    "(SELECT MAX(seq) FROM event WHERE version = ? AND kind = 'start' AND seq <= ?)"
)
SNAPSHOTS = (
    "SELECT version, seq, digest, state, anchor FROM snapshot WHERE version = ? ORDER BY seq DESC"
)
STRANGERS = (  # rows of versions that are not there
    "SELECT version FROM event WHERE version NOT IN (SELECT id FROM version) "
    "UNION SELECT version FROM snapshot WHERE version NOT IN (SELECT id FROM version) ORDER BY 1"
)
TOKENS = "SELECT id, name, hash, role, experiments, made_at, revoked_at FROM token ORDER BY made_at"
