"""Attacks on the disk below the service: it fails, dawdles, is full, or forgets what was not synced."""

from __future__ import annotations

import errno
import resource
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.crash_attacks import wait_until_it_writes
from support.faulty_disk import FAIL, FOR_EVER, KILL, SLEEP, SYNC, TEAR, WRITE, FaultyDisk
from support.service_load import run_all
from support.service_process import PATIENCE, ServiceProcess
from support.siege import Findings, Siege

SOME = 0.3  # seconds of load before and after a fault


def fail_once(folder: Path, seed: int, calls: int, after: int, number: int = errno.EIO) -> Findings:
    """Let the next write or sync after so many fail, once: those who wait are told, and it goes on."""
    disk = FaultyDisk(folder)
    with ServiceProcess(folder, environment=disk.environment) as service:
        siege = Siege(service, seed)
        disk.plan(calls, FAIL, number, after, times=1)
        siege.load(lambda: (_wait_for(disk), time.sleep(SOME)))
        siege.met += disk.met
        wait_until_it_writes(siege)
        siege.check()
        return siege.findings()


def fail_for_long(folder: Path, seed: int, calls: int, number: int) -> Findings:
    """Let all writes or syncs fail until the disk is mended: nothing is acknowledged meanwhile."""
    disk = FaultyDisk(folder)
    with ServiceProcess(folder, environment=disk.environment) as service:
        siege = Siege(service, seed)
        siege.load_for(SOME)
        disk.plan(calls, FAIL, number, after=3, times=FOR_EVER)
        siege.load(lambda: (_wait_for(disk), time.sleep(SOME)))
        acknowledged = siege.experiment.ledger.acknowledged
        siege.load_for(SOME)
        if siege.experiment.ledger.acknowledged > acknowledged + _repeats(siege):
            siege.problems.append("lost: requests were acknowledged though nothing can be written")
        siege.met += disk.met
        disk.heal()
        wait_until_it_writes(siege)
        siege.check()
        return siege.findings()
