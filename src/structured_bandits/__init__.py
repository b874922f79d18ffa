"""Bandits whose arms are related: structures, policies that exploit them, simulation, live agents.

Importing this package loads NumPy and nothing else that is heavy: Numba, SciPy, pandas and Matplotlib
are imported by the functions that need them, and are extras of the package.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from structured_bandits.base import sources
from structured_bandits.errors import (
    DecisionError,
    FileFormatError,
    HorizonWarning,
    MeansOutsideUnitIntervalWarning,
    MissingExtraError,
    OutputError,
    ParameterError,
    RewardError,
    ServiceError,
    SlowSimulationWarning,
    StructuredBanditsError,
    StructureError,
)
from structured_bandits.policies.asae import ASAE
from structured_bandits.policies.base import fresh_state
from structured_bandits.policies.best_arm import BestArm
from structured_bandits.policies.certain import Certain
from structured_bandits.policies.greedy_mle import GreedyMLE
from structured_bandits.policies.guarded import Guarded
from structured_bandits.policies.ids import IDS
from structured_bandits.policies.imed import IMED
from structured_bandits.policies.improved_ucb import ImprovedUCB
from structured_bandits.policies.isae import ISAE
from structured_bandits.policies.klucb import KLUCB
from structured_bandits.policies.klucbc import KLUCBC
from structured_bandits.policies.model_ts import ModelTS
from structured_bandits.policies.moss import MOSS
from structured_bandits.policies.ossb import OSSB
from structured_bandits.policies.paper_variant import READINGS, Reading
from structured_bandits.policies.sae import SAE
from structured_bandits.policies.sucb import SUCB
from structured_bandits.policies.thompson_sampling import ThompsonSampling
from structured_bandits.policies.tsc import TSC
from structured_bandits.policies.ucb import UCB
from structured_bandits.policies.ucbc import UCBC
from structured_bandits.policies.ucbv import UCBV
from structured_bandits.policies.wagp import WAGP
from structured_bandits.protocols import Choice, Now, Outcome, Paid, Seen
from structured_bandits.simulation.result import Result, load_result
from structured_bandits.simulation.simulate import simulate, simulate_random
from structured_bandits.structures.builders.combine import (
    Constraint,
    intersection,
    product,
    scaled,
    union,
)
from structured_bandits.structures.builders.estimated_tables import around, mixtures
from structured_bandits.structures.builders.knowledge import (
    concave,
    known_best_mean,
    linear,
    lipschitz,
    monotone,
    unimodal,
    unstructured,
)
from structured_bandits.structures.curves.structure import CurveStructure, Piece
from structured_bandits.structures.files.load import load_structure
from structured_bandits.structures.finite.structure import FiniteStructure
from structured_bandits.structures.polyhedral.polytope import Polytope
from structured_bandits.structures.polyhedral.structure import PolyhedralStructure
from structured_bandits.worlds.bernoulli import Bernoulli
from structured_bandits.worlds.bounded import Bounded
from structured_bandits.worlds.changing import Drifting, Piecewise
from structured_bandits.worlds.delays import Delayed, GeometricDelay
from structured_bandits.worlds.gaussian import Gaussian
from structured_bandits.worlds.tape import Tape

if TYPE_CHECKING:  # what LATER says, for tools that read types
    from structured_bandits.advice.advice import Advice
    from structured_bandits.advice.advise import advise
    from structured_bandits.advice.candidates import candidates
    from structured_bandits.agents.agent import Agent, Decision
    from structured_bandits.agents.likely import LikelyModel
    from structured_bandits.agents.logs import Learned
    from structured_bandits.experiments.sweeps.loaded import Sweep, load_sweep
    from structured_bandits.experiments.sweeps.sweep import sweep
    from structured_bandits.inference.certificate import Certificate
    from structured_bandits.inference.misfit.report import Misfit
    from structured_bandits.service.client.outage import RemoteDecision
    from structured_bandits.service.client.remote_agent import RemoteAgent
    from structured_bandits.simulation.identify import Identification, identify
    from structured_bandits.theory.analysis import Analysis, analyse
    from structured_bandits.theory.overview import Overview, overview

__version__ = "0.2.0"

del sources

LATER = {  # what a simulation does without: a third of the time that the package takes to load
    "Advice": "advice.advice",
    "advise": "advice.advise",
    "candidates": "advice.candidates",
    "Sweep": "experiments.sweeps.loaded",
    "load_sweep": "experiments.sweeps.loaded",
    "sweep": "experiments.sweeps.sweep",
    "Agent": "agents.agent",
    "Decision": "agents.agent",
    "LikelyModel": "agents.likely",
    "Learned": "agents.logs",
    "RemoteAgent": "service.client.remote_agent",
    "RemoteDecision": "service.client.outage",
    "Misfit": "inference.misfit.report",
    "Certificate": "inference.certificate",
    "identify": "simulation.identify",
    "Identification": "simulation.identify",
    "Analysis": "theory.analysis",
    "analyse": "theory.analysis",
    "Overview": "theory.overview",
    "overview": "theory.overview",
}
GONE = {"UncertainModelTS": "ModelTS(structure, trust=0.5)"}
ROOMS = {"testing", *(place.split(".")[0] for place in LATER.values())}


def __getattr__(name: str) -> Any:
    """Load what is not needed at once when it is first asked for."""
    if name in LATER:
        value = getattr(import_module(f"{__name__}.{LATER[name]}"), name)
        globals()[name] = value
        return value
    if name in ROOMS:
        return import_module(f"{__name__}.{name}")
    now = GONE.get(name)
    hint = f"; take {now}" if now else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    """Name also what is not loaded yet."""
    return sorted({*globals(), *LATER, *ROOMS})


__all__ = [
    "ASAE",
    "IDS",
    "IMED",
    "ISAE",
    "KLUCB",
    "KLUCBC",
    "MOSS",
    "OSSB",
    "READINGS",
    "SAE",
    "SUCB",
    "TSC",
    "UCB",
    "UCBC",
    "UCBV",
    "WAGP",
    "Advice",
    "Agent",
    "Analysis",
    "Bernoulli",
    "BestArm",
    "Bounded",
    "Certain",
    "Certificate",
    "Choice",
    "Constraint",
    "CurveStructure",
    "Decision",
    "DecisionError",
    "Delayed",
    "Drifting",
    "FileFormatError",
    "FiniteStructure",
    "Gaussian",
    "GeometricDelay",
    "GreedyMLE",
    "Guarded",
    "HorizonWarning",
    "Identification",
    "ImprovedUCB",
    "Learned",
    "LikelyModel",
    "MeansOutsideUnitIntervalWarning",
    "Misfit",
    "MissingExtraError",
    "ModelTS",
    "Now",
    "Outcome",
    "OutputError",
    "Overview",
    "Paid",
    "ParameterError",
    "Piece",
    "Piecewise",
    "PolyhedralStructure",
    "Polytope",
    "Reading",
    "RemoteAgent",
    "RemoteDecision",
    "Result",
    "RewardError",
    "Seen",
    "ServiceError",
    "SlowSimulationWarning",
    "StructureError",
    "StructuredBanditsError",
    "Sweep",
    "Tape",
    "ThompsonSampling",
    "advise",
    "analyse",
    "around",
    "candidates",
    "concave",
    "fresh_state",
    "identify",
    "intersection",
    "known_best_mean",
    "linear",
    "lipschitz",
    "load_result",
    "load_structure",
    "load_sweep",
    "mixtures",
    "monotone",
    "overview",
    "product",
    "scaled",
    "simulate",
    "simulate_random",
    "sweep",
    "unimodal",
    "union",
    "unstructured",
]
