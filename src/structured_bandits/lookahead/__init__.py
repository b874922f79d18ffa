"""Speed and nothing else: for how many pulls a choice is certain (`base` has the contract)."""

from structured_bandits.lookahead import (
    asae,
    best_arm,
    certain,
    greedy_mle,
    guarded,
    ids,
    imed,
    isae,
    klucb,
    klucbc,
    model_ts,
    moss,
    ossb,
    sucb,
    thompson_sampling,
    tsc,
    ucb,
    ucbc,
    ucbv,
    wagp,
)
from structured_bandits.lookahead.base import (
    Lookahead,
    close,
    lookahead_of,
    plan_certain,
    register,
    resumed_work,
)
from structured_bandits.lookahead.cells import CellsLookahead, register_cells
from structured_bandits.lookahead.streaks import Streak, certain_streak
from structured_bandits.policies.asae import ASAE
from structured_bandits.policies.best_arm import BestArm
from structured_bandits.policies.certain import Certain
from structured_bandits.policies.greedy_mle import GreedyMLE
from structured_bandits.policies.guarded import Guarded, GuardedChoices
from structured_bandits.policies.ids import IDS
from structured_bandits.policies.imed import IMED
from structured_bandits.policies.isae import ISAE
from structured_bandits.policies.klucb import KLUCB
from structured_bandits.policies.klucbc import KLUCBC
from structured_bandits.policies.model_ts import ModelTS
from structured_bandits.policies.moss import MOSS
from structured_bandits.policies.ossb import OSSB
from structured_bandits.policies.sucb import SUCB
from structured_bandits.policies.thompson_sampling import ThompsonSampling
from structured_bandits.policies.tsc import TSC
from structured_bandits.policies.ucb import UCB
from structured_bandits.policies.ucbc import UCBC
from structured_bandits.policies.ucbv import UCBV
from structured_bandits.policies.wagp import WAGP

__all__ = [
    "CellsLookahead",
    "Lookahead",
    "Streak",
    "certain_streak",
    "plan_certain",
    "register",
    "register_cells",
    "resumed_work",
]

OF_THE_LIBRARY = {
    ASAE: asae,
    BestArm: best_arm,
    Certain: certain,
    GreedyMLE: greedy_mle,
    IDS: ids,
    IMED: imed,
    ISAE: isae,
    KLUCB: klucb,
    KLUCBC: klucbc,
    MOSS: moss,
    ModelTS: model_ts,
    OSSB: ossb,
    SUCB: sucb,
    TSC: tsc,
    ThompsonSampling: thompson_sampling,
    UCB: ucb,
    UCBC: ucbc,
    UCBV: ucbv,
    WAGP: wagp,
}
for kind, module in OF_THE_LIBRARY.items():
    register(kind, lookahead_of(module))
register(GuardedChoices, lookahead_of(guarded)._replace(quick_plan=None))
register(
    Guarded,
    Lookahead(
        note=guarded.note,
        memory=guarded.memory,
        prepare=guarded.prepare,
        quick_plan=guarded.quick_plan,
    ),
)
close()
