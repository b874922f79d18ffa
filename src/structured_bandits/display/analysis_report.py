"""The report of `structured-bandits analyse`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from structured_bandits.base.text_tables import (
    bound_text,
    few,
    number,
    paragraph,
    plain_data,
    rewards_text,
    table_text,
)
from structured_bandits.protocols import PolicyLike
from structured_bandits.simulation.result import Result
from structured_bandits.structures.base import labels_of
from structured_bandits.structures.single_best_arm import no_choice
from structured_bandits.theory.analysis import Analysis

MOST_ARMS = 30  # rows of the table of arms
COLUMNS = """\
- gap: how far the arm's mean is below the best one. Each pull of the arm costs this much, and the regret
  is the sum of these costs.
- hardest model: an arm can be dropped when rewards have refuted every model in which it is best. Among
  these models, this one is the hardest to refute because it differs least from the truth.
- differs by: how much that model differs from the truth, and the arm that shows it best. Only the
  helpers count here.
- optimistic: the same difference if only models that promise more than the truth are considered. These
  are the models that SUCB has to refute.
- last phase: the last phase, counted from 0, in which SAE may still play the arm. SAE plays in phases,
  and each phase detects differences half as large as the phase before.
- helpers: the arms that SAE is sure to play until it drops the arm."""
LIMIT = """\
- (a limit): there are models as close to this one as you like, but it is not itself a model in which the
  arm is best."""
BOUNDS = """\
Proven bounds on the regret. A row with ≤ says that the regret of this policy is at most so large. A row
with ≥ says that the regret of every policy that does well in all models is at least about so large in
the long run; at this number of pulls it may be smaller. (Only Theorem 6 speaks of this number of pulls.
It is about policies that converge super-fast, as the paper calls it.)
- value: the bound with the right constants.
- printed: what the paper prints, where an erratum corrects it (docs/notes/errata.md explains each
erratum).
- holds: whether the conditions of the theorem are met."""


def analysis_data(
    analysis: Analysis,
    horizon: int,
    beta: float,
    family: str,
    reward_range: tuple[float, float] | None = None,
    policies: Mapping[str, PolicyLike] | None = None,
    played: Result | None = None,
) -> dict[str, Any]:
    """Return everything the report says as plain data; infinity is "inf", None stands for unknown.

    Rewards lie in the `reward_range`, by default the one that the structure declares. `policies` are
    those whose bounds it tells (default: with the parameters of the theorems), `played` are simulations
    of what it is about.
    """
    from structured_bandits.theory.upper_bounds import theorem_policies

    structure = analysis.structure
    ends = reward_range or structure.range_of_rewards
    if policies is None:
        policies = theorem_policies(structure, horizon, ends)
    width = ends[1] - ends[0]
    sets = analysis.elimination(horizon, beta, width)
    classes = analysis.classes(horizon, beta, largest_gap=width)
    lower = analysis.lower_bound(family, 0.5 * width, reward_range=ends)
    return plain_data(
        {
            "structure": repr(structure),
            "warning": no_choice(structure) or None,
            "truth": _truth(analysis),
            "best_arm": structure.arm_names[analysis.best_arm],
            "horizon": horizon,
            "beta": beta,
            "reward_range": list(ends),
            "ties": [
                structure.arm_names[arm] for arm in analysis.other_arms if not analysis.gaps[arm]
            ],
            "arms": [
                _arm(analysis, arm, sets.last_phase, sets.helpers)
                for arm in range(structure.n_arms)
            ],
            "gamma_star": analysis.gamma_star,
            "rival": _nearest(analysis, analysis.rival),
            "constant_regret_possible": analysis.constant_regret_possible,
            "confusing_models": [structure.model_name(m) for m in analysis.confusing_models],
            "self_identifiable": analysis.self_identifiable,
            "decoys": [structure.arm_names[arm] for arm in analysis.decoys],
            "classes": {
                "worst_case": classes.worst_case,
                "optimistic": classes.optimistic,
                "constant_regret": classes.constant_regret,
                "assumption1": classes.assumption1,
                "failing": {
                    name: [structure.arm_names[arm] for arm in arms]
                    for name, arms in classes.failing.items()
                },
            },
            "lower_bound": {
                "family": family,
                "constant": lower.constant,
                "allocation": dict(
                    zip(structure.arm_names, lower.allocation.tolist(), strict=True)
                ),
                "binding": [structure.model_name(model) for model in lower.binding],
            },
            "simulated": None if played is None else _simulated(played),
            "largest_regret": horizon * float(analysis.gaps.max()),
            "random_regret": horizon * float(analysis.gaps.mean()),
            "bounds": analysis.bound_rows(horizon, policies, width**2),
        }
    )


def _simulated(played: Result) -> dict[str, Any]:
    summary = played.summary()[["mean", "low", "high", "median", "q95"]].sort_values("mean")
    return {
        "world": played.info["world"],
        "runs": played.runs,
        "seed": played.info["seed"],
        "regret": summary.to_dict(orient="index"),
    }


def _truth(analysis: Analysis) -> str | None:
    """Return what the true model is called, None if only its means are known."""
    if analysis.truth is None or isinstance(analysis.truth, (str, int, float)):
        return None if analysis.truth is None else str(analysis.truth)
    return analysis.structure.model_name(analysis.truth)


def _arm(
    analysis: Analysis, arm: int, last_phase: dict[int, float], helpers: dict[int, tuple[int, ...]]
) -> dict[str, Any]:
    names = analysis.structure.arm_names
    ever_best = arm in analysis.best_arms
    using = helpers.get(arm)
    return {
        "arm": names[arm],
        "mean": float(analysis.means[arm]),
        "gap": float(analysis.gaps[arm]),
        "ever_best": ever_best,
        "hardest": _nearest(analysis, analysis.hardest(arm, using)) if using else None,
        "hardest_optimistic": _nearest(analysis, analysis.hardest(arm, using, optimistic=True))
        if using
        else None,
        "last_phase": last_phase.get(arm) if ever_best else None,
        "helpers": [names[helper] for helper in using] if using else None,
    }


def _nearest(analysis: Analysis, nearest: Any) -> dict[str, Any] | None:
    if nearest.model is None:
        return None
    return {
        "gap": nearest.gap,
        "model": analysis.structure.model_name(nearest.model),
        "attained": nearest.attained,
        "told_by": analysis.structure.arm_names[nearest.told_by],
    }


def analysis_text(data: dict[str, Any]) -> str:
    """Return the report for the terminal."""
    return "\n\n".join(
        [
            f"{data['structure']}\n"
            + (f"true model: {data['truth']}; " if data["truth"] else "")
            + f"best arm: {data['best_arm']}; horizon: {data['horizon']:,} pulls; "
            f"SAE's parameter beta: {data['beta']:g}",
            *([paragraph(data["warning"])] if data["warning"] else []),
            _arms_text(data),
            *([] if data["simulated"] is None else [_simulated_text(data)]),
            regret_text(data),
            _classes_text(data["classes"]),
            lower_text(data),
            _bounds_text(data),
        ]
    )


def _arms_text(data: dict[str, Any]) -> str:
    rows = [
        [
            "arm",
            "mean",
            "gap",
            "hardest model",
            "differs by",
            "optimistic",
            "last phase",
            "helpers",
        ]
    ]
    arms = sorted(data["arms"], key=lambda arm: (not arm["ever_best"], arm["gap"]))
    for arm in arms[:MOST_ARMS]:
        rows.append(
            [arm["arm"], number(arm["mean"]), number(arm["gap"]), *_hardness_cells(arm, data)]
        )
    more = len(arms) - MOST_ARMS
    note = f"\n… and {more} more arms (--json lists all of them)" if more > 0 else ""
    limit = f"\n{LIMIT}" if any("(a limit)" in row[3] for row in rows) else ""
    return f"{table_text(rows, widest=30)}{note}\n\n{COLUMNS}{limit}"


def _hardness_cells(arm: dict[str, Any], data: dict[str, Any]) -> list[str]:
    if not arm["ever_best"]:
        return ["best in no model: never played", "", "", "", ""]
    if arm["arm"] == data["best_arm"]:
        return ["the best arm", "", "", "never dropped", ""]
    hardest, optimistic = arm["hardest"], arm["hardest_optimistic"]
    if hardest is None:
        return ["as good as the best arm", "", "", "never dropped", ""]
    limit = "" if hardest["attained"] else " (a limit)"
    return [
        f"{hardest['model']}{limit}",
        f"{number(hardest['gap'])} on {labels_of([hardest['told_by']])[0]}",
        number(optimistic["gap"]) if optimistic else "none",
        f"{arm['last_phase']:g}",
        few(arm["helpers"], most=3),
    ]


def _simulated_text(data: dict[str, Any]) -> str:
    simulated = data["simulated"]
    runs = simulated["runs"]
    rows = [["policy", "mean regret", "95 % interval of the mean", "95 % of the runs stay below"]]
    for name, row in simulated["regret"].items():
        interval = "" if row["low"] is None else f"{row['low']:,.1f} to {row['high']:,.1f}"
        rows.append([name, f"{row['mean']:,.1f}", interval, f"{row['q95']:,.1f}"])
    return (
        "What will it cost? The regret is how much less the pulls earn than as many pulls of the best "
        f"arm would.\nIn a simulation each policy played {runs:,} run{'s' if runs > 1 else ''} of "
        f"{data['horizon']:,} pulls ({_rewards_text(data)}, seed {simulated['seed']}):\n\n"
        f"{table_text(rows)}\n\n"
        f"For comparison: pulling arms at random costs {data['random_regret']:,.1f}, pulling only the "
        f"worst arm costs {data['largest_regret']:,.1f}."
    )


def _rewards_text(data: dict[str, Any]) -> str:
    low, high = data["reward_range"]
    return rewards_text(data["lower_bound"]["family"], 0.5 * (high - low))


def regret_text(data: dict[str, Any]) -> str:
    """Say whether the regret can stop growing, and whether a greedy policy can be deceived."""
    if data["ties"]:
        tied = labels_of([data["best_arm"], *data["ties"]])
        return (
            f"In the true model several arms are best: {few(tied)}. The "
            "theorems assume a single best arm."
        )
    if data["rival"] is None:
        return "Every model has the same best arm, so there is nothing to learn."
    return "\n".join(map(paragraph, [_constant_text(data), _greedy_text(data)]))


def _constant_text(data: dict[str, Any]) -> str:
    rival, gamma = data["rival"], data["gamma_star"]
    if not _vanishes(gamma):
        return (
            "Constant regret is possible: the regret can stop growing. Pulls of the best arm refute "
            "every model with another best arm, since all of these give it a mean that is off by "
            f"{number(gamma)} or more (Gamma_*; the nearest is model {rival['model']})."
        )
    if data["constant_regret_possible"]:
        return (
            "Constant regret is neither ruled out nor guaranteed: no model with another best arm gives "
            "the best arm its true mean, but some come as close to it as you like (Gamma_* = 0)."
        )
    confusing = data["confusing_models"]
    models = f"the model{'' if len(confusing) == 1 else 's'} {few(confusing)}"
    if _vanishes(data["lower_bound"]["constant"]):
        return (
            f"Constant regret is not ruled out: pulls of the best arm never refute {models}, but "
            "another arm can pay a reward that is impossible there, and one such reward is enough."
        )
    some = "for example " if data["structure"].startswith("Poly") else ""
    return (
        "Constant regret is impossible: the regret of a policy that does well in every model keeps "
        f"growing. Pulls of the best arm never refute {some}{models}, so other arms "
        "must be tried again and again."
    )


def _greedy_text(data: dict[str, Any]) -> str:
    if data["decoys"]:
        return (
            "A greedy policy, which always plays the arm that looks best, can fail: it may settle on "
            f"{few(labels_of(data['decoys']))}, because nothing that it sees there contradicts it (a "
            "decoy)."
        )
    if data["structure"].startswith("Finite"):
        return (
            "A greedy policy, which always plays the arm that looks best, finds the best arm in the "
            "end: there is no decoy."
        )
    return (
        "There is no decoy, an arm on which a greedy policy may settle because nothing that it sees "
        "there contradicts it; but some models may come close to having one."
    )


def _vanishes(value: float | str) -> bool:
    """Return whether a number is shown as 0."""
    return not isinstance(value, str) and number(value) == "0"


def _classes_text(classes: dict[str, Any]) -> str:
    meaning = {
        "worst_case": "worst-case structures, on which SUCB's regret has the best possible order",
        "optimistic": "optimistic structures, on which SAE's bound is of the order of SUCB's or better",
        "constant_regret": "worst-case structures with constant regret, to which Theorem 6 applies",
    }
    lines = ["Does the structure belong to the classes that the paper defines?"]
    for name, words in meaning.items():
        failing = classes["failing"][name]
        lines.append(
            f"  {words}: "
            + ("yes" if classes[name] else f"no, because of {few(labels_of(failing), 3)}")
        )
    return "\n".join(lines)


def lower_text(data: dict[str, Any]) -> str:
    """Return the sentences on the lower bound."""
    lower = data["lower_bound"]
    head = (
        "What every policy that does well in all models loses in the long run, after n pulls "
        f"(Graves–Lai, {_rewards_text(data)}):\n  "
    )
    if lower["constant"] == "inf":
        return f"{head}more than any multiple of log n: no pulls refute all models with other best arms."
    if _vanishes(lower["constant"]):
        return f"{head}at least 0: nothing forces the regret to grow with log n."
    arms = labels_of([*lower["allocation"]])
    counts = zip(map(number, lower["allocation"].values()), arms, strict=True)
    pulls = [f"{count} of {arm}" for count, arm in counts if count != "0"]
    return (
        f"{head}at least {number(lower['constant'], 6)} × log n.\n"
        f"  The cheapest way to do well takes these pulls, in multiples of log n: {few(pulls)}.\n"
        f"  The models that make these pulls necessary: {few(lower['binding'])}."
    )


def _bounds_text(data: dict[str, Any]) -> str:
    rows = [["bound", "policy", "value", "printed", "erratum", "holds"]]
    failing = (bound for bound in data["bounds"] if not bound["valid"] and _is_known(bound))
    reasons = [*dict.fromkeys(bound["why_not"] for bound in failing)]
    rows += [_bound_cells(bound, reasons, data["largest_regret"]) for bound in data["bounds"]]
    text = f"{BOUNDS}\n\n{table_text(rows)}"
    text += "".join(f"\n({n}) {why}" for n, why in enumerate(reasons, start=1))
    return text + (_vacuous_text(data) if any("vacuous" in row for row in rows) else "")


def _is_known(bound: dict[str, Any]) -> bool:
    return bool(bound["bound"] != "none")


def _bound_cells(bound: dict[str, Any], reasons: list[str], most: float) -> list[str]:
    if not _is_known(bound):
        return ["the library has no bound", bound["policy"], "", "", "", ""]
    upper = bound["side"] == "upper"
    return [
        f"{'≤' if upper else '≥'} {bound['bound']}",
        bound["policy"] if upper else "",
        bound_text(bound["value"], most),
        bound_text(bound["printed"], most),
        bound["erratum"],
        "yes" if bound["valid"] else f"no ({reasons.index(bound['why_not']) + 1})",
    ]


def _vacuous_text(data: dict[str, Any]) -> str:
    return (
        f"\nvacuous: the bound is larger than {data['largest_regret']:,.1f}, which is what "
        f"{data['horizon']:,} pulls of the worst arm cost (horizon ×\nlargest gap). So it says nothing "
        "at this horizon; --json has its value."
    )
