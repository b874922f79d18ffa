"""Killed at any point, the service has lost nothing that it acknowledged, and counts nothing twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.crash_attacks import kill_under_load, kill_with_windows
from support.rival_attacks import start_a_second
from support.service_process import ServiceProcess
from support.siege import Siege


@pytest.mark.parametrize("seed", [1, 2])
def test_ten_crashes_under_load(tmp_path: Path, seed: int) -> None:
    found = kill_under_load(tmp_path, seed, cycles=10)
    assert found.problems == []
    assert found.acknowledged > 100
    verify = [sys.executable, "-m", "structured_bandits", "verify", "--decisions"]
    subprocess.run([*verify, "--store", tmp_path / "bandits.db"], check=True)


def test_crashes_with_windows_control_and_drawn_order(tmp_path: Path) -> None:
    found = kill_with_windows(tmp_path, seed=3, cycles=4)
    assert found.problems == []
    assert found.acknowledged > 100


def test_a_second_process_ends_and_names_the_owner(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path) as service:
        code, said = start_a_second(service)
        assert code == 3
        assert f"in use by process {service.pid} on " in said
        siege = Siege(service, seed=4)
        siege.load_for(0.2)
        siege.check()
        assert siege.problems == []
