"""The policies that choose among the models which fit the data, and UCB, each with its oracle."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from oracles import kl_sets
from oracles import policies as naive
from oracles.structures import Trace
from support.cases import Case, draw_case
from support.exactness import Contest

import structured_bandits as sb

FULL_SIZE_EVERY = 200
LAST = FULL_SIZE_EVERY - 1  # not the first: each takes seconds

READINGS = [
    sb.Reading(*choice)
    for choice in product(
        ("recompute", "carry"),
        ("length", "time"),
        ("period", "total"),
        ("truncate", "finish_phase"),
    )
]


def table_case(seed: int, index: int) -> Case:
    return draw_case(seed, index, "finite", full_size=index % FULL_SIZE_EVERY == LAST)


def small_table_case(seed: int, index: int) -> Case:
    """Return a case for an oracle that takes minutes at full size."""
    return draw_case(seed, index, "finite", full_size=False)


def small_case(seed: int, index: int) -> Case:
    """Return tables and curves in turn, for the same reason small."""
    return draw_case(seed, index // 2, ("finite", "curves")[index % 2], full_size=False)


def curve_case(seed: int, index: int) -> Case:
    return draw_case(seed, index, "curves", full_size=index % FULL_SIZE_EVERY == LAST)


def any_case(seed: int, index: int) -> Case:
    """Return tables and curves in turn; of both some have full size."""
    return (table_case, curve_case)[index % 2](seed, index // 2)


Play = Callable[..., Trace]


def ucb(confidence: str, oracle: Play) -> Contest:
    return Contest(
        table_case,
        lambda case: sb.UCB(case.structure, alpha=case.alpha, confidence=confidence),
        lambda case, _, __: oracle(
            case.structure.n_arms, case.rewards.tolist(), case.horizon, alpha=case.alpha
        ),
    )


def sucb(confidence: str, oracle: Play) -> Contest:
    return Contest(
        any_case,
        lambda case: sb.SUCB(case.structure, alpha=case.alpha, confidence=confidence),
        lambda case, _, __: oracle(
            case.oracle, case.rewards.tolist(), case.horizon, alpha=case.alpha
        ),
    )


def sae(confidence: str, oracle: Play) -> Contest:
    return Contest(
        any_case,
        lambda case: sb.SAE.paper(
            case.structure, case.horizon, alpha=case.alpha, beta=case.beta, confidence=confidence
        ),
        lambda case, _, __: oracle(
            case.oracle, case.rewards.tolist(), case.horizon, alpha=case.alpha, beta=case.beta
        ),
    )


def asae(confidence: str, oracle: Play, reading: sb.Reading | None = None) -> Contest:
    """ASAE with one reading of the paper, or with all of them in turn."""

    def reading_in(case: Case) -> sb.Reading:
        return reading or READINGS[case.horizon % len(READINGS)]

    return Contest(
        any_case,
        lambda case: sb.ASAE.paper(
            case.structure,
            alpha=case.alpha,
            beta=case.beta,
            eta=case.eta,
            reading=reading_in(case),
            confidence=confidence,
        ),
        lambda case, _, __: oracle(
            case.oracle,
            case.rewards.tolist(),
            case.horizon,
            alpha=case.alpha,
            beta=case.beta,
            eta=case.eta,
            **reading_in(case)._asdict(),
        ),
    )


def ucbc(confidence: str) -> Contest:
    return Contest(
        small_case,
        lambda case: sb.UCBC(case.structure, alpha=case.alpha, confidence=confidence),
        lambda case, _, __: kl_sets.ucbc(
            case.oracle, case.rewards.tolist(), case.horizon, case.alpha, confidence
        ),
    )


UCB, UCB_KL = ucb("hoeffding", naive.ucb), ucb("kl", kl_sets.ucb_kl)
SUCB, SUCB_KL = sucb("hoeffding", naive.sucb), sucb("kl", kl_sets.sucb_kl)
SAE, SAE_KL = sae("hoeffding", naive.sae), sae("kl", kl_sets.sae_kl)
ASAE, ASAE_KL = asae("hoeffding", naive.asae), asae("kl", kl_sets.asae_kl)

IMPROVED_UCB = Contest(
    table_case,
    lambda case: sb.ImprovedUCB(case.structure, case.horizon),
    lambda case, _, __: naive.improved_ucb(
        case.structure.n_arms, case.rewards.tolist(), case.horizon
    ),
)
WAGP = Contest(
    curve_case,
    lambda case: sb.WAGP(case.structure),
    lambda case, _, arms: naive.wagp(
        case.oracle, case.rewards.tolist(), case.horizon, first_arm=arms[0]
    ),
)
UCBC, UCBC_KL = ucbc("hoeffding"), ucbc("kl")
KLUCBC = Contest(
    small_case,
    lambda case: sb.KLUCBC(case.structure, alpha=case.alpha, c=case.beta - 1.0),
    lambda case, _, __: kl_sets.klucbc(
        case.oracle, case.rewards.tolist(), case.horizon, case.alpha, case.beta - 1.0
    ),
)
