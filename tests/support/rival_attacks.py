"""Attacks with two services at one store: only one of them ever writes."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from random import Random

from support.service_load import Worker, run_all
from support.service_process import PATIENCE, ServiceProcess
from support.siege import Findings, Siege

OWNED_ELSEWHERE = 3  # the exit code


def take_over(folder: Path, seed: int, store: str) -> Findings:
    """Stop the owner in the middle of its work; when another has taken over, let it go on.

    The clients of the first one still wait for answers, and it has requests that it has not read.
    """
    for name in ("first", "second"):
        (folder / name).mkdir()
    first = ServiceProcess(folder / "first", store=store)
    second = ServiceProcess(folder / "second", store=store, options=("--standby",))
    with first:
        siege = Siege(first, seed)
        try:
            siege.load(lambda: _replace(siege, second))
            code = first.wait()
            if code != OWNED_ELSEWHERE:
                siege.problems.append(f"ended: the exit code of the first was {code}")
            siege.check()
        finally:
            second.kill()
        return siege.findings()


def _replace(siege: Siege, second: ServiceProcess) -> None:
    """Let the second take over, wake the first, and let new clients use the second meanwhile."""
    first = siege.service
    time.sleep(0.3)
    os.kill(first.pid, signal.SIGSTOP)
    try:
        second.start()
        siege.service = second
        siege.met += 1
        siege.catch_up()
        siege.look()
    finally:
        os.kill(first.pid, signal.SIGCONT)
    late = [Worker(siege.experiment, Random(place), f"late-{place}") for place in range(2)]
    run_all(late, second, lambda: time.sleep(0.5))


def start_a_second(service: ServiceProcess) -> tuple[int, str]:
    """Start another process at the same store; return its exit code and what it says."""
    other = ServiceProcess(service.folder, store=service.store)
    other.said = service.folder / "second.txt"
    process = other.launch()
    try:
        process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
    return process.returncode, other.said.read_text()
