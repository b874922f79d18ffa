"""Setting a generator to the start of a run from inside compiled code.

Numba takes long to get to know a NumPy generator, but many runs can share one if compiled code can set
its state. NumPy gives the address of that state; its layout is that of the C compiler's 128-bit
integers, so it is compared with the public state before it is used.
"""

from __future__ import annotations

import ctypes
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from structured_bandits.arrays import Ints
from structured_bandits.compilable import compilable
from structured_bandits.errors import StructuredBanditsError

Words = NDArray[np.uint64]
LOW = (1 << 64) - 1


class Memory(NamedTuple):
    """The memory of a PCG64 generator: state and increment, and the spare half of a number."""

    words: Words  # four
    spare: NDArray[np.uint32]  # is there one, and which


class Layout(NamedTuple):
    """The memory of a generator, and where it has which word of the public state."""

    memory: Memory
    order: Ints


class Seats(NamedTuple):
    """A generator for many runs: its memory, and what to write there for each run."""

    memory: Memory
    starts: Words  # runs x 4


def fresh_generator() -> np.random.Generator:
    """Return a generator for `seats`."""
    return np.random.Generator(np.random.PCG64(0))


def layout(rng: np.random.Generator) -> Layout:
    """Return where and how `rng` keeps its state."""
    memory = state_memory(rng)
    return Layout(memory, _order(rng, memory))


def seats(where: Layout, seed: int, runs: range, name: str) -> Seats:
    """Return how a generator is set to the start of each of these runs of the policy called `name`.

    Run i draws from SeedSequence(seed, spawn_key=(i, crc32(name))).
    """
    code = crc32(name.encode())
    starts = np.empty((len(runs), 4), np.uint64)
    for place, run in enumerate(runs):
        sequence = np.random.SeedSequence(seed, spawn_key=(run, code))
        starts[place] = _words(np.random.PCG64(sequence))
    return Seats(where.memory, np.ascontiguousarray(starts[:, where.order]))


@compilable
def take_seat(memory: Memory, start: Words) -> None:
    """Set the generator to the start of a run; word by word, as compiled code takes no memory."""
    for place in range(4):
        memory.words[place] = start[place]
    memory.spare[0] = 0
    memory.spare[1] = 0


def state_memory(rng: np.random.Generator) -> Memory:
    """Return views of the generator's memory: a pointer to 32 bytes, then two 32-bit numbers."""
    address = rng.bit_generator.ctypes.state_address
    pointer = ctypes.c_void_p.from_address(address).value
    words = np.ctypeslib.as_array((ctypes.c_uint64 * 4).from_address(pointer or 0))
    spare = np.ctypeslib.as_array((ctypes.c_uint32 * 2).from_address(address + 8))
    return Memory(words, spare)


def _order(rng: np.random.Generator, memory: Memory) -> Ints:
    """Return where the memory has the low and high words of state and increment."""
    public = _words(rng.bit_generator)
    for order in ([0, 1, 2, 3], [1, 0, 3, 2]):
        if np.array_equal(public[order], memory.words):
            return np.array(order)
    raise StructuredBanditsError(
        f"NumPy {np.__version__} keeps the state of PCG64 in a way this library does not know; "
        "please report it"
    )


def _words(bit_generator: np.random.BitGenerator) -> Words:
    state = bit_generator.state["state"]
    numbers = (state["state"], state["inc"])
    return np.array([part for x in numbers for part in (x & LOW, x >> 64)], dtype=np.uint64)
