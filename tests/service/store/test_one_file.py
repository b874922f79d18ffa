"""Two servers on one file never both answer, under whatever names they find it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.owned import Shop
from support.rival_attacks import OWNED_ELSEWHERE
from support.service_process import PATIENCE, SHOP, SOURCES, ServiceProcess
from support.told_life import SPEC, play

from structured_bandits.service.store.backups import back_up
from structured_bandits.service.store.sqlite import SqliteStore
from structured_bandits.service.store_protocol import OwnedElsewhereError, StoreError

UNUSABLE = 2  # the exit code


def second_servers(stores: Sequence[Path]) -> list[tuple[int, str]]:
    """Serve all of these at the same time; return the exit codes and what was said."""
    found = []
    for store in stores:
        service = ServiceProcess(store.parent, store=str(store))
        service.said = store.parent / f"{store.name}.txt"
        found.append((service.launch(), service.said))
    ended = []
    try:
        for process, said in found:
            process.communicate(timeout=PATIENCE)
            ended.append((process.returncode, said.read_text()))
    finally:
        for process, _ in found:
            process.kill()
            process.communicate()
    return ended


def test_a_second_server_never_answers(tmp_path: Path) -> None:
    """Found with hard links: both answered, then the database was malformed."""
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "one")
    with ServiceProcess(tmp_path / "one") as first:
        path = Path(first.store)
        names = [tmp_path / "two" / name for name in ("symbolic.db", "hard.db")]
        names[0].symlink_to(path)
        os.link(path, names[1])
        for code, said in second_servers([*names, tmp_path / "linked" / path.name]):
            assert (code, "in use by" in said) == (OWNED_ELSEWHERE, True), said
        names[1].unlink()
        path.with_name(f"{path.name}.lock").unlink()
        with pytest.raises(OwnedElsewhereError, match="by another name"):
            SqliteStore(path).claim()
        path.rename(names[1])
        ((code, said),) = second_servers([names[1]])
        assert (code, "by another name" in said) == (OWNED_ELSEWHERE, True), said
        with first.client() as client:
            assert client.call("PUT", "/v1/experiments/shop", {"spec": SHOP}).status == 201
        assert first.stop() == 0


def can_mount() -> bool:
    """Can this machine mount folders for a single process?"""
    command = ["unshare", "-m", "mount", "--bind", "/tmp", "/tmp"]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def serve_mounted(what: Path, place: Path, store: Path) -> tuple[int, str]:
    """Serve a store in a process for which something is mounted elsewhere, too."""
    mount = 'mount --bind "$1" "$2" && exec "$3" -m structured_bandits serve --port 0 --store "$4"'
    command = ["unshare", "-m", "sh", "-c", mount, "sh", what, place, sys.executable, store]
    environment = os.environ | {"PYTHONPATH": SOURCES}
    found = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=PATIENCE, check=False
    )
    return found.returncode, found.stderr


if can_mount():  # as root

    def test_a_second_server_never_answers_where_the_file_is_mounted(tmp_path: Path) -> None:
        """A container that mounts the file alone would write a log of its own beside it."""
        for folder in ("one", "two"):
            (tmp_path / folder).mkdir()
        there = tmp_path / "two" / "bandits.db"
        with ServiceProcess(tmp_path / "one") as first:
            ended, said = serve_mounted(tmp_path / "one", tmp_path / "two", there)
            assert (ended, "in use by process" in said) == (OWNED_ELSEWHERE, True), said
            there.touch()
            ended, said = serve_mounted(Path(first.store), there, there)
            assert (ended, "mount its folder instead" in said) == (UNUSABLE, True), said


def test_a_file_with_two_names_is_refused_after_its_server_has_ended_too(tmp_path: Path) -> None:
    """Its write-ahead log may lie beside the other name."""
    shop = Shop(tmp_path)
    shop.create(SPEC)
    play(shop, 2)
    shop.close()
    os.link(shop.path, tmp_path / "other.db")
    for path in (shop.path, tmp_path / "other.db"):
        with pytest.raises(
            StoreError, match=r"the file has 2 names \(hard links\).*structured-bandits backup"
        ):
            SqliteStore(path).claim()
        with pytest.raises(StoreError, match=r"the file has 2 names"):
            SqliteStore(path, readonly=True)
    (tmp_path / "other.db").unlink()
    copy = tmp_path / "copy.db"
    back_up(SqliteStore(shop.path, readonly=True), copy)
    SqliteStore(copy, readonly=True).close()
    shop.begin()
    assert shop.life().agent.rewards == 3
    shop.close()


def test_who_reads_a_file_by_another_name_is_refused_too(tmp_path: Path) -> None:
    """A backup by the name of a hard link had 12 rows of 92, and was said to be right."""
    shop = Shop(tmp_path)
    shop.create(SPEC)
    os.link(shop.path, tmp_path / "other.db")
    play(shop, 2)
    with pytest.raises(StoreError, match=r"other\.db: the file has 2 names"):
        SqliteStore(tmp_path / "other.db", readonly=True)
    shop.drop()


def test_hard_links_are_refused_on_every_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were on Linux only, where the store itself can be locked, too."""
    shop = Shop(tmp_path)
    shop.close()
    os.link(shop.path, tmp_path / "other.db")
    monkeypatch.setattr("structured_bandits.service.store.file_lock.sys.platform", "darwin")
    with pytest.raises(StoreError, match="the file has 2 names"):
        SqliteStore(shop.path).claim()


def test_a_link_finds_the_write_ahead_log_of_its_file(tmp_path: Path) -> None:
    """A server that was killed leaves rows there only."""
    shop = Shop(tmp_path)
    shop.create(SPEC)
    play(shop, 2)
    link = tmp_path / "link.db"
    link.symlink_to(shop.path)
    found = SqliteStore(link, readonly=True)
    assert found.path == shop.path
    assert found.versions()[0].head == shop.life().seq
    with pytest.raises(OwnedElsewhereError, match=r"in use by process \d+ on "):
        SqliteStore(link).claim()
    assert [path.name for path in tmp_path.glob("link*")] == ["link.db"]
    shop.drop()
