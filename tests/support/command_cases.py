"""Every command with every path that it takes, and what can be wrong with a path.

`USES` has a line for each path that a command reads or writes; `FAULTS` says, by the use that is made of
it, which bad paths there are. A case is a command on one bad path, in a folder of its own in which all
else is as it should be.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from support.no_leave import hand_over
from support.owned import Shop, Time
from support.service_process import SHOP

from structured_bandits.service import wire
from structured_bandits.service.running.lifecycle import new_version

PLANE = 'kind = "linear"\nfeatures = [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]\nbounds = [0.0, 1.0]\n'
EXPERIMENT = """truth = {parameter = [0.3, 0.6]}
structure = "plane.toml"
horizon = 64
runs = 2
[policies.SUCB]
"""
SERVED = 'structure = "types.csv"\nhorizon = 1000\n[policy]\nkind = "SAE"\n'
FILES = {
    "types.csv": "model,A,B\none,0.8,0.2\ntwo,0.3,0.7\n",
    "plane.toml": PLANE,
    "experiment.toml": EXPERIMENT,
    "sweep.toml": EXPERIMENT + "[sweep]\nhorizon = [32, 64]\n",
    "served.toml": SERVED,
}
SILENT = "postgresql://somebody@127.0.0.1:1/bandits"  # nothing listens there


class Use(NamedTuple):
    """A path that a command takes: where it stands in the command, what for, and how its name ends."""

    command: str
    what: str
    suffix: str = ""


#: By command and parameter. A command that takes no path stands here by its own name.
USES = {
    "analyse file": Use("analyse {} --truth one", "read", ".csv"),
    "analyse figure": Use("analyse types.csv --truth one --figure {}", "write", ".svg"),
    "advise file": Use("advise {} --horizon 50", "read", ".csv"),
    "advise out": Use("advise types.csv --horizon 50 --out {}", "write", ".html"),
    "reproduce out": Use("reproduce fig2a --preset fitted --runs 2 --workers 1 --out {}", "fill"),
    "compare file": Use("compare {} --workers 1", "read", ".toml"),
    "compare out": Use("compare experiment.toml --workers 1 --out {}", "fill"),
    "sweep file": Use("sweep {} --workers 1", "read", ".toml"),
    "sweep out": Use("sweep sweep.toml --workers 1 --out {}", "fill"),
    "init folder": Use("init {}", "fill"),
    "serve files": Use("serve {} --port 0", "read", ".toml"),
    "serve store": Use("serve served.toml --port 0 --store {}", "own", ".db"),
    "demo": Use("demo --no-browser --port 0", "nothing"),
    "explore file": Use("explore {} --no-browser", "read", ".csv"),
    "explore out": Use("explore types.csv --html {}", "write", ".html"),
    "token add store": Use("token add shop --store {}", "own", ".db"),
    "token list store": Use("token list --store {}", "look", ".db"),
    "token revoke store": Use("token revoke TOKEN --store {}", "own", ".db"),
    "verify store": Use("verify --store {}", "look", ".db"),
    "backup target": Use("backup {}", "new", ".db"),
    "backup store": Use("backup copy.db --store {}", "look", ".db"),
    "restore source": Use("restore {} --store new.db", "source", ".db"),
    "restore store": Use("restore bandits.db --store {}", "new", ".db"),
    "export target": Use("export {}", "write", ".ndjson"),
    "export store": Use("export out.ndjson --store {}", "look", ".db"),
    "archive folder": Use("archive {}", "fill"),
    "archive store": Use("archive old --store {}", "own", ".db"),
}


class Case(NamedTuple):
    """A command on a bad path, and what the sentence has to say."""

    name: str
    folder: str
    arguments: list[str]
    path: str  # what is to be named
    says: str  # a pattern
    room: int | None = None  # bytes that a file may have, on a disk that is full


class Fault(NamedTuple):
    """Something wrong with a path: how it is made, and why it is refused."""

    make: Callable[[Path, str], str]  # in a folder, with a suffix; returns the path
    says: str
    room: int | None = None


def good(folder: Path, suffix: str, name: str = "good") -> Path:
    """Put a file there as it should be."""
    found = {".db": "bandits.db", ".csv": "types.csv", ".toml": "experiment.toml"}[suffix]
    return Path(shutil.copyfile(folder / found, folder / f"{name}{suffix}"))


def absent(folder: Path, suffix: str) -> str:
    return f"absent{suffix}"


def without_folder(folder: Path, suffix: str) -> str:
    return f"nowhere/else{suffix}"


def shut(folder: Path, suffix: str) -> str:
    return hand_over(good(folder, suffix, "theirs")).name


def in_shut_folder(folder: Path, suffix: str) -> str:
    (folder / "shut").mkdir()
    hand_over(folder / "shut")
    return f"shut/else{suffix}"


def in_folder_to_look_at(folder: Path, suffix: str) -> str:
    (folder / "theirs").mkdir()
    hand_over(folder / "theirs", 0o555)
    return f"theirs/else{suffix}"


def store_to_look_at(folder: Path, suffix: str) -> str:
    (folder / "theirs").mkdir()
    path = folder / "theirs" / f"else{suffix}"
    hand_over(Path(shutil.copyfile(folder / "bandits.db", path)), 0o444)
    hand_over(folder / "theirs", 0o555)
    return f"theirs/else{suffix}"


def a_folder(folder: Path, suffix: str) -> str:
    (folder / f"folder{suffix}").mkdir()
    return f"folder{suffix}"


def below_a_file(folder: Path, suffix: str) -> str:
    return f"types.csv/else{suffix}"


def a_file(folder: Path, suffix: str) -> str:
    return "types.csv"


def garbage(folder: Path, suffix: str) -> str:
    (folder / f"garbage{suffix}").write_bytes(bytes(range(255, 0, -1)) * 40)
    return f"garbage{suffix}"


def foreign(folder: Path, suffix: str) -> str:
    with sqlite3.connect(folder / "foreign.db") as connection:
        connection.execute("CREATE TABLE cats (name TEXT)")
    connection.close()
    return "foreign.db"


def busy(folder: Path, suffix: str) -> str:
    return "busy.db"  # see `Busy`


def with_their_lock(folder: Path, suffix: str) -> str:
    path = good(folder, suffix)
    path.with_name(f"{path.name}.lock").touch()
    hand_over(path.with_name(f"{path.name}.lock"))
    return path.name


def silent(folder: Path, suffix: str) -> str:
    return SILENT


def fine(folder: Path, suffix: str) -> str:
    return good(folder, suffix).name if suffix == ".db" else f"full{suffix}"


def fresh(folder: Path, suffix: str) -> str:
    return f"full{suffix}"


GONE = "does not exist|there is no|No such file or folder|No such file or directory"
LEAVE = "Permission denied|is not readable|needs leave"
FOLDER = (
    "is a directory|it is a folder|Is a directory|is not a file|there already|such a file already"
)
FILE = "Not a directory|does not exist|there is no|is a file|File exists"
FULL = "disk is full|too large|No usable temporary directory"
READ = {
    "missing": Fault(absent, GONE),
    "missing folder": Fault(without_folder, GONE),
    "no right": Fault(shut, LEAVE),
    "no right to the folder": Fault(in_shut_folder, f"{LEAVE}|{GONE}"),
    "a folder": Fault(a_folder, FOLDER),
    "a file for a folder": Fault(below_a_file, FILE),
    "garbage": Fault(garbage, "expected|cannot be read"),
}
WRITE = {
    "missing folder": Fault(without_folder, GONE),
    "no right to the folder": Fault(in_shut_folder, LEAVE),
    "no right to write": Fault(in_folder_to_look_at, LEAVE),
    "a folder": Fault(a_folder, FOLDER),
    "a file for a folder": Fault(below_a_file, FILE),
    "full disk": Fault(fresh, FULL, 0),
}
NEW = {**WRITE, "fuller disk": Fault(fresh, FULL, 40_000)}
FILL = {
    "no right to the folder": Fault(in_shut_folder, LEAVE),
    "no right to write": Fault(in_folder_to_look_at, LEAVE),
    "a file": Fault(a_file, FILE),
    "a file for a folder": Fault(below_a_file, FILE),
    "full disk": Fault(fresh, FULL, 0),
}
ANY_STORE = {
    "missing folder": Fault(without_folder, GONE),
    "no right": Fault(shut, LEAVE),
    "no right to the folder": Fault(in_shut_folder, LEAVE),
    "no right to write": Fault(store_to_look_at, LEAVE),
    "a folder": Fault(a_folder, FOLDER),
    "a file for a folder": Fault(below_a_file, FILE),
    "garbage": Fault(garbage, "not a database|cannot be read"),
    "foreign": Fault(foreign, "not made by structured-bandits"),
    "silent": Fault(silent, "refused"),
}
LOOK = {"missing": Fault(absent, GONE), **ANY_STORE}
OWN = {
    **ANY_STORE,
    "their lock": Fault(with_their_lock, LEAVE),
    "busy": Fault(busy, "it is in use by"),
    "full disk": Fault(fine, FULL, 0),
    "fuller disk": Fault(fine, FULL, 20_000),
}
SOURCE = {
    **READ,
    "no right to write": ANY_STORE["no right to write"],
    "garbage": ANY_STORE["garbage"],
    "foreign": ANY_STORE["foreign"],
}
FAULTS = {
    "read": READ,
    "write": WRITE,
    "new": NEW,
    "fill": FILL,
    "look": LOOK,
    "own": OWN,
    "source": SOURCE,
    "nothing": {"full disk": Fault(fresh, FULL, 0)},
}


def store_to_copy(folder: Path) -> str:
    """Make a store with a version that is closed and a token; return the id of the token."""
    shop = Shop(folder, Time())
    shop.create(SHOP)
    shop.tell((shop.ask_one().id, 1.0))
    shop.call(
        lambda registry: new_version(
            registry.find("shop"), wire.NewVersion(spec={**SHOP, "horizon": 99})
        )
    )
    _, token = shop.registry.add_token("me", "admin", None)
    shop.registry.writer.write_now()
    shop.close()
    return token.id


def cases(place: Path) -> Iterator[Case]:
    """Make the folders of all cases; yield these."""
    pattern = place / "pattern"
    pattern.mkdir()
    token = store_to_copy(pattern)
    for name, text in FILES.items():
        (pattern / name).write_text(text)
    for row, use in USES.items():
        for name, fault in FAULTS[use.what].items():
            folder = place / f"{row} {name}".replace(" ", "-")
            shutil.copytree(pattern, folder)
            path = fault.make(folder, use.suffix)
            words = use.command.replace("TOKEN", token).split()
            arguments = [path if word == "{}" else word for word in words]
            yield Case(f"{row}: {name}", str(folder), arguments, path, fault.says, fault.room)


def make_removable(place: Path) -> None:
    """Give the folders of all cases their rights back, so that they can be removed."""
    for folder, inside, _ in os.walk(place):
        for name in inside:
            (Path(folder) / name).chmod(0o755)
