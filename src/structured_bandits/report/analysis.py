"""The report of `structured-bandits analyse`."""

from __future__ import annotations

import math
from typing import Any

from structured_bandits.text_tables import table_text
from structured_bandits.theory.analysis import Analysis

MOST_ARMS = 30  # rows of the table of arms


def analysis_data(
    analysis: Analysis,
    horizon: int,
    beta: float,
    family: str,
    reward_range: tuple[float, float] = (0.0, 1.0),
) -> dict[str, Any]:
    """Return everything the report says as plain data; infinity is "inf", None stands for unknown."""
    from structured_bandits.theory.bounds import theorem_policies

    structure = analysis.structure
    policies = theorem_policies(structure, horizon, reward_range)
    width = reward_range[1] - reward_range[0]
    sets = analysis.elimination(horizon, beta, width)
    classes = analysis.classes(horizon, beta, largest_gap=width)
    lower = analysis.lower_bound(family, 0.5 * width)
    return _plain(
        {
            "structure": repr(structure),
            "truth": _truth(analysis),
            "best_arm": structure.arm_names[analysis.best_arm],
            "horizon": horizon,
            "beta": beta,
            "reward_range": list(reward_range),
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
            "bounds": analysis.bounds(horizon, policies).to_dict(orient="records"),
        }
    )


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


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf"
    return value


def analysis_text(data: dict[str, Any]) -> str:
    """Return the report for the terminal."""
    return "\n\n".join(
        [
            f"{data['structure']}\n"
            + (f"true model {data['truth']}, " if data["truth"] else "")
            + f"best arm {data['best_arm']}, horizon {data['horizon']:,}, beta {data['beta']:g}",
            _arms_text(data),
            _regret_text(data),
            _classes_text(data["classes"]),
            _lower_text(data["lower_bound"]),
            _bounds_text(data["bounds"]),
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
    return table_text(rows, widest=30) + note


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
        _few(arm["helpers"], most=3),
    ]


def _regret_text(data: dict[str, Any]) -> str:
    rival, gamma = data["rival"], data["gamma_star"]
    if data["ties"]:
        return (
            f"The truth has several best arms, {data['best_arm']} and {_few(data['ties'])}: the "
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
            f"{_few(data['confusing_models'])}, but one outcome of another arm can."
        ]
    else:
        models = _few(data["confusing_models"])
        some = "for example " if data["structure"].startswith("Poly") else ""
        lines = [
            f"Constant regret: impossible. Pulls of the best arm never refute: {some}{models}."
        ]
    if data["decoys"]:
        lines.append(f"Greedy policies can fail: they may settle on {_few(data['decoys'])}.")
    elif rival is not None and data["structure"].startswith("Finite"):
        lines.append("Greedy policies find the best arm in the end: there is no decoy.")
    elif rival is not None:
        lines.append("There is no decoy for greedy policies, though models may come close to one.")
    return "\n".join(lines)


def _few(names: list[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f", … ({len(names)} in all)" if len(names) > most else "")


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
            f"  {words}: " + ("yes" if classes[name] else f"no, because of {_few(failing, 3)}")
        )
    return "\n".join(lines)


def _lower_text(lower: dict[str, Any]) -> str:
    head = f"No consistent policy does better ({lower['family']} rewards, Graves–Lai): "
    if lower["constant"] == "inf":
        return head + "no allocation of pulls refutes all confusing models."
    if lower["constant"] == 0.0:
        return head + "0, growth with log n is not forced."
    pulls = [f"{arm} {count:.4g}" for arm, count in lower["allocation"].items() if count > 0.0]
    return (
        f"{head}{lower['constant']:.6g} log n\n"
        f"  pulls, in units of log n: {_few(pulls)}; binding models: {_few(lower['binding'])}"
    )


def _bounds_text(bounds: list[dict[str, Any]]) -> str:
    rows = [["bound on the regret", "policy", "value", "printed", "erratum", "holds"]]
    reasons: list[str] = []
    for bound in bounds:
        name = f"{'≤' if bound['side'] == 'upper' else '≥'} {bound['bound']}"
        policy = bound["policy"] if bound["side"] == "upper" else ""
        if not bound["valid"] and bound["why_not"] not in reasons:
            reasons.append(bound["why_not"])
        rows.append(
            [
                name,
                policy,
                _number(bound["value"]),
                _number(bound["printed"]),
                bound["erratum"],
                "yes" if bound["valid"] else f"no ({reasons.index(bound['why_not']) + 1})",
            ]
        )
    return table_text(rows) + "".join(f"\n({n}) {why}" for n, why in enumerate(reasons, start=1))


def _number(value: float | str | None) -> str:
    if value is None:
        return ""
    return "∞" if isinstance(value, str) else f"{value:,.1f}"
