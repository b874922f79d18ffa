"""`sb.advise`: which policy to take on a structure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from structured_bandits.advice.advice import Advice, advice_of
from structured_bandits.advice.candidates import given_candidates, library_candidates
from structured_bandits.advice.evaluation import TimeBudget
from structured_bandits.advice.options import Options, checked_options
from structured_bandits.advice.race import Race
from structured_bandits.advice.truths import (
    FromList,
    Truths,
    named_truths,
    posterior_of,
    truths_of,
)
from structured_bandits.agents.results import checked_results
from structured_bandits.errors import ParameterError
from structured_bandits.inference.misfit.build import misfit_test
from structured_bandits.inference.misfit.e_value import fresh_look_memory, look_at, watching_of
from structured_bandits.inference.misfit.report import Misfit, misfit_of
from structured_bandits.protocols import Seen
from structured_bandits.structures.base import Structure

REFUTED = "it relies on the structure, which your data refute"


def advise(
    structure: Structure,
    horizon: int,
    family: str = "bernoulli",
    trust: float = 0.5,
    prior: Any = None,
    data: tuple[Any, Any] | None = None,
    truths: Sequence[Any] | None = None,
    policies: Mapping[str, Any] | None = None,
    wrong: Sequence[float] = (0.02, 0.05),
    level: float = 0.05,
    runs: int | None = None,
    seconds: float = 60.0,
    seed: int = 0,
    progress: bool | None = None,
) -> Advice:
    """Say which policy to take on a structure for `horizon` pulls, after playing all that can use it.

    Every policy of the library that can work with the structure is played (`sb.candidates`): on truths
    drawn from the structure, on those that theory calls the hardest, and on truths just outside. A
    policy that is clearly worse than the leader is dropped early. The numbers of those that are left
    come from fresh runs, because the runs that chose them make them look better than they are.

    - `family`: "bernoulli" (rewards of 0 and 1, or of the two ends of the structure's range) or
      "gaussian" with half the width of that range as their deviation.
    - `trust`: how far you believe the structure, from 0 to 1, as `ModelTS` takes it. With trust 1 the
      policy with the lowest mean regret is advised. With less, only policies count that survive if the
      structure is wrong, by a little on all arms or by much on one: their regret must stay below twice
      that of Thompson sampling, which knows nothing of the structure.
    - `prior`: weights of models, as `ModelTS` takes them. `data`: (pulls, sums) seen so far, one number
      per arm, which turn the prior into a posterior; let the agent learn the same data. If the data
      refute the structure (`Agent.misfit`), only policies that do without it or doubt it are compared.
    - `truths`: models, or vectors of means, to play on instead of drawn ones.
    - `policies`: the policies to compare, by name, instead of the library's;
      `{**sb.candidates(structure, horizon), "mine": …}` adds to them. Thompson sampling is always
      played, for comparison.
    - `wrong`: by how much all means are off in the truths outside the structure. Besides, the arm that
      is worst in the structure is best, or the best one is bad. With `()` nothing outside is tried.
    - `level`: with at most this probability the best candidate is dropped by mistake, as far as the
      approximate tests hold.
    - `runs`: how often each candidate is played in the race, 64 times or more; by default as often as
      the time allows, up to 2,048.
    - `seconds`: how long to play; compiling comes on top and is shown. The same `runs` and `seed` give
      the same advice unless the time is over before.
    - `progress`: whether to show a bar on standard error. None shows one if that is a terminal.
    """
    options = checked_options(
        structure,
        horizon,
        family=family,
        trust=trust,
        prior=prior,
        wrong=wrong,
        level=level,
        runs=runs,
        seconds=seconds,
        seed=seed,
    )
    seen = None if data is None else _checked_data(data, options)
    given = [] if truths is None else named_truths(structure, truths)
    inside: Truths = FromList(given) if given else truths_of(options, seen)
    if policies is None:
        learned = None if seen is None else posterior_of(options, seen)
        several, refused = library_candidates(options, learned)
    else:
        several, refused = given_candidates(policies, options), {}
    misfit = None if seen is None else misfit_of_data(options, seen)
    if misfit is not None and misfit.refuted():
        refused |= {each.name: REFUTED for each in several if not each.doubts}
        several = [each for each in several if each.doubts]
    with TimeBudget(options.seconds, progress) as budget:
        race = Race(options, several, inside, budget)
        race.run(given)
    return advice_of(race, refused, misfit)


def misfit_of_data(options: Options, seen: Seen) -> Misfit | None:
    """Return how much the data speak against the structure, None if it is too large for that."""
    test = misfit_test(options.structure, *options.ends, options.sigma)
    if test is None:
        return None
    watching = watching_of(seen)
    look = look_at(test, seen.pulls, seen.sums, fresh_look_memory(test))
    watching.largest[0], watching.times[0] = max(look.log_e, 0.0), seen.pulls.sum()
    return misfit_of(options.structure, test, watching)


def _checked_data(data: Any, options: Options) -> Seen:
    """Return pulls and sums seen so far, a number for each arm."""
    if not isinstance(data, (tuple, list)) or len(data) != 2:
        raise ParameterError(
            f"data={data!r}: expected a pair (pulls, sums), a number per arm in each"
        )
    pulls, sums = data
    return checked_results(pulls, sums, None, options.structure.n_arms, options.ends)
