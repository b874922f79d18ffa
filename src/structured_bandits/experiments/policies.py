"""Policies in experiment files: the library's by name, the user's own as `policy = "module:Class"`.

The module lies beside the experiment file or on sys.path. To import it is to run it, so that happens
only if the user has allowed it. An experiment holds the name alone and not the class: it can be sent to
other processes, which get sys.path with it and import the module themselves.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from importlib.machinery import PathFinder
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple

import structured_bandits
from structured_bandits.errors import ParameterError, StructuredBanditsError
from structured_bandits.policies.base import POLICIES, Policy
from structured_bandits.policies.guarded import Guarded
from structured_bandits.protocols import PolicyLike
from structured_bandits.structures.base import Structure

#: The keys of a table that are no parameters.
NO_PARAMETERS = ("kind", "policy", "guard")
NOTHING: Mapping[str, Any] = MappingProxyType({})


def keys_of(kind: type[Policy]) -> tuple[str, ...]:
    """Return what a table may say of a policy: its parameters; the horizon is the experiment's."""
    return tuple(name for name in kind.parameter_names() if name != "horizon")


def build_policy(
    spec: dict[str, Any],
    structure: Structure,
    horizon: int,
    usual: Mapping[str, Any] = NOTHING,
) -> PolicyLike:
    """Return the policy that a table of an experiment file describes.

    A file that names no value of a parameter means the default which it had first, so that it plays the
    same rule for ever: of SUCB, SAE and ASAE that of the paper. `usual` are parameters for which the
    table need not give values; one's own policies get those that they have.
    """
    values = {key: value for key, value in spec.items() if key not in NO_PARAMETERS}
    if values.get("reward_range") == "unbounded":  # TOML has no word for None
        values["reward_range"] = None
    policy: PolicyLike
    if "policy" in spec:
        policy = build_own(spec["policy"], values, structure, horizon, usual)
    else:
        kind = POLICIES[spec["kind"]]
        newer = values.get("confidence") == "likelihood"  # sets that have one default only
        former = {} if newer else kind.former_defaults
        policy = library_policy(kind, structure, horizon, {**former, **usual, **values})
    return _guarded(policy, spec["guard"], structure, horizon) if "guard" in spec else policy


def library_policy(
    kind: Any, structure: Structure, horizon: int, values: Mapping[str, Any]
) -> PolicyLike:
    """Return a policy of the library with these parameters, and the horizon if it takes one."""
    if "horizon" in kind.parameter_names():
        values = {**values, "horizon": horizon}
    policy: PolicyLike = kind(structure, **values)
    return policy


def own_code(spec: Mapping[str, Any]) -> list[str]:
    """Return the names of one's own policies in a table: itself, or the fallback of its guard."""
    fallback = spec.get("guard", {}).get("fallback", {})
    return [each["policy"] for each in (spec, fallback) if "policy" in each]


def _guarded(policy: Any, guard: dict[str, Any], structure: Structure, horizon: int) -> PolicyLike:
    """Return a policy with the guard that a table describes: level, explore and a fallback."""
    values = dict(guard)
    if "fallback" in values:
        values["fallback"] = build_policy(values["fallback"], structure, horizon)
    return Guarded(policy, **values)


NAME = re.compile(r"(?P<module>[^\W\d]\w*(?:\.[^\W\d]\w*)*):(?P<maker>[^\W\d]\w*)")
FORM = 'expected "module:Class", the name of a Python module and of a class or function in it'


class Code(NamedTuple):
    """The files that a module consists of, and a hash of what is in them."""

    files: frozenset[Path]
    digest: str


_loaded: dict[str, Code] = {}  # modules that were imported here


def checked_name(name: Any, allowed: bool) -> str:
    """Return the name of a policy's class or function if it is one and code is allowed."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ParameterError(f"policy={name!r}: {FORM}")
    if not allowed:
        raise ParameterError(
            f"policy={name!r}: this would run the Python code of {name.partition(':')[0]}, and a file "
            "may do that only with your leave; look at the code, and if you trust it, say --allow-code"
        )
    return name


def load_code(name: str, folder: Path) -> str:
    """Import the module of such a name, from `folder` first; return the hash of its source.

    A module that was imported here before and has changed since is imported anew.
    """
    module = name.partition(":")[0]
    top = module.partition(".")[0]
    folder = folder.resolve()
    if sys.path[:1] != [str(folder)]:  # in the path, so that other processes find it there
        sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    with errors_of_code(f"importing {module}"):
        code = _code_of(top)
        before = _loaded.get(top, code)
        if before != code:
            _forget(before.files | code.files)
        _loaded[top] = code
        importlib.import_module(module)
    maker_of(name)  # raises now if there is none
    return code.digest


def _forget(files: Collection[Path]) -> None:
    """Forget the modules of these files, so that they are imported anew."""
    for name, module in list(sys.modules.items()):
        if (file := getattr(module, "__file__", None)) and Path(file) in files:
            del sys.modules[name]


def maker_of(name: str) -> Callable[..., Any]:
    """Return the class or function of such a name."""
    module_name, _, attribute = name.partition(":")
    module = importlib.import_module(module_name)
    maker = getattr(module, attribute, None)
    if not callable(maker):
        accepted = ", ".join(_defined_in(module)) or "none"
        raise ParameterError(
            f"policy={name!r}: {module.__file__} has no class or function {attribute!r}; it defines "
            f"{accepted}"
        )
    return maker


def build_own(
    name: str,
    values: Mapping[str, Any],
    structure: Structure,
    horizon: int,
    usual: Mapping[str, Any],
) -> PolicyLike:
    """Return the policy that the class or function of such a name makes.

    It gets `values` by keyword. Parameters called `structure` (or `structure_or_n_arms`), `n_arms` and
    `horizon`, and those in `usual`, are filled in if it has them and `values` do not say otherwise.
    """
    maker = maker_of(name)
    with errors_of_code(f"looking for the parameters of {name}"):
        signature = inspect.signature(maker)
    known = {
        "structure": structure,
        "structure_or_n_arms": structure,
        "n_arms": structure.n_arms,
        "horizon": horizon,
        **usual,
    }
    filled = {key: value for key, value in known.items() if key in signature.parameters}
    arguments = {**filled, **values}
    try:
        signature.bind(**arguments)
    except TypeError as error:
        own = ", ".join(key for key in signature.parameters if key not in filled) or "none"
        raise ParameterError(
            f"policy={name!r}: {error}. Its parameters are {signature}; the table may give {own}"
        ) from None
    with errors_of_code(f"calling {name}"):
        policy: PolicyLike = maker(**arguments)
    return policy


@contextmanager
def errors_of_code(doing: str) -> Iterator[None]:
    """Turn what the user's code raises into an error that says where; ours pass as they are."""
    try:
        yield
    except StructuredBanditsError:
        raise
    except Exception as error:  # whatever it is, the file that names this code is to be told of it
        raise ParameterError(
            f"{doing} failed: {type(error).__name__}: {error}{_line_of(error)}"
        ) from error


def _line_of(error: Exception) -> str:
    """Return the innermost line of the user's code that raised an error; syntax errors name theirs."""
    places = [
        f" ({frame.filename}, line {frame.lineno})"
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(("<", str(Path(structured_bandits.__file__).parent)))
    ]
    return places[-1] if places and not isinstance(error, SyntaxError) else ""


def _defined_in(module: ModuleType) -> list[str]:
    """Return the names of the public classes and functions that a module defines itself."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == module.__name__
    ]


def _code_of(top: str) -> Code:
    """Return the code of a module: its file and those beside it that it imports, or its package."""
    found = PathFinder.find_spec(top) or importlib.util.find_spec(top)
    if found is None or found.origin is None or not Path(found.origin).is_file():  # built in
        raise ParameterError(
            f"there is no module {top!r}: neither a file {top}.py beside the experiment's, nor a "
            "module of that name on sys.path"
        )
    other = getattr(sys.modules.get(top), "__file__", found.origin)
    if top not in _loaded and other != found.origin:
        raise ParameterError(
            f"{found.origin} cannot be imported as {top!r}, which is the name of {other}, too; give "
            "it another name"
        )
    digest = hashlib.sha256()
    files = _sources(Path(found.origin))
    for path in sorted(files):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return Code(frozenset(files), digest.hexdigest())


def _sources(file: Path) -> set[Path]:
    """Return a file and the files beside it that it imports, and so on; of a package all files."""
    found: set[Path] = set()
    waiting = [file]
    while waiting:
        path = waiting.pop()
        if path.name == "__init__.py":
            found |= set(path.parent.rglob("*.py"))
        elif path not in found:
            found.add(path)
            waiting += [beside for name in _imported(path) for beside in _beside(path, name)]
    return found


def _imported(path: Path) -> set[str]:
    """Return the first parts of the names of all modules that a file imports."""
    if path.suffix != ".py":  # an extension module
        return set()
    nodes = list(ast.walk(ast.parse(path.read_bytes(), path.name)))
    names = [each.name for node in nodes if isinstance(node, ast.Import) for each in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return {name.partition(".")[0] for name in names}


def _beside(path: Path, name: str) -> list[Path]:
    """Return the file of a module that lies beside another, if there is one."""
    places = (path.parent / f"{name}.py", path.parent / name / "__init__.py")
    return [place for place in places if place.is_file()]
