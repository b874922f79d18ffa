"""Setting a generator to the start of a run from inside compiled code.

Numba takes long to get to know a NumPy generator, but many runs can share one if compiled code can set
its state. NumPy gives the address of that state; its layout is that of the C compiler's 128-bit
integers, so it is compared with the public state before it is used. Where the layout is not known, the
runs are played one by one and the state is set in the public way (`known_layout`).
"""

from __future__ import annotations

import ctypes
import sys
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from structured_bandits.base.arrays import Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.base.undocumented import ALLOWED
from structured_bandits.simulation.seeding import Words, public_words, starts_of

KNOWN_NUMPY = 2  # the major version whose generators we have looked into


class Memory(NamedTuple):
    """The memory of a PCG64 generator: state and increment, and the spare half of a number."""

    words: Words  # four
    spare: NDArray[np.uint32]  # is there one, and which


class Layout(NamedTuple):
    """The memory of a generator, and where it has which word of the public state."""

    memory: Memory
    order: Ints


class RunStarts(NamedTuple):
    """A generator for many runs: its memory, and what to write there at the start of each run."""

    memory: Memory
    words: Words  # runs x 4


def fresh_generator() -> np.random.Generator:
    """Return a generator for `run_starts`."""
    return np.random.Generator(np.random.PCG64(0))


def known_layout(rng: np.random.Generator) -> Layout | None:
    """Return where and how `rng` keeps its state, None if that is not known.

    No pointer is followed unless NumPy, the byte order and the size of pointers are ones that we know.
    """
    major = int(np.__version__.split(".")[0])
    familiar = major == KNOWN_NUMPY and sys.byteorder == "little" and sys.maxsize == 2**63 - 1
    if not (ALLOWED and familiar) or type(rng.bit_generator) is not np.random.PCG64:
        return None
    memory = state_memory(rng)
    public = public_words(rng.bit_generator)
    for order in ([0, 1, 2, 3], [1, 0, 3, 2]):
        if [public[place] for place in order] == memory.words.tolist():
            return Layout(memory, np.array(order))
    return None


def run_starts(layout: Layout, seed: int, runs: range, name: str) -> RunStarts:
    """Return how a generator is set to the start of each of these runs of the policy called `name`."""
    words = starts_of(seed, runs, crc32(name.encode()))
    return RunStarts(layout.memory, np.ascontiguousarray(words[:, layout.order]))


def start_of_run(seed: int, run: int, name: str) -> np.random.PCG64:
    """Return the generator of run i of the policy P: SeedSequence(seed, spawn_key=(i, crc32(P)))."""
    return np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(run, crc32(name.encode()))))


@compilable
def set_generator(memory: Memory, start: Words) -> None:
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
