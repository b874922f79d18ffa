"""Contestants in processes of their own: other libraries in other environments, or without Numba.

The process gets its work as JSON, prints a line of JSON when it is ready, and then plays once for each
line it is sent, printing a line of JSON each time.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from rows import FOLDER

HERE = Path(__file__).parent
PATIENCE = 300  # seconds for an installation

REQUIREMENTS = {  # of each environment
    "FastAPI": ["fastapi", "httptools", "uvicorn", "uvloop"],
    "PyMAB": ["pymab==2.0.1"],
    "river": ["river"],
    "MABWiser": ["mabwiser"],
    "SMPyBandits": ["SMPyBandits==0.9.7", "scipy<1.14", "numpy<2", "tqdm", "setuptools"],
}


class ContestantError(Exception):
    """A contestant that does not install, import or run; the message is its last line."""


def python_of(peer: str) -> Path:
    """Return the interpreter of a peer's environment, made if there is none yet."""
    folder = FOLDER / "venvs" / peer
    ready, wanted = folder / "ready.json", json.dumps(REQUIREMENTS[peer])
    python = folder / "bin" / "python"
    if not ready.exists() or ready.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        print(f"installing {' '.join(REQUIREMENTS[peer])} in {folder}", flush=True)
        _install([sys.executable, "-m", "venv", str(folder)])
        _install([str(python), "-m", "pip", "install", "--quiet", *REQUIREMENTS[peer]])
        ready.write_text(wanted)
    return python


def _install(command: list[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        raise ContestantError(f"not installed in {PATIENCE} s") from None
    except subprocess.CalledProcessError as error:
        raise ContestantError(last_line(error.stderr)) from None


def last_line(text: str) -> str:
    """Return the last line that says something."""
    return next(
        (line.strip() for line in reversed(text.splitlines()) if line.strip()), "no message"
    )


class Contestant:
    """A process that plays when told to; `about` is what it says of itself."""

    def __init__(self, python: Path | str, script: str, work: dict[str, Any]) -> None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        self._errors = FOLDER / f"{Path(script).stem}-{work['name']}.log"
        self._process = subprocess.Popen(
            [str(python), str(HERE / script), json.dumps(work)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors.open("w"),
            text=True,
        )
        self.about = self._answer()

    def play(self, how: str = "") -> dict[str, Any]:
        """Let it play once; return what it says of that."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{how}\n")
        self._process.stdin.flush()
        return self._answer()

    def stop(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _answer(self) -> dict[str, Any]:
        """Return its next line of JSON; libraries may print other lines before."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                answer: dict[str, Any] = json.loads(line)
                return answer
        self._process.wait()
        raise ContestantError(last_line(self._errors.read_text()))
