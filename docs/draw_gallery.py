"""Draws the figures of the gallery, docs/gallery (`python docs/draw_gallery.py`).

Each is made by the lines that a reader would write, on the types of customers of the guide
`guides/shop.md` and on small structures of other kinds. About a minute and a half of one core, nearly
all of it for compiling.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

import structured_bandits as sb
from structured_bandits.display.figures import draw_pulls

FOLDER = Path(__file__).parent / "gallery"
TYPES = sb.FiniteStructure(
    [[0.12, 0.04, 0.08, 0.05], [0.03, 0.11, 0.08, 0.02], [0.02, 0.03, 0.07, 0.14]],
    arms=["voucher", "gift", "free delivery", "two for one"],
    models=["students", "families", "tourists"],
)
HORIZON = 10_000


def played() -> sb.Result:
    """Return what five policies did where the customers are families."""
    policies: dict[str, Any] = {
        "UCB": sb.UCB(TYPES),
        "Thompson sampling": sb.ThompsonSampling(4),
        "SUCB": sb.SUCB.paper(TYPES),
        "SAE": sb.SAE.paper(TYPES, horizon=HORIZON),
        "ModelTS": sb.ModelTS(TYPES),
    }
    return sb.simulate(policies, sb.Bernoulli(TYPES.means("families")), HORIZON, runs=200)


def advice() -> sb.Advice:
    """Return advice among few candidates."""
    every = sb.candidates(TYPES, 3000)
    few = {name: every[name] for name in ("ModelTS", "SUCB", "SAE", "UCB")}
    return sb.advise(TYPES, 3000, policies=few, runs=64, progress=False)


def demand() -> sb.CurveStructure:
    """Return three prices whose means depend on one unknown number."""
    return sb.CurveStructure(
        [
            sb.Piece(0.0, 0.5, at_start=[0.9, 0.5, 0.3], at_end=[0.6, 0.5, 0.4]),
            sb.Piece(0.5, 1.0, at_start=[0.4, 0.7, 0.4], at_end=[0.1, 0.5, 0.8], closed="both"),
        ],
        arms=["low price", "middle price", "high price"],
    )


def prices() -> sb.Analysis:
    """Return the theory of nine prices, of which similar ones earn similar sums."""
    places = np.linspace(2.0, 10.0, 9)
    revenue = places / 10 * (0.95 - 0.0095 * places**2)
    names = [f"{price:g} €" for price in places]
    return sb.analyse(sb.lipschitz(places, 0.2, arms=names), revenue)


def figures() -> dict[str, Any]:
    """Return the axes of each figure, by the name of its file."""
    result = played()
    return {
        "regret": result.plot(),
        "regret-quantiles-log": result.plot(log="both", bands="quantiles"),
        "regret-print": result.plot(policies=["UCB", "SUCB", "ModelTS"], style="print"),
        "pulls": draw_pulls(result, TYPES.arm_names),
        "table": sb.analyse(TYPES, "families").plot(HORIZON),
        "curves": sb.analyse(demand(), 0.25).plot(HORIZON),
        "mean-ranges": prices().plot(HORIZON),
        "advice": advice().plot(),
    }


def main() -> None:
    matplotlib.use("Agg")
    FOLDER.mkdir(exist_ok=True)
    for name, axes in figures().items():
        axes.figure.savefig(FOLDER / f"{name}.png", dpi=250 if name.endswith("print") else 90)


if __name__ == "__main__":
    main()
