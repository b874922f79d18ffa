"""Soak: the decision service under attack for an hour (`make soak-service`, not part of `make test`).

The attacks are those of the tests in tests/service, many more times: the process is killed at random
points under load, the disk fails, is full or slow, forgets what was not synced, the database crashes, an
owner is replaced while it stands still. Requests are sent up to three times and in any order. After each
attack the log must hold all that was acknowledged, once, and every decision is derived again. Besides,
the memory must stay flat at a steady number of decisions that are out, a right structure must ring
rarely and a wrong one always; and never, at a level of 1 in 10,000, by being handed over. The attack
`damage` changes bits, pages and rows of a store: `verify` must find it, or all answers be the same; it
tries as many as there is time for, and prints how many. Each attack prints one line; the exit code is 1
if anything was wrong.

    PYTHONPATH=tests python tools/soak_service.py [--minutes M] [--only NAME] [--seed N]
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

from support.crash_attacks import crash_the_database, kill_under_load, kill_with_windows
from support.damage_attacks import (
    FOUND,
    HARMLESS,
    FileVictim,
    SchemaVictim,
    bits_of_structure,
    of_bits,
    of_pages,
    of_rows,
    one_bit_of_every_byte,
    tried,
)
from support.disk_attacks import (
    end_at,
    fail_at_the_end,
    fail_once,
    fill_by_file,
    fill_by_limit,
    held_commits,
    slow_commits,
)
from support.faulty_disk import FAIL, KILL, READ, SYNC, TEAR, WRITE, can_make_disks
from support.handed_over import WAYS, life_with_late_failures, lives_handed_over
from support.long_attacks import LEVEL, MEBIBYTE, live, steady_load
from support.owned import in_memory
from support.postgres_server import Server, find_postgres, running_server
from support.rival_attacks import take_over
from support.service_load import MANY
from support.siege import Findings
from tqdm import tqdm

from structured_bandits.base.sources import SOURCES_HASH
from structured_bandits.service.writer import MOST_QUEUED

HOUR = 60.0  # minutes for which the numbers of rounds below are meant
CYCLES = 10  # crashes of one store

Attack = Callable[[Path, int], Findings]


class Rounds(NamedTuple):
    """An attack, and how often it is repeated in an hour of all attacks; its seeds count from 0."""

    attack: Attack
    in_an_hour: int


def slow(folder: Path, seed: int) -> Findings:
    """Let commits be slow, or hang: the queue must be bounded."""
    if seed % 2:
        return slow_commits(folder, seed, seconds=10.0)
    found, waiting = held_commits(folder, seed)
    if waiting > MOST_QUEUED + MANY or not found.refused():
        found.problems.append(f"queue: {waiting} rows waited")
    return found


def end(folder: Path, seed: int) -> Findings:
    """Let each of the first writes go wrong while the service is stopped, in three ways."""
    return fail_at_the_end(folder, seed, (FAIL, KILL, TEAR)[seed % 3], after=seed // 3)


def on_postgres(server: Server) -> dict[str, Rounds]:
    """Return the attacks that need a database."""

    def kill(folder: Path, seed: int) -> Findings:
        attack = kill_with_windows if seed % 2 else kill_under_load
        return attack(folder, seed, CYCLES, store=server.schema())

    return {
        "postgres": Rounds(kill, 6),
        "database": Rounds(partial(crash_the_database, cycles=1, server=server), 10),
        "takeover": Rounds(lambda folder, seed: take_over(folder, seed, server.schema()), 8),
    }


def on_disks() -> dict[str, Rounds]:
    """Return the attacks on the disk: the seed says how many calls go well before the fault."""
    found = {
        "syncs": Rounds(lambda folder, k: fail_once(folder, k, SYNC, after=k), 60),
        "writes": Rounds(lambda folder, k: fail_once(folder, k, WRITE, after=3 * k), 60),
        "reads": Rounds(lambda folder, k: fail_once(folder, k, READ, after=k), 20),
        "kills": Rounds(lambda folder, k: end_at(folder, k, KILL, after=2 * k), 60),
        "tears": Rounds(lambda folder, k: end_at(folder, k, TEAR, after=2 * k), 60),
        "ends": Rounds(end, 45),
        "slow": Rounds(slow, 6),
        "limit": Rounds(fill_by_limit, 8),
    }
    if os.geteuid() == 0:  # who may make file systems
        found["full"] = Rounds(fill_by_file, 8)
    return found


def memory(minutes: float) -> Findings:
    """Load the service steadily and print its memory."""
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        found, curve = steady_load(Path(folder), 60.0 * minutes, most=10_000_000)
    for rewards, size in curve[:: max(1, len(curve) // 8)]:
        print(f"  after {rewards:>10,} rewards: {size / MEBIBYTE:.1f} MiB")
    return found


def lives(number: int) -> Findings:
    """Play lives in memory: count the alarms of right structures and of wrong ones."""
    found = Findings(cycles=2 * number, replays=2 * number)
    rung = {True: 0, False: 0}
    for seed in tqdm(range(number), desc="lives", disable=None, leave=False):
        for right in (True, False):
            alarm, same = live(seed, right)
            rung[right] += alarm
            if not same:
                found.problems.append(f"replay: live({seed}, {right})")
    print(f"  right structures that rang: {rung[True]} of {number}, at level {LEVEL}")
    print(f"  wrong structures that rang: {rung[False]} of {number}")
    most = LEVEL * number + 4.0 * math.sqrt(LEVEL * (1.0 - LEVEL) * number)
    if rung[True] > most:
        found.problems.append(f"alarm: {rung[True]} false ones, at most {most:.0f} are plausible")
    if rung[False] < number:
        found.problems.append(f"alarm: {number - rung[False]} wrong structures were not found")
    return found


def handed_over(number: int) -> Findings:
    """Play lives of a right structure that are handed over while failures are out; none may ring."""
    found = Findings(cycles=number * (len(WAYS) + 1))
    rung = {}
    for way in tqdm(WAYS, desc="handed over", disable=None, leave=False):
        with tempfile.TemporaryDirectory(prefix="soak-") as folder:
            before, after = lives_handed_over(Path(folder), way, range(number), rounds=6)
        rung[way] = len(before | after)
    late = [life_with_late_failures(each, rounds=60) for each in range(number)]
    rung["late rewards"] = sum(one.life.fallen_at is not None for one in late)
    for way, count in rung.items():
        print(f"  {way}: {count} of {number} rang")
        found.problems += [f"alarm: {count} false ones ({way})"] * (count > 0)
    return found


def damage(minutes: float, seed: int, server: Server | None) -> Findings:
    """Damage a store in all ways, each as long as its share of the time lasts; print the counts."""
    found, random = Findings(), Random(seed)
    with in_memory() as folder:
        victim = FileVictim(folder)
        kinds = {"rows": of_rows(victim), "pages": of_pages(victim)}
        if server is not None:
            (folder / "schema").mkdir()
            kinds["rows in PostgreSQL"] = of_rows(SchemaVictim(folder / "schema", server))
        bits = one_bit_of_every_byte(victim.whole, random)
        kinds["bits, one of each byte"] = list(of_bits(victim, bits))
        kinds["bits of headers and indexes"] = list(
            of_bits(victim, bits_of_structure(victim.whole))
        )
        end = time.monotonic() + 60.0 * minutes
        for place, (kind, attempts) in enumerate(kinds.items()):
            until = time.monotonic() + (end - time.monotonic()) / (len(kinds) - place)
            random.shuffle(attempts)
            tally = tried(
                tqdm(attempts, desc=kind, disable=None, leave=False), partial(_is_before, until)
            )
            number, harmless = sum(tally.counts.values()), tally.counts[HARMLESS]
            print(
                f"  {kind}: {number:,} of {len(attempts):,} tried, found by verify "
                f"{tally.counts[FOUND]:,}, harmless {harmless:,}, passed {len(tally.problems)}"
            )
            found.add(Findings(cycles=number, met=number - harmless, problems=tally.problems))
    return found


def _is_before(end: float) -> bool:
    return time.monotonic() < end


def repeat(name: str, rounds: Rounds, share: float, first: int) -> Findings:
    """Attack again and again; what a round leaves is kept if it found something."""
    found = Findings()
    number = max(1, round(share * rounds.in_an_hour))
    for seed in tqdm(range(first, first + number), desc=name, disable=None, leave=False):
        folder = Path(tempfile.mkdtemp(prefix=f"soak-{name}-"))
        try:
            round_found = rounds.attack(folder, seed)
        except Exception as error:  # an error of any kind is a finding
            round_found = Findings(problems=[f"ended: {error!r}"])
        found.add(round_found)
        if round_found.problems:
            print(f"  {name}, seed {seed}, see {folder}: {round_found.problems[0][:600]}")
        else:
            shutil.rmtree(folder)
    return found


def report(name: str, found: Findings, seconds: float) -> bool:
    """Print one line; return whether nothing was wrong."""
    lost, twice = found.count("lost"), found.count("twice", "invented", "sums")
    differ = found.count("replay")
    others = len(found.problems) - lost - twice - differ
    print(
        f"{name}: {found.cycles:,} cycles, {found.acknowledged:,} requests acknowledged, lost {lost}, "
        f"counted twice {twice}, replays that differ {differ} of {found.replays:,}, "
        f"other faults {others} ({found.met:,} faults met, {found.refused():,} answers 503, "
        f"{found.forgotten:,} writes forgotten, {seconds:.0f} s)",
        flush=True,
    )
    for problem in found.problems[:3]:
        print(f"  {problem[:600]}", flush=True)
    return not found.problems


def main() -> int:
    """Attack in all ways, or in those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=HOUR, help="for all attacks together")
    parser.add_argument("--only", action="append", metavar="NAME", help="may be repeated")
    parser.add_argument("--seed", type=int, default=0, help="of the first round")
    given = parser.parse_args()
    share = given.minutes / HOUR
    with ExitStack() as stack:
        rounds = {
            "crashes": Rounds(lambda folder, seed: kill_under_load(folder, seed, CYCLES), 20),
            "windows": Rounds(lambda folder, seed: kill_with_windows(folder, seed, CYCLES), 5),
        }
        rounds |= on_disks() if can_make_disks() else {}
        server = stack.enter_context(running_server()) if find_postgres() else None
        rounds |= on_postgres(server) if server is not None else {}
        alone = 1.0 if given.only == ["damage"] else 0.1
        attacks: dict[str, Callable[[], Findings]] = {
            **{
                name: partial(repeat, name, each, share, given.seed)
                for name, each in rounds.items()
            },
            "damage": partial(damage, alone * given.minutes, given.seed, server),
            "memory": partial(memory, 0.2 * given.minutes),
            "lives": partial(lives, max(20, round(1000 * share))),
            "handed-over": partial(handed_over, max(20, round(200 * share))),
        }
        if unknown := set(given.only or ()) - set(attacks):
            parser.error(f"no such attack: {', '.join(unknown)}; there are {', '.join(attacks)}")
        fine = True
        for name in given.only or attacks:
            began = time.monotonic()
            try:
                found = attacks[name]()
            except Exception as error:  # the others are still to be tried
                found = Findings(problems=[f"ended: {error!r}"])
            fine = report(name, found, time.monotonic() - began) and fine
    if _hash_now() != SOURCES_HASH:
        print(
            "The sources were edited meanwhile, so replays may differ because of that. Run it again."
        )
        return 1
    return 0 if fine else 1


def _hash_now() -> str:
    """Return the hash of the sources as they are now: decisions are derived again by the same only."""
    command = "from structured_bandits.base.sources import SOURCES_HASH; print(SOURCES_HASH)"
    said = subprocess.run([sys.executable, "-c", command], capture_output=True, check=True)
    return said.stdout.decode().strip()


if __name__ == "__main__":
    sys.exit(main())
