"""Oracle of SUCB, ASAE, SAE and ISAE on curves and products, with the sets of `oracles.evidence`.

One decision at a time, nothing planned ahead (docs/notes/mathematics.md 2.22, 4.6 and 4.7).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from oracles.evidence import (
    MP,
    Cell,
    Data,
    Evidence,
    Real,
    TooClose,
    first_highest,
    integrals,
    less,
    root,
)


class Game:
    """Groups of cells, and what has been pulled and paid; rewards[k][j] is that of arm k's j-th pull."""

    def __init__(
        self, groups: Sequence[Sequence[Cell]], rewards: Any, sigma: float | None = None
    ) -> None:
        self.groups, self.rewards, self.sigma = groups, rewards, sigma
        n_arms = sum(len(cells[0].start) for cells in groups)
        self.pulls, self.sums, self.arms = [0] * n_arms, [MP.mpf(0)] * n_arms, list[int]()
        start = self.now()
        self.candidates = [k for k in start.candidates if start.supremum(k) > -MP.inf]

    def now(self) -> Evidence:
        return Evidence(self.groups, self.pulls, self.sums, self.sigma)

    def growing(self, alpha: float) -> Real:
        return MP.mpf(alpha) * MP.log(max(len(self.arms), 1) + 1)

    def play(self, steps: Iterator[int], horizon: int) -> list[int]:
        """The arms up to the first decision on a knife edge."""
        for _ in range(horizon):
            try:
                arm = next(steps)
            except TooClose:
                break
            self.sums[arm] += MP.mpf(float(self.rewards[arm][self.pulls[arm]]))
            self.pulls[arm] += 1
            self.arms.append(arm)
        return self.arms

    def sucb(self, alpha: float = 0.5) -> Iterator[int]:
        while True:
            values = self.now().values(self.growing(alpha))
            if values:
                arms = sorted(values)
                yield arms[first_highest([values[k] for k in arms])]
            else:
                yield min(self.candidates, key=lambda k: (self.pulls[k], k))

    def asae(self, alpha: float = 0.5) -> Iterator[int]:
        while True:
            yield from self.now().wanted(self.growing(alpha)) or self.candidates

    def sae(self, n: int, alpha: float = 1.0, looks: str = "round") -> Iterator[int]:
        active, each = self.candidates, 0
        while True:
            more = 1 if looks == "round" else max(each, 1)
            for _ in range(more):
                yield from active
            each += more
            if len(active) > 1:  # the last one stays
                wanted = self.now().wanted(MP.mpf(alpha) * MP.log(n))
                active = [k for k in active if k in wanted] or active

    def isae(self, rule: str, kappa: float = 0.3, t0: float = 100, c: float = 1, f: float | None = None) -> Iterator[int]:  # fmt: skip
        share = MP.mpf((1 if rule == "value" else 0.2) if f is None else f)
        while True:
            now, (cells,) = self.now(), self.groups
            data, tops = now.data[0], now.tops[0]
            lead = first_highest([value for value, _ in tops])
            h, b = cells[lead].means(tops[lead][1]), cells[lead].arm
            level = -MP.inf if rule == "value" else now.log_n - self.growing(c)
            total = [MP.mpf(0)] * (1 + len(h))  # mass, expected regrets
            rivals = [MP.mpf(0)] * (2 + len(h))  # mass, regret of b, information
            for cell, (value, x) in zip(cells, tops, strict=True):
                if not less(level, value):
                    continue
                low, high = self.inside(cell, data, x, level)
                mean = lambda m, a=cell.arm: [MP.mpf(1), *(m[a] - each for each in m)]  # noqa: E731
                total = list(map(MP.fadd, total, integrals(cell, data, mean, low, high)))
                if cell.arm != b:
                    tell = lambda m, a=cell.arm, b=b: [MP.mpf(1), m[a] - m[b]]  # noqa: E731
                    told = lambda m, tell=tell, h=h: [*tell(m), *self.told(h, m)]  # noqa: E731
                    rivals = list(map(MP.fadd, rivals, integrals(cell, data, told, low, high)))
            if rivals[0] == 0 or (
                rule == "value" and not less(MP.mpf(1), rivals[0] / total[0] * 10**9)
            ):
                yield b
                continue
            info = [each / total[0] for each in rivals[2:]]
            regrets = [each / total[0] for each in total[1:]]
            ratios = [i / (r + share * min(regrets)) for i, r in zip(info, regrets, strict=True)]
            a = first_highest([ratio / max(ratios) for ratio in ratios])
            if rule == "value" and a != b:
                prices = [
                    r / i
                    for k, (r, i) in enumerate(zip(regrets, info, strict=True))
                    if k != b and i > 0
                ]
                stay = (len(self.arms) + t0) * rivals[1] / total[0]
                if less(stay / (kappa * min(prices) * rivals[0] / total[0]), MP.mpf(1)):
                    a = b
            yield a

    def inside(self, cell: Cell, data: Data, x: Real, level: Real) -> tuple[Real, Real]:
        """The part of a cell with a log-likelihood above a level, around its highest place."""
        ends = []
        for end in (MP.mpf(0), MP.mpf(1)):
            out = data.log(cell.means(end)) < level
            ends.append(root(lambda y: data.log(cell.means(y)) - level, x, end) if out else end)
        return ends[0], ends[1]

    def told(self, h: Sequence[Real], m: Sequence[Real]) -> list[Real]:
        """The divergences d(h_k, m_k)."""
        if self.sigma is not None:
            return [(p - q) ** 2 / (2 * MP.mpf(self.sigma) ** 2) for p, q in zip(h, m, strict=True)]
        pairs = [((p, q), (1 - p, 1 - q)) for p, q in zip(h, m, strict=True)]
        return [MP.fsum(p * MP.log(p / q) for p, q in both if p > 0) for both in pairs]
