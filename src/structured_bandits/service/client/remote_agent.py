"""The client of a decision service: `ask` and `tell` as with an agent, over HTTP.

A request whose answer was lost is sent again under the same key, so it counts once.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Collection, Iterable, Sequence, Sized
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload
from urllib.parse import quote

import msgspec
import numpy as np

from structured_bandits.agents.availability import listed_arms
from structured_bandits.agents.logs import Learned, read_log
from structured_bandits.agents.results import checked_results, checked_reward
from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.checks import checked_count
from structured_bandits.errors import (
    DecisionError,
    ParameterError,
    ServiceError,
)
from structured_bandits.service import wire
from structured_bandits.service.client.outage import (
    LostAsks,
    Outage,
    RemoteDecision,
    Undoing,
    control_decisions,
    remote_decision,
    undoing_of,
)
from structured_bandits.service.client.view import describe
from structured_bandits.structures.base import checked_names, index_of, index_or_name

if TYPE_CHECKING:
    import ssl

T = TypeVar("T")
ANY_REWARD = (-math.inf, math.inf)
IGNORED = "ignored"  # what becomes of a reward that belongs to no decision of the service


class RemoteBatch(NamedTuple):
    """How often each arm is to be pulled; tell the results under `id`."""

    id: str
    pulls: tuple[int, ...]


class RemoteAgent:
    """An agent in a decision service: ask it for an arm, pull the arm, tell it the reward.

    `url` is the address of the service, `name` is the name of the experiment there, and `token` is what
    lets you in, if the service wants one. It is used like an `Agent`, with these differences:

    - Ids are texts, and other programs know them too: one may ask and another tell.
    - `ask` takes a `key`, such as the id of a visitor: the same key gets the same decision again, and
      `tell` takes it in place of the id.
    - Telling the same reward again changes nothing; telling another one raises `DecisionError`.
    - What is read (`pulls`, `means`, `plan`, …) is fetched; `state()` fetches all of it at once.
    - There is no `expire`, since the service has a clock, and no `save`, since it keeps a log.

    A request that fails in a way that may pass is sent again, up to `retries` times, after waits that
    grow. It counts once, even if only the answer was lost. All of this takes at most `timeout` seconds
    (looking up the host's address is not counted). Then `ServiceError` is raised, or with
    `on_failure="control"` `ask` returns the arm `control`, or if it is not available the first arm that
    is, with the id None; `tell` ignores such ids. For a few seconds after such a failure `ask` returns
    the control at once. Rewards are never dropped so: if `tell` cannot reach the service, it raises
    `ServiceError`, and you can tell the reward again later.

    With `on_failure="control"` the names of the `arms` are fetched at the start, unless you give them;
    give them if your program should be able to start while the service is down.

    Any number of threads may use one agent, and a process that is forked may go on using it. Redirects
    are not followed, and proxies named in the environment are not used. `ssl_context` says which
    certificates are trusted; without it these are the system's.
    """

    def __init__(
        self,
        url: str,
        name: str,
        token: str | None = None,
        *,
        timeout: float = 10.0,
        retries: int = 3,
        on_failure: str = "raise",
        control: int | str | None = None,
        arms: Sequence[str] | None = None,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        from structured_bandits.service.client.experiment import (
            RemoteExperiment,  # the first to load HTTP
        )

        self.name = name
        self._experiment = RemoteExperiment(url, name, token, timeout, retries, ssl_context)
        self._outage = Outage()
        self._lost = LostAsks()
        self._arms = None if arms is None else checked_names(arms, len(arms), "arm")
        self._control = self._checked_control(on_failure, control)

    @property
    def url(self) -> str:
        """The address of the service."""
        return self._experiment.url

    # --- decisions and rewards -------------------------------------------------------------------

    @overload
    def ask(
        self,
        n: None = None,
        available: Collection[int | str] | None = None,
        *,
        key: str | None = None,
        defer: bool = False,
    ) -> RemoteDecision: ...

    @overload
    def ask(
        self,
        n: int,
        available: Collection[int | str] | None = None,
        *,
        key: str | None = None,
        defer: bool = False,
    ) -> tuple[RemoteDecision, ...]: ...

    def ask(
        self,
        n: int | None = None,
        available: Collection[int | str] | None = None,
        *,
        key: str | None = None,
        defer: bool = False,
    ) -> RemoteDecision | tuple[RemoteDecision, ...]:
        """Return the next arm to pull, or a tuple of the next `n`.

        `available` are the arms that can be pulled now, by index or name; without it all can. A `key`
        names what the arm is for, such as a visitor: the same key gets the same decision again. With
        `defer` the decision counts only once you `activate` it, when the arm is really shown.
        """
        count = 1 if n is None else checked_count("n", n)
        here = (
            None
            if available is None
            else [index_or_name(arm, "available arm") for arm in listed_arms(available)]
        )
        request = wire.Ask(n=count, available=here, key=_checked_key(key), defer=bool(defer))
        decisions = self._decisions(request)
        return decisions[0] if n is None else decisions

    @overload
    def tell(self, decision_id: str | None, reward: float) -> str: ...

    @overload
    def tell(self, *, key: str, reward: float) -> str: ...

    def tell(
        self, decision_id: str | None = None, reward: Any = None, *, key: str | None = None
    ) -> str:
        """Tell the reward of a decision, which is named by its id or by the key that it was asked with.

        Return what became of it: "recorded", "held" (until the window of rewards closes), "duplicate"
        (it was told before), or "ignored" (the service did not choose this arm, its control was shown
        because it was down).
        """
        kind, named = _id_or_key(decision_id, key)
        return self.tell_many([(named, reward)], by_key=kind == "key")[0]

    def tell_many(
        self, rewards: Iterable[tuple[str | None, float]], by_key: bool = False
    ) -> tuple[str, ...]:
        """Tell many rewards at once, as pairs of a decision's id (or key) and its reward.

        Either all are taken or, if one of them is refused, none. Return what became of each of them, as
        `tell` does.
        """
        kind = "key" if by_key else "id"
        items = [
            wire.Reward(
                reward=checked_reward(reward, ANY_REWARD),
                **{kind: self._checked_named(kind, named)},
            )
            for named, reward in rewards
        ]
        ours = [self._is_ours(kind, getattr(item, kind)) for item in items]
        sent = [item for item, here in zip(items, ours, strict=True) if not here]
        outcomes = self._post("tell", sent, wire.Told).outcomes if sent else ()
        self._check_parts(outcomes, len(sent))
        told = iter(outcomes)
        return tuple(IGNORED if here else next(told).status for here in ours)

    def cancel(self, decision_id: str | None = None, *, key: str | None = None) -> None:
        """Take a decision back because its reward will not come; the plan asks for this pull again."""
        self._name_one("cancel", decision_id, key)

    def activate(self, decision_id: str | None = None, *, key: str | None = None) -> None:
        """Say that the arm of a decision that was asked for with `defer` is really shown."""
        self._name_one("activate", decision_id, key)

    # --- many pulls at once ------------------------------------------------------------------------

    @overload
    def learn(self, pulls: Any, /, *, key: str | None = None) -> Learned: ...

    @overload
    def learn(
        self, pulls: Any, sums: Any, squares: Any = None, *, key: str | None = None
    ) -> None: ...

    def learn(
        self, pulls: Any, sums: Any = None, squares: Any = None, *, key: str | None = None
    ) -> Learned | None:
        """Take in the results of many pulls, such as logged data: pulls and sums of rewards per arm.

        The arguments are those of `Agent.learn`, so a single one is a log: a data frame, or the path of
        a CSV file. Results with the same `key` count once, also if your program runs again.
        """
        if sums is not None:
            self._post_results("learn", pulls, sums, squares, key)
            return None
        state = self.state()
        names = [arm.name for arm in state.arms]
        log = read_log(pulls, names, state.reward_range or ANY_REWARD)
        self._post_results("learn", log.pulls, log.sums, log.squares, key)
        return log.learned(names)

    def hand_out(self, limit: int, *, key: str | None = None) -> RemoteBatch:
        """Return how often each arm is to be pulled now: the plan, or `limit` pulls of it.

        The same `key` gets the same batch again, so with a key you can repeat a request that failed.
        """
        request = wire.HandOut(
            limit=checked_count("limit", limit), key=_checked_key(key) or _new_key()
        )
        batch = self._post("plan", request, wire.Batch)
        return RemoteBatch(batch.id, batch.pulls)

    def tell_batch(
        self, batch_id: str, pulls: Any, sums: Any, squares: Any = None, *, key: str | None = None
    ) -> None:
        """Tell results of a batch or a part of it, as pulls and sums of rewards per arm.

        Parts with the same `key` count once.
        """
        batch = _checked_text("batch_id", batch_id)
        self._post_results(f"batches/{quote(batch, safe='')}", pulls, sums, squares, key)

    # --- arms ----------------------------------------------------------------------------------------

    def park(self, arm: int | str) -> None:
        """Leave an arm, given by index or name, out of all plans until it is unparked."""
        self._post("park", wire.Park(arm=index_or_name(arm, "arm")), wire.Done)

    def unpark(self, arm: int | str) -> None:
        """Let plans use a parked arm, given by index or name, again."""
        self._post("park", wire.Park(arm=index_or_name(arm, "arm"), parked=False), wire.Done)

    @property
    def parked(self) -> tuple[int, ...]:
        """The arms that are parked."""
        return tuple(arm.index for arm in self.state().arms if arm.status == "parked")

    @property
    def plan(self) -> Ints:
        """How many rewards of each arm the plan still waits for, pending ones included."""
        return np.array([arm.wanted for arm in self.state().arms], np.int64)

    @property
    def pulls(self) -> Ints:
        """How many rewards of each arm have been observed."""
        return np.array([arm.pulls for arm in self.state().arms], np.int64)

    @property
    def means(self) -> Floats:
        """The mean reward of each arm, nan where there was none."""
        means = [math.nan if arm.mean is None else arm.mean for arm in self.state().arms]
        return np.array(means, np.float64)

    @property
    def intervals(self) -> Floats:
        """The confidence interval of each arm's mean (arms × 2), as of `Agent.intervals`."""
        return np.array([arm.interval for arm in self.state().arms], np.float64)

    @property
    def active_arms(self) -> tuple[int, ...]:
        """The arms that are still in the race: the policy may still choose them."""
        return tuple(arm.index for arm in self.state().arms if arm.in_the_race)

    # --- the whole -------------------------------------------------------------------------------------

    @property
    def rewards(self) -> int:
        """How many rewards were observed."""
        return self.state().rewards

    @property
    def pending_count(self) -> int:
        """How many decisions wait for their rewards."""
        return self.state().pending

    @property
    def empty(self) -> int:
        """How often no model fitted the data, or none whose best arm was still in the race."""
        return self.state().empty

    @property
    def extra_decisions(self) -> int:
        """How many decisions went beyond their plan because rewards were out."""
        return self.state().extra

    @property
    def last_failure(self) -> ServiceError | None:
        """Why the last `ask` got no answer, None if it got one."""
        return self._outage.failure

    def state(self) -> wire.State:
        """Return all that the service says of the experiment at this moment."""
        state = self._experiment.state()
        self._arms = tuple(arm.name for arm in state.arms)
        return state

    def describe(self) -> str:
        """Return in sentences and a table what was seen and what is known of arms and models."""
        return describe(self.url, self.state()).text()

    def close(self) -> None:
        """Close connections that are kept open; the agent can be used again and opens new ones."""
        self._experiment.close()

    def __enter__(self) -> RemoteAgent:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        return describe(self.url, self.state()).html()

    def __repr__(self) -> str:
        return (
            f"RemoteAgent({self.url!r}, {self.name!r})"  # without the token, and without a request
        )

    # --- what all of these share ---------------------------------------------------------------------

    def _checked_control(self, on_failure: str, control: int | str | None) -> str | None:
        """Return the name of the arm that is shown while the service is down, None for an error."""
        if on_failure not in ("raise", "control"):
            raise ParameterError(f"on_failure={on_failure!r}: expected 'raise' or 'control'")
        if (on_failure == "control") != (control is not None):
            raise ParameterError(
                f"control={control!r} with on_failure={on_failure!r}: expected an arm as control with "
                "on_failure='control', and none otherwise"
            )
        if control is None:
            return None
        if self._arms is None:
            try:
                self.state()
            except ServiceError as error:
                raise ServiceError(
                    f"{error}; to begin while the service is down, give the names of the arms "
                    "(arms=…)",
                    error.status,
                    error.passing,
                ) from error
        names = self._arms or ()
        return names[index_of(control, names, "control")]

    def _decisions(self, request: wire.Ask) -> tuple[RemoteDecision, ...]:
        """Ask the service; if it is down and there is a control, decide for the control."""
        if self._control is None:
            return self._ask(request, once=False)
        suspected = self._outage.failure is not None
        if self._outage.may_try():
            try:
                return self._ask(request, once=suspected)
            except ServiceError as error:
                if not error.passing:
                    raise
        if request.key is not None:
            self._lost.note_control(request.key)
        return control_decisions(request.n, self._control, self._arms or (), request.available)

    def _ask(self, request: wire.Ask, once: bool) -> tuple[RemoteDecision, ...]:
        own = request.key is None
        key = request.key or _new_key()
        keyed = msgspec.structs.replace(request, key=key)
        try:
            decisions = self._post("ask", keyed, wire.Asked, once).decisions
            self._check_parts(decisions, request.n)
        except ServiceError as error:
            if error.passing:
                self._outage.note(error)
                if own:
                    self._lost.add_undoing(undoing_of(keyed))
            raise
        self._outage.note(None)
        self._lost.note_answered(key)
        return tuple(map(remote_decision, decisions))

    def _name_one(self, action: str, decision_id: str | None, key: str | None) -> None:
        """Do something with a decision that is named by its id or by its key."""
        kind, given = _id_or_key(decision_id, key)
        named = self._checked_named(kind, given)
        if not self._is_ours(kind, named):
            self._post(action, wire.Named(**{kind: named}), wire.Done)

    def _checked_named(self, kind: str, named: Any) -> str | None:
        """Return the id or key of a decision; the id None, for the control, only if there is one."""
        if named is None and kind == "id" and self._control is not None:
            return None
        return _checked_text(kind, named)

    def _is_ours(self, kind: str, named: str | None) -> bool:
        """Was this decided here, for the control, and not by the service?"""
        return named is None or (kind == "key" and self._lost.got_control(named))

    def _post_results(
        self, path: str, pulls: Any, sums: Any, squares: Any, key: str | None
    ) -> None:
        seen = checked_results(pulls, sums, squares, np.size(pulls), ANY_REWARD)
        results = wire.BatchResults(
            pulls=seen.pulls.tolist(),
            sums=seen.sums.tolist(),
            squares=None if squares is None else seen.squares.tolist(),
            key=_checked_key(key) or _new_key(),
        )
        self._post(path, results, wire.Done)

    def _check_parts(self, parts: Sized, count: int) -> None:
        """Raise unless an answer has as many parts as its request."""
        if len(parts) != count:
            raise ServiceError(
                f"{self.url} gave an answer that is not understood: it has {len(parts)} parts where "
                f"{count} were expected",
                status=200,
                passing=True,
            )

    def _post(self, path: str, content: Any, gives: type[T], once: bool = False) -> T:
        """Send a request; if it is granted, the service is there to undo an ask that was lost."""
        result = self._experiment.post(path, content, gives, once)
        undoing = self._lost.next_undoing()
        if undoing is not None:
            self._undo(undoing)
        return result

    def _undo(self, undoing: Undoing) -> None:
        try:
            if undoing.path == "ask":
                asked = self._experiment.post(*undoing, wire.Asked, once=True)
                for decision in asked.decisions:
                    self._lost.add_undoing(Undoing("cancel", wire.Named(id=decision.id)))
            else:
                self._experiment.post(*undoing, wire.Done, once=True)
        except ServiceError:
            self._lost.add_undoing(undoing)
        except (DecisionError, ParameterError):
            pass  # the ask had not arrived, or it is too late


def _id_or_key(decision_id: Any, key: Any) -> tuple[str, Any]:
    """Return what names a decision, and its name."""
    if decision_id is not None and key is not None:
        raise DecisionError(f"got the id {decision_id!r} and the key {key!r}; give one of them")
    return ("id", decision_id) if key is None else ("key", key)


def _checked_key(key: Any) -> str | None:
    if key is not None and (not isinstance(key, str) or not key):
        raise ParameterError(f"key={key!r}: expected a text of at least one character, or None")
    return key


def _checked_text(kind: str, named: Any) -> str:
    if isinstance(named, (RemoteDecision, RemoteBatch)):
        raise DecisionError(f"got {type(named).__name__} as a whole; pass its id, {named.id!r}")
    if not isinstance(named, str) or not named:
        raise DecisionError(f"{kind}={named!r}: expected a text, as the service has given it")
    return named


def _new_key() -> str:
    return secrets.token_urlsafe(12)
