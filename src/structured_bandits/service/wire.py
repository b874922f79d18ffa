"""What goes over the wire: one record for each request and each answer, for service and client.

The endpoints, the OpenAPI description and the pages are made from these records, and the client writes
and reads them. Requests are checked in all they say. An answer may come from a newer service than its
reader: fields that the reader does not know are left out, and what is one of a few words today, such as
the status of an arm, is read as any text.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

MOST_ITEMS = 10_000  # of a list in one request
#: Texts that a client chooses. PostgreSQL cannot store the character 0 in texts.
Key = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\u0000]*$")]
Count = Annotated[int, Meta(ge=0, le=2**53)]
Arm = Annotated[str, Meta(max_length=1_000)] | Annotated[int, Meta(ge=0, le=2**31)]


class Request(Struct, forbid_unknown_fields=True):
    """What a client sends: unknown fields are refused, since they are mostly misspelt."""


class Answer(Struct, frozen=True):
    """What the service says; fields that have their default value are said all the same.

    It cannot be changed: while nothing new happens, a client gives the same record to all who ask.
    """


# --- decisions and rewards -------------------------------------------------------------------


class Ask(Request):
    """Ask for `n` arms.

    `available` are the arms that can be shown now (names or indices). A `key` names the unit that the
    arm is for, such as a visitor: the same key gets the same decision again. With `defer` a decision
    counts as shown only once it is activated.
    """

    n: Annotated[int, Meta(ge=1, le=MOST_ITEMS)] = 1
    available: Annotated[list[Arm], Meta(min_length=1, max_length=MOST_ITEMS)] | None = None
    key: Key | None = None
    defer: bool = False


class Decision(Answer, frozen=True):
    """An arm to show; its reward is told under `id`, or under the key of the request.

    `reason` is "plan", "extra" or "restricted" as in `sb.Decision`, "control" (the share on a fixed
    arm), "audit" (the share on arms that were dropped), "fallback" (the alarm has rung and the fixed arm
    is played), or "paused". `propensity` is the probability with which this arm was chosen, null where
    it is not known.
    """

    id: str
    arm: int
    name: str
    reason: str
    propensity: float | None


class Asked(Answer, frozen=True):
    """The decisions; `repeated` if this key was answered before, and these are the same ones."""

    decisions: tuple[Decision, ...]
    repeated: bool = False


class Reward(Request):
    """The reward of one decision, which is named by its id or by the key of its ask."""

    reward: float
    id: Key | None = None
    key: Key | None = None


Tell = Reward | Annotated[list[Reward], Meta(min_length=1, max_length=MOST_ITEMS)]


class Outcome(Answer, frozen=True):
    """What became of a reward: "recorded", "held" until its window closes, or "duplicate"."""

    id: str
    status: str


class Told(Answer, frozen=True):
    """The outcomes, in the order of the request."""

    outcomes: tuple[Outcome, ...]


class Named(Request):
    """A decision, named by its id or by the key of its ask."""

    id: Key | None = None
    key: Key | None = None


class Done(Answer, frozen=True):
    """An event was recorded; `changed` is false if that was so before."""

    changed: bool
    seq: int


# --- many pulls at once ------------------------------------------------------------------------


class HandOut(Request):
    """Ask for a whole plan at once, at most `limit` pulls of it."""

    limit: Annotated[int, Meta(ge=1, le=1_000_000)]
    key: Key | None = None


class Batch(Answer, frozen=True):
    """How often each arm is to be pulled; results are told under `id`."""

    id: str
    pulls: tuple[int, ...]
    repeated: bool = False


class BatchResults(Request):
    """Results of a part of a batch: pulls and sums of rewards by arm. The key makes it count once.

    The test of the structure counts a batch once all of it has come.
    """

    pulls: Annotated[list[Count], Meta(max_length=MOST_ITEMS)]
    sums: Annotated[list[float], Meta(max_length=MOST_ITEMS)]
    key: Key
    squares: Annotated[list[float], Meta(max_length=MOST_ITEMS)] | None = None


class Learn(BatchResults):
    """Results of pulls that the service did not ask for, such as logged data."""


# --- administration ------------------------------------------------------------------------------


class Create(Request):
    """A new experiment, or a new version: what its TOML file says, with no files left to read."""

    spec: dict[str, Any]


class Carry(Request):
    """Which rewards of the version before the new one begins with: by the rows of its log.

    `without` names ranges of rows to leave out, both ends included: with [[1, 5000]] only rewards that
    came after row 5,000 count. With `up_to`, rewards that came after this row are left out.
    """

    up_to: Count | None = None
    without: Annotated[list[tuple[Count, Count]], Meta(max_length=1_000)] = []


class NewVersion(Create):
    """A new version, which begins with rewards of the one before, and gets those that still come for it.

    `carry` says which, by the rows of the log: `without` are ranges of rows to leave out, both ends
    included, so that with [[1, 5000]] only rewards count that came after row 5,000; `up_to` leaves out
    what came after a row. With null it learns nothing of the version before.
    """

    carry: Carry | None = msgspec.field(default_factory=Carry)
    key: Key | None = None


class Park(Request):
    """Leave an arm out of all plans, or (`parked` false) let plans use it again."""

    arm: Arm
    parked: bool = True


class Nothing(Request):
    """A request without content: {}."""


class NewToken(Request):
    """A token to make; `experiments` is null for all."""

    name: Key
    role: Literal["read", "ask", "admin"]
    experiments: Annotated[list[Key], Meta(min_length=1, max_length=1_000)] | None = None


class TokenView(Answer, frozen=True):
    """A token, without its secret; `text` holds it once, in the answer that made the token."""

    id: str
    name: str
    role: str
    experiments: tuple[str, ...] | None
    made_at: int
    revoked_at: int | None
    text: str | None = None


class TokenList(Answer, frozen=True):
    """All tokens, those that were revoked included."""

    tokens: tuple[TokenView, ...]


class Created(Answer, frozen=True):
    """An experiment, or a version of it, and whether it was made by this request."""

    name: str
    version: int
    uid: str
    created: bool


# --- reading ---------------------------------------------------------------------------------------


class ArmView(Answer, frozen=True):
    """What is known of an arm.

    `low` and `high` are its confidence interval, `status` is "active", "dropped" or "parked",
    `dropped_after` the number of rewards after which it was seen to be dropped. `wanted` counts the
    rewards that the plan still waits for, and `out` those of them whose pulls were handed out.
    """

    index: int
    name: str
    pulls: int
    mean: float | None
    low: float | None
    high: float | None
    status: str
    dropped_after: int | None
    planned: int
    wanted: int
    out: int

    @property
    def interval(self) -> tuple[float, float]:
        """The confidence interval, with infinite ends where there are none."""
        low = -math.inf if self.low is None else self.low
        return low, math.inf if self.high is None else self.high

    @property
    def in_the_race(self) -> bool:
        """May the policy still choose it? A parked arm stays in the race unless it was dropped."""
        parked_in_time = self.status == "parked" and self.dropped_after is None
        return self.status == "active" or parked_in_time


class ModelView(Answer, frozen=True):
    """A model and how likely it is, if one of the models is right."""

    name: str
    weight: float


class ModelsView(Answer, frozen=True):
    """How many models there are, how many fit the intervals of all arms, and the likeliest.

    For structures that are no tables, `total` and `fitting` count pieces. `names` are at most 20.
    """

    total: int | None
    fitting: int | None
    names: tuple[str, ...]
    likely: tuple[ModelView, ...]


class MisfitView(Answer, frozen=True):
    """How much the rewards speak against the structure: an e-value, and the arms furthest off."""

    e_value: float | None  # null if it is too large for a number
    log10_e: float
    p_value: float
    level: float
    refuted: bool
    arms: tuple[str, ...]


class BestArmView(Answer, frozen=True):
    """An arm that is said to be best, and how likely it is that this is ever wrong."""

    arm: str
    error: float


class CertificateView(Answer, frozen=True):
    """Which arm is best, and how sure, however often one looks."""

    given_models: BestArmView | None  # null without a structure, or with too large a one
    from_arms: BestArmView  # by the rewards of the arms alone
    rewards: int  # that count: those before the oldest that is still out


class StopView(Answer, frozen=True):
    """When it counts as decided which arm is best, and whether it is."""

    level: float  # at most this is the probability that it is ever another one
    then: str  # "notify", or "freeze": from then on that arm is played
    arm: str | None  # null while it is not decided
    rewards: int | None  # after so many of them


class Alarm(Answer, frozen=True):
    """Something that a person should look at.

    Kinds: "structure" (refuted), "clock", "horizon" (played beyond it), "read-only", "empty" (no model
    fits), "replay" (a restart could not derive its decisions again), "stopped" (the policy failed,
    or rows contradict the store), "waiting" (rewards are not tested, since an older one is missing),
    "untested" (late rewards are learned, so there is no test of the structure).
    """

    kind: str
    text: str
    since: int | None = None  # milliseconds since 1970


class Side(Answer, frozen=True):
    """Pulls and mean of one side of a comparison."""

    pulls: int
    mean: float | None
    low: float | None
    high: float | None


class ControlView(Answer, frozen=True):
    """The share on a fixed arm beside the policy's own decisions."""

    arm: str
    share: float
    control: Side
    policy: Side


class RegretView(Answer, frozen=True):
    """Between which numbers the regret so far lies if the structure is right."""

    least: float
    most: float


class HistoryPoint(Answer, frozen=True):
    """How it stood at some time: for the curves of the dashboard (at most 500 points)."""

    at: int
    rewards: int
    total: float
    fitting: int | None
    active: int
    log10_e: float | None


class VersionView(Answer, frozen=True):
    """A version of an experiment."""

    number: int
    uid: str
    made_at: int
    events: int
    current: bool
    pending: int


class State(Answer, frozen=True):
    """All that the dashboard shows of an experiment; `state` is "running", "paused" or "read-only"."""

    name: str
    version: int
    uid: str
    seq: int
    state: str
    policy: str
    order: str
    horizon: int | None
    asked: int
    rewards: int
    pending: int
    held: int
    oldest_pending_seconds: float | None
    window_seconds: float | None
    missing: float | str | None
    empty: int
    extra: int
    arms: tuple[ArmView, ...]
    models: ModelsView | None
    misfit: MisfitView | None
    regret: RegretView | None
    control: ControlView | None
    alarms: tuple[Alarm, ...]
    fallback: str  # "klucb", "control" or "none"
    fallen_back: bool
    history: tuple[HistoryPoint, ...]
    versions: tuple[VersionView, ...]
    reward_range: tuple[float, float] | None = None  # null if any reward may come
    certificate: CertificateView | None = None  # null if late rewards are learned
    stop: StopView | None = None  # null unless specified, and once a fallback plays


class Summary(Answer, frozen=True):
    """An experiment in the list of all."""

    name: str
    version: int
    state: str
    rewards: int
    pending: int
    alarms: int


class Specification(Answer, frozen=True):
    """What an experiment consists of now: the content of its file, with no files left to read."""

    version: int
    spec: dict[str, Any]


class ArmList(Answer, frozen=True):
    """What is known of each arm."""

    arms: tuple[ArmView, ...]


class CloudEvent(Answer, frozen=True):
    """A row of the log as a CloudEvent (version 1.0): one line of JSON for each.

    `id` is the uid of the version and the number of the row: events are in order, and each comes once.
    """

    specversion: str
    id: str
    source: str
    type: str
    time: str
    data: dict[str, Any]
    datacontenttype: str = "application/json"


class Health(Answer, frozen=True):
    """Is the process alive, or ready for requests?"""

    ok: bool
    detail: str = ""


class Listing(Answer, frozen=True):
    """All experiments that the token may see."""

    experiments: tuple[Summary, ...]


class Problem(Answer, frozen=True):
    """Why a request was refused (RFC 9457, application/problem+json)."""

    type: str
    title: str
    status: int
    detail: str
    recorded: float | None = None  # the reward that stands, where another was told
