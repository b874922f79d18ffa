"""The size and shape of the code in numbers, for this checkout or another one.

    python tools/figures_of_the_code.py [CHECKOUT]

Code lines are lines without blanks, comments and docstrings. A *crossing* is a call from one module of
the package into another one; crossings are counted by tracing one call each, after a first one that
loads and caches what it needs. How long `make test` takes is printed by itself.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve()
PACKAGE = "structured_bandits"
DOCS = {".md", ".ipynb"}


class Module(NamedTuple):
    """A file of the package, parsed."""

    name: str
    tree: ast.Module
    lines: list[str]


def modules(checkout: Path) -> list[Module]:
    """Return all modules of the package, by their dotted names below it."""
    root = checkout / "src" / PACKAGE
    found = []
    for path in sorted(root.rglob("*.py")):
        name = ".".join(path.relative_to(root).with_suffix("").parts)
        text = path.read_text()
        found.append(Module(name, ast.parse(text), text.splitlines()))
    return found


def code_lines(module: Module) -> int:
    """Return the number of lines that are neither blank, comment nor docstring."""
    documented: set[int] = set()
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(module.tree):
        if isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            documented |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return sum(
        bool(line.strip()) and not line.lstrip().startswith("#") and number not in documented
        for number, line in enumerate(module.lines, 1)
    )


def imported(module: Module, known: set[str]) -> Iterator[str]:
    """Yield the modules of the package that a module imports."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE:
            place = (node.module or "")[len(PACKAGE) + 1 :]
            if place in known:
                yield place
            for alias in node.names:
                inner = f"{place}.{alias.name}".lstrip(".")
                if inner in known:
                    yield inner


def sizes(checkout: Path) -> dict[str, Any]:
    """Return files, code lines, modules with one importer, names used twice, and KB of docs."""
    found = modules(checkout)
    known = {module.name for module in found}
    lines = Counter[str]()
    files = Counter[str]()
    importers: dict[str, set[str]] = defaultdict(set)
    classes: dict[str, set[str]] = defaultdict(set)
    stems = Counter[str]()
    for module in found:
        room = module.name.split(".")[0] if "." in module.name else "(top)"
        lines[room] += code_lines(module)
        files[room] += 1
        for other in imported(module, known):
            importers[other].add(module.name)
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].add(module.name)
        if not module.name.endswith("__init__"):
            stems[module.name.split(".")[-1]] += 1
    plain = [name for name in known if not name.endswith("__init__")]
    docs = [
        p for p in (checkout / "docs").rglob("*") if p.suffix in DOCS and "_build" not in p.parts
    ]
    return {
        "files": len(found),
        "code lines": sum(lines.values()),
        "modules with one importer": sum(len(importers[name]) == 1 for name in plain),
        "file names used more than once": sum(count > 1 for count in stems.values()),
        "class names used more than once": sum(len(places) > 1 for places in classes.values()),
        "KB of docs": round(sum(path.stat().st_size for path in docs) / 1000),
        "by package": {room: f"{files[room]} files, {lines[room]} lines" for room in sorted(files)},
    }


TRACED = r"""
import sys, json
from pathlib import Path
import structured_bandits as sb
root = str(Path(sb.__file__).parent)

def crossings(call):
    seen, count = set(), 0
    def trace(frame, event, arg):
        nonlocal count
        if event != "call":
            return
        place = frame.f_code.co_filename
        if not place.startswith(root):
            return
        seen.add(place)
        back = frame.f_back
        if back is not None and back.f_code.co_filename.startswith(root):
            count += back.f_code.co_filename != place
    sys.setprofile(trace)
    try:
        call()
    finally:
        sys.setprofile(None)
    return {"modules": len(seen), "crossings": count}

table = [[.02, .05, .11, .03], [.09, .04, .02, .06], [.03, .12, .05, .02]]
structure = sb.FiniteStructure(table)

def agent_after(pulls):
    agent = sb.Agent(sb.SUCB(structure), seed=1)
    for _ in range(pulls):
        decision = agent.ask()
        agent.tell(decision.id, 0.0)
    return agent

told = {}
policy = sb.SUCB(structure)
state = policy.init()
rng = __import__("numpy").random.default_rng(0)
now = sb.Now(0, 1)
if hasattr(policy, "choose"):
    decide = lambda: policy.choose(state, now, rng)
else:
    decide = lambda: policy.streak(state, now, rng)
decide()
told["a decision of SUCB"] = crossings(decide)
agent = agent_after(30)
told["Agent.ask"] = crossings(lambda: told.setdefault("d", agent.ask()))
told["Agent.tell"] = crossings(lambda: agent.tell(told.pop("d").id, 1.0))

import warnings
warnings.simplefilter("ignore")
sb.advise(structure, 200, seconds=1.0, seed=1)
told["advise"] = crossings(lambda: sb.advise(structure, 200, seconds=1.0, seed=1))

import asyncio, tempfile, threading
try:
    from structured_bandits.service.http.api import application
    from structured_bandits.service.http.trusted_hosts import Hosts
except ModuleNotFoundError:
    from structured_bandits.service.http.api import application
    from structured_bandits.service.http.trusted_hosts import Hosts
from support.asgi import answer, scope_of
from support.owned import Shop
from support.service_process import SHOP

def ask_over_http(app):
    headers = (("host", "127.0.0.1"), ("content-type", "application/json"))
    scope = scope_of("POST", "/v1/experiments/shop/ask", headers)
    reply = asyncio.run(answer(app, scope, [b"{}"]))
    assert reply.status == 200, reply

with tempfile.TemporaryDirectory() as folder:
    shop = Shop(Path(folder))
    shop.create(SHOP)
    owner = shop.registry if hasattr(shop, "registry") else shop.owner  # its older name
    app = application(owner, Hosts("127.0.0.1"))
    ask_over_http(app)
    told["an ask over HTTP"] = crossings(lambda: ask_over_http(app))
    shop.close()
print(json.dumps(told))
"""


def traced(checkout: Path) -> dict[str, Any]:
    """Return the crossings of a decision, a tell and advice, in a process of that checkout."""
    places = [str(checkout / "src"), str(checkout / "tests")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    run = subprocess.run(
        [sys.executable, "-c", TRACED], env=environment, capture_output=True, text=True, check=False
    )
    if run.returncode:
        return {"failed": run.stderr.splitlines()[-1]}
    return dict(json.loads(run.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("checkout", nargs="?", type=Path, default=HERE.parent.parent)
    checkout = parser.parse_args().checkout.resolve()
    for name, value in {**sizes(checkout), **traced(checkout)}.items():
        if isinstance(value, dict) and name == "by package":
            print(f"{name}:")
            for room, size in value.items():
                print(f"  {room}: {size}")
        else:
            print(f"{name}: {value}")


if __name__ == "__main__":
    main()
