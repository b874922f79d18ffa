"""Compiled code draws what NumPy's generators draw, number for number, whoever does the drawing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit

from structured_bandits.base import draws
from structured_bandits.simulation import compiled

SHARES = (0.0, 1e-12, 0.003, 0.25, 0.5, 0.75, 0.999, 1.0)
COUNTS = (0, 1, 7, 40, 1_000, 10**6, 10**12)
SHAPES = (0.0, 1e-3, 0.5, 1.0, 1.5, 40.0, 1e6)

#: By what is compiled: the parameters to try, and what NumPy's generators call it.
CASES: dict[str, tuple[list[tuple[float, ...]], Callable[..., Any]]] = {
    "draw_binomial": (
        [(share, count) for share in SHARES for count in COUNTS],
        lambda rng, share, count: rng.binomial(count, share),
    ),
    "draw_gamma": ([(shape,) for shape in SHAPES], lambda rng, shape: rng.standard_gamma(shape)),
    "draw_exponential": ([()], lambda rng: rng.standard_exponential()),
    "draw_normal": (
        [(mean, deviation) for mean in (-3.0, 0.0, 1e9) for deviation in (0.0, 0.1, 7.0)],
        lambda rng, mean, deviation: rng.normal(mean, deviation),
    ),
    "draw_chisquare": ([(shape,) for shape in SHAPES[1:]], lambda rng, df: rng.chisquare(df)),
}


def compiled_draws(name: str, arity: int) -> Any:
    """Return a compiled loop over draws of this name."""
    draw = getattr(draws, name)
    if arity == 0:
        return njit(lambda rng, times: [draw(rng) for _ in range(times)])
    if arity == 1:
        return njit(lambda rng, first, times: [draw(first, rng) for _ in range(times)])
    return njit(lambda rng, first, second, times: [draw(first, second, rng) for _ in range(times)])


def test_all_draws_are_tried() -> None:
    assert {function.__name__ for function in draws.DRAWS} == set(CASES)
    assert compiled.JIT_DISABLED is False  # or the tests below compare NumPy with itself


@pytest.mark.parametrize("name", CASES)
def test_the_numbers_are_those_of_the_generator(name: str) -> None:
    parameters, numpys = CASES[name]
    loop = compiled_draws(name, len(parameters[0]))
    ours, theirs = (np.random.Generator(np.random.PCG64(5)) for _ in range(2))
    for each in parameters:
        assert loop(ours, *each, 200) == [numpys(theirs, *each) for _ in range(200)], each
        assert ours.bit_generator.state == theirs.bit_generator.state


def test_numbers_may_come_as_others_of_another_kind() -> None:
    """Whole numbers where C expects others are converted, not reinterpreted."""
    loop = compiled_draws("draw_normal", 2)
    ours, theirs = (np.random.Generator(np.random.PCG64(6)) for _ in range(2))
    assert loop(ours, 3, np.float32(0.5), 5) == [theirs.normal(3, 0.5) for _ in range(5)]


def test_a_library_that_does_not_show_all_of_them_is_not_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(draws.DRAWS, test_all_draws_are_tried, "random_no_such_thing")
    assert draws.addresses.__wrapped__() == {}
