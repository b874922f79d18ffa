"""States of experiments as the service would say them, and an owner of experiments that keeps them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from structured_bandits.service.refusals import Conflict, NotFound
from structured_bandits.service.rows import Event
from structured_bandits.service.running.tokens import Tokens, new_token
from structured_bandits.service.wire import (
    Alarm,
    ArmView,
    BestArmView,
    CertificateView,
    ControlView,
    Done,
    HistoryPoint,
    MisfitView,
    ModelsView,
    ModelView,
    Park,
    RegretView,
    Side,
    State,
    Summary,
    VersionView,
)

NOON = 1_794_830_400_000  # 16 November 2026, in milliseconds
NAMES = ["free delivery", "10 % off", "gift wrap", "buy two, get three", "points twice"]
MEANS = [0.0712, 0.0634, 0.0488, 0.0391, 0.0279]
PULLS = [8_412, 3_120, 871, 402, 188]


def arm(index: int, name: str, pulls: int, mean: float, **changes: object) -> ArmView:
    """An arm with an interval of a plausible width."""
    width = math.sqrt(2 * max(mean, 0.005) * math.log(2e4) / pulls) if pulls else 0.0
    view = ArmView(
        index=index,
        name=name,
        pulls=pulls,
        mean=mean if pulls else None,
        low=max(mean - width, 0.0) if pulls else 0.0,
        high=min(mean + width, 1.0) if pulls else 1.0,
        status="active",
        dropped_after=None,
        planned=0,
        wanted=0,
        out=0,
    )
    return msgspec.structs.replace(view, **changes)


def fresh(name: str = "offers", arms: Sequence[str] = NAMES) -> State:
    """An experiment that nobody has asked for an arm yet."""
    views = tuple(arm(i, each, 0, 0.0, planned=40, wanted=40) for i, each in enumerate(arms))
    return State(
        name=name,
        version=1,
        uid="k3v9",
        seq=1,
        state="running",
        policy="SAE(FiniteStructure(12 models, 5 arms), horizon=100000)",
        order="turn",
        horizon=100_000,
        asked=0,
        rewards=0,
        pending=0,
        held=0,
        oldest_pending_seconds=None,
        window_seconds=None,
        missing=None,
        empty=0,
        extra=0,
        arms=views,
        models=ModelsView(
            total=12, fitting=12, names=tuple(f"type {i}" for i in range(1, 13)), likely=()
        ),
        misfit=MisfitView(
            e_value=1.0, log10_e=0.0, p_value=1.0, level=1e-4, refuted=False, arms=()
        ),
        regret=None,
        control=None,
        alarms=(),
        fallback="klucb",
        fallen_back=False,
        history=(),
        versions=(
            VersionView(number=1, uid="k3v9", made_at=NOON, events=1, current=True, pending=0),
        ),
    )


def busy(name: str = "offers") -> State:
    """An experiment in full swing: two arms dropped, one parked, a window, a control arm."""
    changes = [
        {"planned": 1_200, "wanted": 310, "out": 85},
        {"planned": 1_200, "wanted": 402, "out": 61},
        {"status": "parked", "planned": 250, "wanted": 0},
        {"status": "dropped", "dropped_after": 6_144},
        {"status": "dropped", "dropped_after": 2_048},
    ]
    arms = tuple(
        arm(i, NAMES[i], PULLS[i], MEANS[i], **changes[i])  # type: ignore[arg-type]
        for i in range(5)
    )
    rewards = sum(PULLS)
    return msgspec.structs.replace(
        fresh(name),
        version=2,
        uid="q7mz",
        seq=27_481,
        asked=rewards + 146,
        rewards=rewards,
        pending=146,
        held=37,
        oldest_pending_seconds=4_210.0,
        window_seconds=86_400.0,
        missing=0.0,
        extra=12,
        arms=arms,
        models=ModelsView(
            total=12,
            fitting=3,
            names=("type 2", "type 5", "type 9"),
            likely=(
                ModelView(name="type 5", weight=0.871),
                ModelView(name="type 2", weight=0.104),
                ModelView(name="type 9", weight=0.025),
            ),
        ),
        misfit=MisfitView(
            e_value=3.27, log10_e=0.5145, p_value=0.306, level=1e-4, refuted=False, arms=()
        ),
        certificate=CertificateView(
            given_models=BestArmView(arm=NAMES[0], error=0.0123),
            from_arms=BestArmView(arm=NAMES[1], error=0.7),
            rewards=rewards - 85,
        ),
        regret=RegretView(least=11.52, most=40.31),
        control=ControlView(
            arm="gift wrap",
            share=0.05,
            control=Side(pulls=649, mean=0.0478, low=0.0337, high=0.0651),
            policy=Side(pulls=12_344, mean=0.0671, low=0.0628, high=0.0716),
        ),
        history=history(rewards),
        versions=(
            VersionView(number=2, uid="q7mz", made_at=NOON - 86_400_000, events=27_481, current=True, pending=146),
            VersionView(number=1, uid="k3v9", made_at=NOON - 9 * 86_400_000, events=9_210, current=False, pending=2),
        ),
    )  # fmt: skip


def history(rewards: int, points: int = 120, hours: float = 20.0) -> tuple[HistoryPoint, ...]:
    """How it went: better rewards with time, fewer models, fewer arms."""
    told = []
    for i in range(1, points + 1):
        part = i / points
        told.append(
            HistoryPoint(
                at=NOON - int((1 - part) * hours * 3_600_000),
                rewards=int(rewards * part),
                total=rewards * (0.0652 * part - 0.008 * part * (1 - part))
                + 6 * math.sin(40 * part),
                fitting=next(
                    n for until, n in [(0.08, 12), (0.2, 9), (0.5, 5), (2, 3)] if part < until
                ),
                active=next(
                    n for until, n in [(0.2, 5), (0.5, 4), (0.8, 3), (2, 2)] if part < until
                ),
                log10_e=0.5145 * part**2,
            )
        )
    return tuple(told)


def alarmed(name: str = "offers") -> State:
    """The structure is refuted, and the fallback plays."""
    state = busy(name)
    history = []
    for point in state.history:
        log10_e = 7.3 * max(point.rewards / state.rewards - 0.3, 0.0) / 0.7
        fitting = point.fitting if log10_e < 2 else 0
        history.append(msgspec.structs.replace(point, log10_e=log10_e, fitting=fitting))
    text = (
        "The rewards refute the structure: it is wrong, or the rewards have changed. KL-UCB on all arms "
        "is played now, which needs no structure, with all data."
    )
    return msgspec.structs.replace(
        state,
        history=tuple(history),
        alarms=(Alarm(kind="structure", text=text, since=NOON - 3_600_000),),
        misfit=MisfitView(
            e_value=2.0e7,
            log10_e=7.3,
            p_value=5e-8,
            level=1e-4,
            refuted=True,
            arms=("10 % off", "free delivery"),
        ),
        fallen_back=True,
        empty=214,
        models=ModelsView(total=12, fitting=0, names=(), likely=()),
        regret=None,
    )


def rows(state: State) -> list[Event]:
    """The last rows of the log, of many kinds."""
    last = [
        ("start", {}),
        ("ask", {"decision": 12_990, "n": 1, "arm": 0}),
        ("tell", {"decision": 12_871, "arm": 1, "value": 1.0}),
        ("ask", {"decision": 12_991, "n": 64}),
        ("expire", {"decision": 12_410, "arm": 0, "value": 0.0}),
        ("settle", {"decision": 12_411, "n": 38}),
        ("park", {"arm": 2, "n": 1}),
        (
            "learn",
            {"key": "june", "body": '{"pulls": [120, 80, 0, 0, 0], "sums": [9, 4, 0, 0, 0]}'},
        ),
        ("pause", {}),
        ("resume", {}),
        ("mark", {}),
        ("tell", {"decision": 12_877, "arm": 0, "value": 0.0}),
    ]
    if state.seq == 1:
        last = last[:1]
    first = state.seq - len(last) + 1
    return [
        Event(seq=first + i, kind=kind, at=NOON - 1000 * (len(last) - i), **columns)  # type: ignore[arg-type]
        for i, (kind, columns) in enumerate(last)
    ]


class FakeOwner:
    """Keeps states and does to them what the pages ask for; `acts` are what it was asked."""

    def __init__(self, *states: State) -> None:
        self.states = {state.name: state for state in states}
        self.tokens = Tokens()
        self.acts: list[tuple[str, str, Park | None]] = []

    def summaries(self) -> list[Summary]:
        return [
            Summary(
                name=each.name,
                version=each.version,
                state=each.state,
                rewards=each.rewards,
                pending=each.pending,
                alarms=len(each.alarms),
            )
            for each in self.states.values()
        ]

    def state(self, name: str) -> State:
        if name not in self.states:
            raise NotFound(f"There is no experiment {name!r}.")
        return self.states[name]

    def change(self, name: str, **changes: object) -> None:
        """Changes an experiment, as an event would."""
        seq = self.state(name).seq + 1
        self.states[name] = msgspec.structs.replace(self.state(name), seq=seq, **changes)

    def explorer_path(self, name: str) -> str | None:
        return f"/experiments/{name}/explorer" if self.state(name).models else None

    async def events(self, name: str, after: int, limit: int) -> list[Event]:
        return [row for row in rows(self.state(name)) if row.seq > after][:limit]

    async def act(self, name: str, verb: str, body: Park | None) -> Done:
        state = self.state(name)
        self.acts.append((name, verb, body))
        if body is not None:
            if sum(each.status != "parked" for each in state.arms) == 1:
                raise Conflict("It is the last arm that is not parked.")
            arms = list(state.arms)
            status = "parked" if body.parked else "active"
            arms[int(body.arm)] = msgspec.structs.replace(arms[int(body.arm)], status=status)
            self.change(name, arms=arms)
        else:
            self.change(name, state="paused" if verb == "pause" else "running")
        return Done(changed=True, seq=state.seq + 1)

    async def make_token(self, name: str, role: str, experiments: Sequence[str] | None) -> str:
        text, token = new_token(name, role, experiments, now=NOON)
        self.tokens.add(token)
        return text

    async def revoke_token(self, identity: str) -> bool:
        return self.tokens.revoke(identity, NOON)
