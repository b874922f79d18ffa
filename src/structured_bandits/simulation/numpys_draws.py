"""How compiled code calls what NumPy's library draws (`structured_bandits.base.draws`).

A cached engine knows these functions by name only, so each process says first where it has them. What is
used of Numba comes as an argument: this module needs none.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

PREFIX = "structured_bandits_"  # of the names, which all compiled code in a process shares
BINOMIAL = "random_binomial"
#: Bytes in which it notes what only depends on its parameters: 136, and some to spare.
NOTES = 256


class Numba(NamedTuple):
    """What is used of Numba."""

    types: Any
    cgutils: Any
    intrinsic: Any


def calling(function: Callable[..., Any], symbol: str, numba: Numba) -> Callable[..., Any]:
    """Return what compiled code is to do where plain Python calls `function`."""
    kinds = {"float": numba.types.float64, "int": numba.types.int64}
    signature = inspect.signature(function)
    wanted = [kinds[each.annotation] for each in list(signature.parameters.values())[:-1]]
    drawn = kinds[signature.return_annotation]

    @numba.intrinsic  # type: ignore[untyped-decorator]
    def call(typing: Any, bits: Any, numbers: Any) -> Any:
        def write(context: Any, builder: Any, types: Any, values: Any) -> Any:
            state = numba.cgutils.create_struct_proxy(bits)(context, builder, value=values[0])
            passed = [_bit_generator(builder, state, numba.cgutils)]
            given = numba.cgutils.unpack_tuple(builder, values[1])
            for number, kind, want in zip(given, types.args[1], wanted, strict=True):
                passed.append(context.cast(builder, number, kind, want))
            if symbol == BINOMIAL:
                passed.append(_no_notes(builder, numba.cgutils))
            result = context.get_value_type(drawn)
            form = numba.cgutils.ir.FunctionType(result, [each.type for each in passed])
            named = numba.cgutils.get_or_insert_function(builder.module, form, PREFIX + symbol)
            return builder.call(named, passed)

        return drawn(bits, numbers), write

    if not wanted:
        return lambda rng: call(rng.bit_generator, ())
    if len(wanted) == 1:
        return lambda first, rng: call(rng.bit_generator, (first,))
    return lambda first, second, rng: call(rng.bit_generator, (first, second))


def _bit_generator(builder: Any, state: Any, cgutils: Any) -> Any:
    """Return what NumPy's functions ask for uniform numbers, put together from what Numba has of it.

    The last of the five, which gives whole words, is the one for 64 bits here; no draw of ours asks it.
    """
    words, doubles = state.fnptr_next_uint64, state.fnptr_next_double
    parts = [state.state, words, state.fnptr_next_uint32, doubles, words]
    whole = cgutils.alloca_once(builder, parts[0].type, len(parts))
    for place, part in enumerate(parts):
        builder.store(part, cgutils.gep_inbounds(builder, whole, place))
    return whole


def _no_notes(builder: Any, cgutils: Any) -> Any:
    """Return memory for the notes of a binomial draw whose first number says that there are none yet."""
    word = cgutils.ir.IntType(64)
    notes = cgutils.alloca_once(builder, word, NOTES // 8)
    builder.store(word(0), notes)
    return notes
