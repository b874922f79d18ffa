"""Compiled functions that wait until all of the engine is there, and are then optimised once.

Numba turns every function that compiled code calls into a library of its own: it links in all that the
function calls, optimises it and makes machine code of it, and the caller does all of this again. But
nobody ever calls those functions except compiled code, so only the outermost library needs it, and half
of the time of a first start went into the others. A waiting library keeps what it was given, with each
function shortened by itself. It is linked, optimised and made when somebody wants the address of a
function in it, which for functions that only compiled code calls is never.

The classes are Numba's own and come as arguments: this module needs no Numba.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

#: What is used of Numba's libraries. It is not documented; a Numba without it does as it always did.
NEEDED = (
    "_optimize_functions",
    "_optimize_final_module",
    "_finalize_final_module",
    "_get_module_for_linking",
    "_ensure_finalized",
    "add_linking_library",
    "get_pointer_to_function",
)
ENVIRONMENT = "_ZN08NumbaEnv"  # how the names of environments begin
WRAPPER = "_ZN7cpython"  # the same for functions that Python calls


def waiting_library(numbas: Any, environment_named: Callable[[str], Any]) -> Any:
    """Return a kind of Numba's library `numbas` that waits; None if this Numba is not as we know it.

    `environment_named` finds the environment of a function: the Python objects that it refers to.
    """
    if not all(hasattr(numbas, name) for name in NEEDED):
        return None

    class Waiting(numbas):  # type: ignore[misc]
        made = False

        @property
        def codegen(self) -> Any:
            """What makes the code; before there is any, no environment can be put into it."""
            return self._codegen if self.made else _WithoutEnvironments(self._codegen)

        def _optimize_functions(self, module: Any) -> None:
            """Shorten each function at once: it is linked into several engines, a fifth as long then."""
            _leave_wrappers_alone(module)
            module.data_layout = self._codegen._data_layout
            super()._optimize_functions(_Definitions(module))

        def finalize(self) -> None:
            """Take nothing more; whoever calls the functions links them in."""
            self._raise_if_finalized()
            if hasattr(self, "_reload_init"):  # not in Numba 0.61
                for library in self._linking_libraries:
                    self._reload_init.update(library._reload_init)
            self._finalized = True

        def make(self) -> None:
            """Link in all that is called, optimise it at once, and make machine code."""
            self._ensure_finalized()
            _link_all(self._final_module, self, Waiting)
            self._optimize_final_module()
            self._final_module.verify()
            self.made = True
            self._shared_module = None
            self._finalize_final_module()
            for variable in self._final_module.global_variables:
                if variable.name.startswith(ENVIRONMENT):
                    found = environment_named(variable.name)
                    if found is not None:
                        self._codegen.set_env(variable.name, found)

        def get_pointer_to_function(self, name: str) -> int:
            """Return where a function is, 0 if it is not in this library."""
            self._ensure_finalized()
            if not self.made:
                if not _defines(self._final_module, name):
                    return 0
                self.make()
            return int(super().get_pointer_to_function(name))

        def _get_module_for_linking(self) -> Any:
            """Return what others link in; those of Numba's own kind expect all that is called in it."""
            self._ensure_finalized()
            if not self.made and self._shared_module is None:
                self._shared_module = _for_linking(self._final_module)
                _link_all(self._shared_module, self, Waiting)
            return super()._get_module_for_linking()

    return Waiting


class _WithoutEnvironments:
    """A code generator that puts no environments into code that was not made."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def set_env(self, *unused: Any) -> None:
        """Leave it to `make` of the library that this one is linked into."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)


class _Definitions:
    """A module without its declarations: Numba would set up all passes for each, and find no code."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self.functions = [each for each in module.functions if not each.is_declaration]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def _link_all(module: Any, library: Any, kind: Any) -> None:
    """Link into a library's module all that it calls, each library once."""
    for other in _callers_first(library, kind):
        if other is not library:
            if _waits(other, kind):
                module.link_in(_for_linking(other._final_module))
            else:
                module.link_in(other._get_module_for_linking(), preserve=True)


def _leave_wrappers_alone(module: Any) -> None:
    """Let the functions that Python calls be made as they are.

    They take records apart, once for each call, in long code that would take a seventh of the
    optimiser's time.
    """
    for function in module.functions:
        if function.name.startswith(WRAPPER) and not function.is_declaration:
            function.add_function_attribute("noinline")
            function.add_function_attribute("optnone")


def _callers_first(library: Any, kind: Any) -> list[Any]:
    """Return the library and all that it calls, directly or not, Numba's own kind last.

    A linker takes only what was asked for before, so a caller has to come before whom it calls. Numba's
    memory management is called by all, also by code that does not say so, hence the end.
    """
    seen: set[Any] = set()
    order: deque[Any] = deque()

    def visit(each: Any) -> None:
        if each not in seen:
            seen.add(each)
            for other in reversed(each._linking_libraries if _waits(each, kind) else ()):
                visit(other)
            order.appendleft(each)

    visit(library)
    return sorted(order, key=lambda each: not _waits(each, kind))


def _waits(library: Any, kind: Any) -> bool:
    return isinstance(library, kind) and not library.made


def _for_linking(module: Any) -> Any:
    """Return a copy whose functions may be in several libraries, and may be left out of them."""
    copy = module.clone()
    for function in copy.functions:
        if not function.is_declaration and function.linkage.name == "external":
            function.linkage = "linkonce_odr"
    return copy


def _defines(module: Any, name: str) -> bool:
    return any(each.name == name and not each.is_declaration for each in module.functions)
