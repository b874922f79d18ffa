"""The report of `structured-bandits analyse`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from structured_bandits.protocol import PolicyLike
from structured_bandits.report.tables import (
    bound_text,
    few,
    plain_data,
    rewards_text,
)
from structured_bandits.simulation.result import Result
from structured_bandits.text_tables import table_text
from structured_bandits.theory.analysis import Analysis

MOST_ARMS = 30  # rows of the table of arms
COLUMNS = """\
- gap: how far the mean is below the best one. A pull of the arm costs as much; regret is the sum of it.
- hardest model: before the arm can go, all models in which it is best must be refuted. This one differs
  least from the truth, by the number shown, on the arm that tells them best among the helpers: the arms
  that SAE is sure to play until then.
- optimistic: the same among those models that promise more than the truth.
- last phase: in which SAE may still play the arm; each phase tells half the difference apart."""
BOUNDS = """\
Proven bounds on the regret: at most (≤) for a policy, at least (≥) for all that do well everywhere.
Printed are those with the paper's constants, where an erratum corrects them."""


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
    from structured_bandits.theory.bounds import theorem_policies

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
            "bounds": analysis.bounds(horizon, policies, width**2).to_dict(orient="records"),
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
            + (f"true model {data['truth']}, " if data["truth"] else "")
            + f"the best arm is {data['best_arm']}, horizon {data['horizon']:,}, beta {data['beta']:g}",
            _arms_text(data),
            *([] if data["simulated"] is None else [_simulated_text(data)]),
            _regret_text(data),
            _classes_text(data["classes"]),
            _lower_text(data),
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
            [arm["arm"], f"{arm['mean']:.4g}", f"{arm['gap']:.4g}", *_hardness_cells(arm, data)]
        )
    more = len(arms) - MOST_ARMS
    note = f"\n… and {more} arms more (all of them with --json)" if more > 0 else ""
    return f"{table_text(rows, widest=30)}{note}\n\n{COLUMNS}"


def _hardness_cells(arm: dict[str, Any], data: dict[str, Any]) -> list[str]:
    if not arm["ever_best"]:
        return ["best in no model: never played", "", "", "", ""]
    if arm["arm"] == data["best_arm"]:
        return ["the best arm", "", "", "never leaves", ""]
    hardest, optimistic = arm["hardest"], arm["hardest_optimistic"]
    if hardest is None:
        return ["ties with the best arm", "", "", "never leaves", ""]
    limit = "" if hardest["attained"] else " (a limit)"
    return [
        f"{hardest['model']}{limit}",
        f"{hardest['gap']:.4g} on {hardest['told_by']}",
        f"{optimistic['gap']:.4g}" if optimistic else "none",
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
        "What will it cost? Regret is how much less the pulls earn than as many pulls of the best arm.\n"
        f"Simulated, {data['horizon']:,} pulls, {runs:,} run{'s' if runs > 1 else ''} of each policy, "
        f"{_rewards_text(data)}, seed {simulated['seed']}:\n\n"
        f"{table_text(rows)}\n\n"
        f"For comparison: pulling arms at random costs {data['random_regret']:,.1f}, the worst arm "
        f"alone {data['largest_regret']:,.1f}."
    )


def _rewards_text(data: dict[str, Any]) -> str:
    low, high = data["reward_range"]
    return rewards_text(data["lower_bound"]["family"], 0.5 * (high - low))


def _regret_text(data: dict[str, Any]) -> str:
    rival, gamma = data["rival"], data["gamma_star"]
    if data["ties"]:
        return (
            f"The truth has several best arms, {data['best_arm']} and {few(data['ties'])}: the "
            "theorems assume a single one."
        )
    if rival is None:
        lines = ["Every model has the same best arm: there is nothing to learn."]
    elif gamma == "inf" or gamma > 0.0:
        lines = [
            f"Constant regret: possible. Gamma_* = {gamma:.4g} (model {rival['model']}): pulls of the "
            "best arm refute every model with another one."
        ]
    elif data["constant_regret_possible"]:
        lines = [
            "Constant regret: not ruled out, but not guaranteed either. Models with another best arm "
            "come arbitrarily near on the best arm (Gamma_* = 0), none agrees with it."
        ]
    elif data["lower_bound"]["constant"] == 0.0:
        lines = [
            "Constant regret: not ruled out. Pulls of the best arm never refute "
            f"{few(data['confusing_models'])}, but one outcome of another arm can."
        ]
    else:
        models = few(data["confusing_models"])
        some = "for example " if data["structure"].startswith("Poly") else ""
        lines = [
            f"Constant regret: impossible. Pulls of the best arm never refute: {some}{models}."
        ]
    if data["decoys"]:
        lines.append(f"Greedy policies can fail: they may settle on {few(data['decoys'])}.")
    elif rival is not None and data["structure"].startswith("Finite"):
        lines.append("Greedy policies find the best arm in the end: there is no decoy.")
    elif rival is not None:
        lines.append("There is no decoy for greedy policies, though models may come close to one.")
    return "\n".join(lines)


def _classes_text(classes: dict[str, Any]) -> str:
    meaning = {
        "worst_case": "worst-case (SUCB is order-optimal)",
        "optimistic": "optimistic (SAE's bound is of SUCB's order or better)",
        "constant_regret": "worst-case constant regret (Theorem 6 applies)",
    }
    lines = ["Classes of structures:"]
    for name, words in meaning.items():
        failing = classes["failing"][name]
        lines.append(
            f"  {words}: " + ("yes" if classes[name] else f"no, because of {few(failing, 3)}")
        )
    return "\n".join(lines)


def _lower_text(data: dict[str, Any]) -> str:
    lower = data["lower_bound"]
    head = (
        "The regret that no policy avoids in the long run if it does well in every model (Graves–Lai, "
        f"{_rewards_text(data)}):\n  "
    )
    if lower["constant"] == "inf":
        return head + "no allocation of pulls refutes all confusing models."
    if lower["constant"] == 0.0:
        return head + "0, growth with log n is not forced."
    pulls = [f"{arm} {count:.4g}" for arm, count in lower["allocation"].items() if count > 0.0]
    return (
        f"{head}{lower['constant']:.6g} log n, n being the number of pulls\n"
        f"  pulls, in units of log n: {few(pulls)}; binding models: {few(lower['binding'])}"
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
        return ["no bound is known", bound["policy"], "", "", "", ""]
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
        f"\nvacuous: larger than {data['largest_regret']:,.1f}, what {data['horizon']:,} pulls of the "
        "worst arm cost (horizon × largest gap), so it says\nnothing at this horizon; --json has the "
        "value"
    )
