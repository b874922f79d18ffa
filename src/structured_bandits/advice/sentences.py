"""The advice in words, for somebody who has never heard of regret."""

from __future__ import annotations

from typing import Any

from structured_bandits.advice.options import Options
from structured_bandits.advice.standings import FAILS, SURVIVES
from structured_bandits.advice.truths import BEST_IS_BAD, WORST_IS_BEST
from structured_bandits.base.text_tables import listed, rounded
from structured_bandits.display.advice_report import ADVISED, TIED, needs_no_policy
from structured_bandits.structures.single_best_arm import no_choice, only_best_arm

Row = dict[str, Any]
OF_ONE_ARM = {
    WORST_IS_BEST: "if the arm that is worst in the structure is best",
    BEST_IS_BAD: "if the arm that is best in the structure is bad",
}
COUNTS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}


def words_of(table: list[Row], blind: str, options: Options) -> str:
    """Return a few plain sentences: what to take, what it costs, and what could not be decided."""
    (chosen,) = (row for row in table if row["role"] == ADVISED)
    horizon, trust, warning = options.horizon, options.trust, no_choice(options.structure)
    only = only_best_arm(options.structure)
    if needs_no_policy(chosen, only):
        return f"{warning} {_price_of_doubt(chosen, table, blind, horizon, only)}"
    sentences = [_take(chosen, table, blind, horizon), _if_wrong(chosen, trust)]
    if warning:
        sentences.insert(0, warning)
    if trust < 1.0:
        better = [
            row for row in table if _is_better(row, chosen) and not needs_no_policy(row, only)
        ]
        sentences += [_better_but(row) for row in better][:1]
    ties = [row["policy"] for row in table if row["role"] == TIED]
    if ties:
        count = COUNTS.get(len(ties) + 1, str(len(ties) + 1))
        names = listed([chosen["policy"], *ties])
        sentences.append(f"The runs do not show which of these {count} is best: {names}.")
    return " ".join(sentences)


def _price_of_doubt(
    chosen: Row, table: list[Row], blind: str, horizon: int, only: str | None
) -> str:
    """Return what it costs not to believe that one arm is best, and what to believe it."""
    reference = next(row for row in table if row["policy"] == blind)
    cost = (
        f"In {horizon:,} pulls {blind} loses {rounded(reference['mean'])} if the knowledge is right, "
        "compared with always pulling the best arm (that is its regret)."
    )
    if not chosen["wrong"]:
        return cost
    stage = _hardest(chosen)
    loss = chosen["wrong"][stage]["mean"]
    if loss == 0.0:
        return f"{cost} However we changed the means, {only} was still best."
    said = f"{chosen['policy']}, which believes the knowledge, loses {rounded(loss)} {_if(stage)}"
    return f"{cost} {said}."


def _take(chosen: Row, table: list[Row], blind: str, horizon: int) -> str:
    """Return what to take and what it costs; this is where regret is explained."""
    name = chosen["policy"]
    reference = next(row for row in table if row["policy"] == blind)
    cost = (
        f"Take {name}: in {horizon:,} pulls it loses {_with_interval(chosen)} of reward on average "
        "compared with always pulling the best arm (that is its regret)"
    )
    if name == blind:
        return f"{cost}. No policy that uses the structure was surely better."
    return (
        f"{cost}. {blind}, which knows nothing of the structure, loses {rounded(reference['mean'])}. "
        f"Of all truths that were tried, {name} does worst on {chosen['worst_truth']}, where it loses "
        f"{rounded(chosen['worst'])}."
    )


def _if_wrong(chosen: Row, trust: float) -> str:
    """Return what happens if the structure is wrong, by the largest error that was tried."""
    if not chosen["wrong"]:
        return "How it does if the structure is wrong was not tried."
    sizes = [stage for stage in chosen["wrong"] if stage not in OF_ONE_ARM]
    stages = [*sizes[-1:], *(stage for stage in OF_ONE_ARM if stage in chosen["wrong"])]
    losses = [f"{_if(each)} it loses {rounded(chosen['wrong'][each]['mean'])}" for each in stages]
    said = f"{losses[0][0].upper()}{'; '.join(losses)[1:]}"
    if trust < 1.0 or chosen["verdict"] == SURVIVES:
        return f"{said}."
    return f"{said}; that does not count here, because you vouch for the structure (trust=1)."


def _is_better(row: Row, chosen: Row) -> bool:
    """Return whether a candidate is better if the structure is right, but fails if it is not."""
    known = row["verdict"] not in (None, SURVIVES) and row["mean_high"] is not None
    return known and bool(row["mean_high"] < chosen["mean"])


def _better_but(row: Row) -> str:
    stage = _hardest(row)
    loss = rounded(row["wrong"][stage]["mean"])
    said = (
        f"{row['policy']} loses only {rounded(row['mean'])} if the structure is right, but {loss} "
        f"{_if(stage)}"
    )
    if row["verdict"] == FAILS:
        return f"{said}: take it if you are sure of the structure (trust=1)."
    return f"{said}; {row['runs']} runs were too few to say whether that is too much."


def _hardest(row: Row) -> str:
    """Return the kind of truths outside the structure on which a policy loses most."""
    return max(row["wrong"], key=lambda stage: row["wrong"][stage]["mean"] or 0.0)


def _if(stage: str) -> str:
    """Return the clause that says how the structure is wrong."""
    return OF_ONE_ARM.get(stage, f"if all means are off by {stage}")


def _with_interval(row: Row) -> str:
    """Return a mean, and where it lies with 95 % confidence if that is known."""
    mean = rounded(row["mean"])
    if row["mean_high"] is None:
        return mean
    return f"{mean} (95 % interval {rounded(row['mean_low'])} to {rounded(row['mean_high'])})"
