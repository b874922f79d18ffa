"""A server that is told to end leaves its store in order."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SPEC = """horizon = 1000
[structure]
kind = "finite"
means = [[0.8, 0.3], [0.2, 0.7]]
[policy]
kind = "SUCB"
"""


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_after_the_store_is_closed(sent: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "tea.toml").write_text(SPEC)
    command = [sys.executable, "-m", "structured_bandits", "serve", "tea.toml", "--port", "0"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        while not server.stdout.readline().startswith("serving on"):
            assert server.poll() is None
        server.send_signal(sent)
        _, logged = server.communicate(timeout=300)
    assert server.returncode == 0
    assert json.loads(logged.splitlines()[-1])["message"] == "The service has ended."
