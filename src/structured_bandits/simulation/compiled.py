"""The only place that imports Numba: the engine and everything it calls, compiled.

Policies, cells and worlds stay plain named tuples. Numba is told, once, that a method of a named
tuple is to be compiled from the class's own Python source, and that the functions marked `compilable`
are to be compiled as they are. Nothing is written twice.

The compiled engine is cached on disk. Numba's cache looks only at the file of the cached function, so
a hash of all sources of the package is part of the key (a closure variable), and what older sources
left behind is removed. Policies, cells or worlds from elsewhere go through an engine that is not
cached: their classes could change without the cache's knowing.
"""

from __future__ import annotations

import contextlib
import gc
import inspect
import re
import sys
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
from numba import njit, types
from numba.core import cgutils, event
from numba.core.codegen import JITCodeLibrary
from numba.core.codegen import ll as llvm  # type: ignore[attr-defined]
from numba.core.cpu import CPUTargetOptions
from numba.core.environment import lookup_environment
from numba.extending import intrinsic, overload, overload_method

from structured_bandits.base.compilable import CHOICES, COMPILABLE, COMPILED_AS, KERNELS, do_nothing
from structured_bandits.base.draws import DRAWS, addresses
from structured_bandits.base.intervals import Intervals
from structured_bandits.base.progress import note_compilation
from structured_bandits.base.sources import SOURCES_HASH
from structured_bandits.base.undocumented import ALLOWED
from structured_bandits.errors import ParameterError, SlowSimulationWarning
from structured_bandits.inference.draws import Sampling
from structured_bandits.inference.likelihood_sets import LikelihoodSets
from structured_bandits.inference.misfit.max_likelihood import Models
from structured_bandits.lookahead.convex_condition import ConvexCondition
from structured_bandits.lookahead.search import LooksAhead
from structured_bandits.policies.best_arm import Finder
from structured_bandits.policies.ossb_targets import Guide
from structured_bandits.policies.playing import moment_of
from structured_bandits.protocols import (
    ChangingWorld,
    CountingWorld,
    InOrder,
    LateWorld,
    PolicyLike,
    StoppingWorld,
    WorldLike,
)
from structured_bandits.simulation import engine
from structured_bandits.simulation.changing import (
    choose_changing,
    follow,
    following,
    plan_changing,
)
from structured_bandits.simulation.copies import copied, copied_whole, copy_into
from structured_bandits.simulation.delayed import play_late, serve
from structured_bandits.simulation.generator import RunStarts, set_generator
from structured_bandits.simulation.linking import waiting_library
from structured_bandits.simulation.numpys_draws import PREFIX, Numba, calling
from structured_bandits.simulation.run_spec import Game, Runs, record_of
from structured_bandits.simulation.warmup import is_ours
from structured_bandits.structures.questions import (
    Cells,
    FittingCells,
    LineCells,
    Spans,
)

PROTOCOLS = (
    PolicyLike,
    LooksAhead,
    ConvexCondition,
    Intervals,
    Sampling,
    Guide,
    Models,
    InOrder,
    WorldLike,
    LateWorld,
    ChangingWorld,
    StoppingWorld,
    CountingWorld,
    Cells,
    FittingCells,
    LineCells,
    Spans,
    LikelihoodSets,
    Finder,
)

# Nobody calls the engine or its parts from C.
PART: Any = {"no_cfunc_wrapper": True}
# Methods take and return records of many arrays, whose copies would cost more than a short plan.
INLINE: Any = {"forceinline": True, **PART}
# Plans that take no memory do without reference counts, which make short ones slower. The option is not
# a documented one; a Numba that does not know it plays on, with counts.
COUNTS = not (ALLOWED and hasattr(CPUTargetOptions, "_nrt"))
WITHOUT_COUNTS: Any = PART if COUNTS else {"_nrt": False, **PART}
# What an engine calls is optimised once, together with it. This rests on what Numba does not document,
# too; without it, a first start takes twice as long.
WAITING = waiting_library(JITCodeLibrary, lookup_environment) if ALLOWED else None


def _register_method(name: str, parameters: str) -> None:
    """Let compiled code call method `name` of any named tuple.

    Numba matches overloads by the names of their parameters, hence the generated signature.
    """
    source = f"def typer({parameters}):\n    return getattr(self.instance_class, {name!r}, None)"
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    overload_method(types.BaseNamedTuple, name, strict=False, jit_options=INLINE)(  # type: ignore[call-arg]
        namespace["typer"]
    )


def _register_choice(
    function: Callable[..., Any], choose: Callable[[type], Callable[..., Any] | None], options: Any
) -> None:
    """Let compiled code call `function`: the one chosen for the class of its first argument."""
    overload(function, strict=False, jit_options=options)(
        lambda first, *others: choose(getattr(first, "instance_class", object))
    )


def _register_function(
    function: Callable[..., Any], loop: Callable[..., Any] | None = None
) -> None:
    """Let compiled code call `function`, compiled from its Python source or from that of a `loop`."""
    overload(function, strict=False, jit_options=PART)(lambda *arguments: loop or function)


def _copying(target: Any, source: Any) -> Callable[..., None] | None:
    """Return how compiled code copies a state: all arrays that can be changed, field by field."""
    if isinstance(target, types.BaseTuple):
        lines = [f"    copy_into(target[{place}], source[{place}])" for place in range(len(target))]
        namespace: dict[str, Any] = {"copy_into": copy_into}
        exec("\n".join(["def copy(target, source):", *lines, "    return"]), namespace)
        return namespace["copy"]
    if isinstance(target, types.Array):
        return _copy_array if target.mutable else do_nothing
    constant = isinstance(target, (types.Number, types.Boolean, types.NoneType))
    return do_nothing if constant else None


def _copy_array(target: Any, source: Any) -> None:
    """Copy number by number: an assignment of all would take memory, in case the two overlap."""
    for place in range(target.size):
        target.flat[place] = source.flat[place]


def _register_loops(
    function: Callable[..., Any], loop_for: Callable[[type], Callable[..., Any]]
) -> None:
    """Let compiled code call the loop for a policy, without counts unless the policy takes memory.

    A function that takes memory cannot be compiled without counts, and says so; nothing goes wrong
    silently.
    """

    def without(kind: type) -> Callable[..., Any] | None:
        return None if getattr(kind, "takes_memory", False) else loop_for(kind)

    def counting(kind: type) -> Callable[..., Any] | None:
        return loop_for(kind) if getattr(kind, "takes_memory", False) else None

    _register_choice(function, without, WITHOUT_COUNTS)
    _register_choice(function, counting, PART)


def compile_kernels() -> None:
    """Let policies that are played in plain Python use compiled loops where they call kernels.

    Numba keeps what it compiled; a kernel's helpers are compiled first, since it calls them by name.
    """
    for each in KERNELS:
        if each.compiled is None and not JIT_DISABLED:
            main, *helpers = each.loops
            names = dict(main.__globals__)
            names.update({helper.__name__: njit(nogil=True)(helper) for helper in helpers})
            linked = FunctionType(main.__code__, names, main.__name__, main.__defaults__)
            each.compiled = njit(nogil=True)(linked)


def _register() -> None:
    methods = {name: each for protocol in PROTOCOLS for name, each in vars(protocol).items()}
    for name, method in methods.items():
        if inspect.isfunction(method) and not name.startswith("_"):
            _register_method(name, ", ".join(inspect.signature(method).parameters))
    for function in COMPILABLE:
        _register_function(function)
    for function, loop in COMPILED_AS:
        _register_function(function, loop)
    _register_draws()
    for function, choose in CHOICES:
        _register_choice(function, choose, INLINE)
    _register_function(engine.run)
    _register_function(engine.run_many)
    _register_loops(engine.play, engine.loop_for)
    _register_loops(serve, lambda kind: play_late)
    _register_loops(follow, following)
    _register_choice(engine.draw_streak, engine.drawing_for, INLINE)
    _register_function(copied, copied_whole)
    overload(copy_into, strict=False, jit_options=PART)(_copying)
    _register_function(copied_whole)


def _register_draws() -> None:
    """Let compiled code draw as NumPy does: by NumPy's own library if it shows how."""
    known = Numba(types, cgutils, intrinsic)
    for symbol, address in addresses().items():
        llvm.add_symbol(PREFIX + symbol, address)
    for function, symbol in DRAWS.items():
        _register_function(function, calling(function, symbol, known) if addresses() else None)


def _load_arrays() -> None:
    """Load what Numba knows of arrays, but not SciPy's linear algebra.

    Numba imports that to see if it is there, which takes a seventh of a start with cached code. It is
    enough to see SciPy: code that multiplies matrices imports it when it is compiled.
    """
    from numba.np import linalg

    if "numba.np.arraymath" not in sys.modules and find_spec("scipy") is not None:
        looks_for_it = linalg.ensure_blas
        linalg.ensure_blas = lambda: None
        try:
            from numba.np import arraymath
        finally:
            linalg.ensure_blas = looks_for_it
        arraymath.ensure_blas = looks_for_it  # type: ignore[attr-defined]


class _Compilations(event.Listener):
    """Tells the bars when the engine is compiled; Numba says nothing if it finds it on the disk.

    While an engine is compiled, and then only, the libraries of all that it calls wait for it, and no
    garbage is collected, of which there is little: looking for it took a tenth of the time. Numba tells
    us while it holds its lock, so nobody else's compilation is touched.
    """

    depth = 0  # of compilations inside compilations
    engine = False  # whether the outermost one is that of an engine
    collects = False  # whether garbage is to be collected again at the end

    def on_start(self, event: Any) -> None:
        """Note that a compilation begins, and let what an engine calls wait."""
        note_compilation(True)
        self.depth += 1
        dispatcher = event.data["dispatcher"]
        if self.depth == 1 and dispatcher.py_func.__module__ in ENGINES:
            self.engine, self.collects = True, gc.isenabled()
            gc.disable()
            if WAITING is not None:
                dispatcher.targetctx.codegen()._library_class = WAITING

    def on_end(self, event: Any) -> None:
        """Note that it ends, also if it has failed."""
        note_compilation(False)
        self.depth -= 1
        if self.depth == 0 and self.engine:
            self.engine = False
            if WAITING is not None:
                del event.data["dispatcher"].targetctx.codegen()._library_class
            if self.collects:
                _leave_to_the_last_collection()
                gc.enable()


def _leave_to_the_last_collection() -> None:
    """Count all objects among the old ones, as if they had been looked at.

    To look at what a compilation leaves behind took a twentieth of the time before a first result; a
    process that ends soon does it at its end. Objects that somebody froze are not to be thawed.
    """
    if gc.get_freeze_count() == 0:
        gc.freeze()
        gc.unfreeze()


def _library_runs(stamp: str, **options: Any) -> Any:
    """Return the compiled engine; a disk cache of it is valid for sources with this stamp only."""

    @njit(nogil=True, **PART, **options)
    def cached_runs(policy, rest, rng, starts, runs):  # type: ignore[no-untyped-def]
        stamp  # noqa: B018  a closure variable is part of Numba's cache key
        game = Game(
            rest.world, rest.horizon, rest.planning, rng, rest.stop, rest.middle, rest.tables
        )
        engine.run_many(policy, game, starts, runs)

    return cached_runs


def _cached_if_possible() -> Any:
    try:
        return _library_runs(STAMP, cache=True)
    except RuntimeError:  # there is no folder to write to
        _say_uncached()
        return _library_runs(STAMP)


def _say_uncached() -> None:
    warnings.warn(
        "compiled code cannot be kept on disk: every start compiles anew, which takes seconds; set "
        "NUMBA_CACHE_DIR to a folder that this process may write to",
        SlowSimulationWarning,
        stacklevel=2,
    )


def _forget_older(folder: Path, stamp: str) -> None:
    """Remove the cache files that other sources left behind; they would pile up over edits."""
    note = folder / "structured_bandits.base.sources"
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        if not note.exists() or note.read_text() != stamp:
            for path in folder.glob(f"{Path(__file__).stem}.*.nb[ic]"):
                path.unlink(missing_ok=True)
            note.write_text(stamp)


#: What cached code rests on; where NumPy's library shows nothing, code that calls it must not be found.
STAMP = (
    f"{SOURCES_HASH} {'calling' if addresses() else 'without'} NumPy{'' if ALLOWED else ', public'}"
)
#: The modules of the functions that are called from Python.
ENGINES = (__name__, engine.__name__, play_late.__module__, follow.__module__)
LOOPS = (engine.play_plans, engine.play_choices, play_late, choose_changing, plan_changing)
JIT_DISABLED = bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]
if not JIT_DISABLED:
    _load_arrays()
    _register()
    event.register("numba:compile", _Compilations())  # type: ignore[no-untyped-call]
    cached_runs = _cached_if_possible()
    if cached_runs.stats.cache_path:
        _forget_older(Path(cached_runs.stats.cache_path), STAMP)
    _counting = {loop: njit(nogil=True, **PART)(loop) for loop in LOOPS}


def library_runs(policy: Any, game: Game, starts: RunStarts, runs: Runs) -> None:
    """Play runs of the library's own policies, worlds and cells: cached on disk."""
    global cached_runs
    try:
        cached_runs(policy, *without_generator(game), starts, runs)
    except OSError:  # the disk is full, or the folder has become read-only; nothing was played yet
        _say_uncached()
        cached_runs = _library_runs(STAMP)
        cached_runs(policy, *without_generator(game), starts, runs)


def without_generator(game: Game) -> tuple[Game, Any]:
    """Return a game and its generator apart: Numba takes long to know a record that holds one."""
    return game._replace(rng=None), game.rng  # type: ignore[arg-type]


def foreign_runs(policy: Any, game: Game, starts: RunStarts, runs: Runs) -> None:
    """Play runs of a policy or world from elsewhere: not cached, and free to take memory."""
    for place, start in enumerate(starts.words):
        set_generator(starts.memory, start)
        state = policy.init()
        loop, memory = engine.loop_and_memory(policy, game)
        try:
            runs.plans[place], runs.empty[place] = _counting[loop](
                policy, state, game, record_of(runs, place), memory
            )
        except numba.core.errors.TypingError as error:
            raise ParameterError(
                f"{type(policy).__name__} in {type(game.world).__name__} does not compile"
                f"{_cause(str(error))}; simulate with engine='python', or see docs/add-a-policy.md, "
                f"'Rules for compiled code'. Numba says: {error}"
            ) from None
        runs.alarms[place] = moment_of(policy, state)


def _cause(said: str) -> str:
    """Return the two commonest causes in plain words: Numba says them in the middle of a page."""
    if found := re.search(r"Untyped global name '(\w+)':.*<class 'function'>", said):
        return (
            f": it calls the plain function {found[1]}; mark {found[1]} with "
            "numba.extending.register_jitable"
        )
    if found := re.search(r"Unknown attribute '(\w+)' of type (\w+)", said):
        return (
            f": compiled code knows no {found[1]!r} of {found[2]}, only fields and the methods that "
            "the engine or a policy calls; make it a field, or a function outside the class"
        )
    return ""


def engine_for(policy: Any, world: Any) -> Any:
    """Return the engine to play `policy` in `world`: cached if all of it is the library's own."""
    if JIT_DISABLED:
        warnings.warn(
            "NUMBA_DISABLE_JIT is set: simulations run in plain Python, which is far slower; unset it",
            SlowSimulationWarning,
            stacklevel=2,
        )
        return engine.run_many
    for record in (policy, world):
        if not hasattr(record, "_fields"):
            raise ParameterError(
                f"{type(record).__name__} is not a NamedTuple, which compiled code needs; "
                "make it one, or simulate with engine='python'"
            )
    return library_runs if is_ours(policy) and is_ours(world) else foreign_runs
