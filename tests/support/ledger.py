"""What a client of the service remembers, and whether the service remembers the same.

The ledger is naive on purpose: a list of requests with their answers. What was answered must be in the
log; what was sent and not answered may be there or not; nothing else may be there, and nothing twice.
What was refused because its window had closed must not be there.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import psycopg
from support.service_process import Answer


@dataclass(eq=False)
class Sent:
    """A request; `answer` is what was acknowledged first, None as long as nothing was.

    A key belongs to a version: `others` are what an ask got when it was sent again to a newer one.
    """

    verb: str  # ask, tell, cancel, activate, learn, plan, results, versions, park
    path: str
    content: Any
    answer: Any = None
    others: list[Any] = field(default_factory=list)
    refused: bool = False

    @property
    def counts_once(self) -> bool:
        """May it be sent again? An ask without a key would be another request then, and so would a
        `park`, if somebody has used the arm again meanwhile."""
        return self.verb != "park" and (self.verb != "ask" or "key" in self.content)


@dataclass
class Ledger:
    """All requests to one experiment, from several threads."""

    sent: list[Sent] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def send(self, verb: str, path: str, content: Any) -> Sent:
        """Note a request before it is sent."""
        request = Sent(verb, path, content)
        with self._lock:
            self.sent.append(request)
        return request

    def note(self, request: Sent, answer: Answer) -> bool:
        """Note what came back; is it an acknowledgement that was not known before?

        503 says that nobody knows, and 409 that the window of a decision has closed, which the log must
        confirm; everything else unexpected is wrong.
        """
        with self._lock:
            self.statuses[f"{request.verb} {answer.status}"] += 1
            if answer.status in (200, 201):
                return self._acknowledge(request, answer.content)
            if answer.status == 503:
                return False
            request.refused = True
            if answer.status != 409 or request.verb not in ("tell", "cancel", "activate"):
                self.violations.append(f"refused: {request} was answered by {answer}")
            return False

    def _acknowledge(self, request: Sent, content: Any) -> bool:
        """Compare the answers to a request that was sent several times."""
        if request.answer is None:
            request.answer = content
            return True
        says = {
            "ask": lambda said: said["decisions"],
            "plan": lambda said: [{"id": said["id"], "pulls": said["pulls"]}],
            "versions": lambda said: [{"id": said["uid"]}],
            "tell": lambda said: [{"id": each["id"]} for each in said["outcomes"]],
        }.get(request.verb)
        if says is None or says(content) in [
            says(each) for each in (request.answer, *request.others)
        ]:
            return False
        known = {_uid(says(each)) for each in (request.answer, *request.others)}
        if request.verb in ("ask", "plan") and _uid(says(content)) not in known:
            request.others.append(content)
            return True
        self.violations.append(f"changed: {request} was later answered by {content}")
        return False

    @property
    def acknowledged(self) -> int:
        """How many answers of success came."""
        return sum(
            count for said, count in self.statuses.items() if said.endswith((" 200", " 201"))
        )

    def unanswered(self) -> list[Sent]:
        """Return what an honest client would send again."""
        with self._lock:
            waiting = [each for each in self.sent if each.answer is None and each.counts_once]
            return [each for each in waiting if not each.refused]


def _uid(said: list[dict[str, Any]]) -> str:
    """Return the version that an answer is of."""
    return str(said[0]["id"]).partition("-")[0]


class Row(NamedTuple):
    """A row of the log, read with nothing but SQL."""

    uid: str
    seq: int
    kind: str
    decision: int | None
    n: int | None
    arm: int | None
    value: float | None
    key: str | None
    content: dict[str, Any]

    @property
    def id(self) -> str:
        """The public id of its decision."""
        return f"{self.uid}-{self.decision}"


ROWS = (
    "SELECT uid, seq, kind, decision, n, arm, value, key, body FROM event"
    " JOIN version ON version.id = event.version"
    " JOIN experiment ON experiment.id = version.experiment"
    " WHERE name = {} ORDER BY version.number, seq"
)


def read_rows(store: str, name: str) -> list[Row]:
    """Return the rows of all versions of an experiment."""
    if store.startswith("postgresql://"):
        with psycopg.connect(store) as server:
            found = server.execute(ROWS.format("%s"), (name,)).fetchall()
    else:
        file = sqlite3.connect(f"{Path(store).as_uri()}?mode=ro", uri=True)
        try:
            found = file.execute(ROWS.format("?"), (name,)).fetchall()
        finally:
            file.close()
    return [Row(*row[:-1], content=json.loads(row[-1] or "{}")) for row in found]


def differences(ledger: Ledger, rows: list[Row]) -> Iterator[str]:
    """Yield where the log is not what the ledger allows."""
    yield from ledger.violations
    yield from _asks(ledger.sent, rows)
    yield from _outcomes(ledger.sent, rows)
    yield from _activations(ledger.sent, rows)
    yield from _parks(ledger.sent, rows)
    yield from _keyed(ledger.sent, rows)


def _asks(sent: list[Sent], rows: list[Row]) -> Iterator[str]:
    logged: dict[str, int] = {}
    unnamed = 0
    for row in rows:
        if row.kind == "ask" and not row.content.get("batch"):
            arms = row.content.get("arms", [row.arm])
            first = row.decision or 0
            logged |= {f"{row.uid}-{first + place}": arm for place, arm in enumerate(arms)}
            unnamed += 0 if row.key else len(arms)
    lost = 0
    for request in sent:
        if request.verb == "ask" and request.answer is not None:
            answers = [request.answer, *request.others]
            for decision in (each for answer in answers for each in answer["decisions"]):
                if logged.get(decision["id"]) != decision["arm"]:
                    yield f"lost: {decision} was handed out, the log has {logged.get(decision['id'])}"
            unnamed -= 0 if "key" in request.content else request.content["n"]
        elif request.verb == "ask" and "key" not in request.content:
            lost += request.content["n"]
    if unnamed > lost:
        yield f"invented: {unnamed} decisions that nobody has, but answers for {lost} were lost"


def _outcomes(sent: list[Sent], rows: list[Row]) -> Iterator[str]:
    logged: dict[str, float | None] = {}
    expired: set[str] = set()
    for row in rows:
        if row.kind in ("tell", "cancel", "expire"):
            if row.id in logged or row.id in expired:
                yield f"twice: {row} and {logged.get(row.id, 'expired')}"
            if row.kind == "expire":
                expired.add(row.id)
            else:
                logged[row.id] = row.value
    meant: dict[str, float | None] = {}
    for request in sent:
        named = [decision for decision, _ in _meant(request)]
        if request.refused and named and expired.isdisjoint(named):
            yield f"lost: {request} was refused, though no window of it has closed"
        if request.refused and request.answer is None and not logged.keys().isdisjoint(named):
            yield f"invented: {request} was refused, and it is in the log"
        for decision, value in _meant(request):
            meant[decision] = value
            if request.answer is not None and (decision not in logged or logged[decision] != value):
                yield f"lost: {decision} was told {value}, the log has {logged.get(decision)}"
    for decision, value in logged.items():
        if decision not in meant or meant[decision] != value:
            yield f"invented: {decision} with {value}"


def _activations(sent: list[Sent], rows: list[Row]) -> Iterator[str]:
    """Compare what was shown; a decision that was told before needs no row that says so."""
    shown = Counter(row.id for row in rows if row.kind == "activate")
    told = {row.id for row in rows if row.kind == "tell"}
    over = {row.id for row in rows if row.kind in ("cancel", "expire")}
    yield from (f"twice: {decision} was activated" for decision, n in shown.items() if n > 1)
    for request in sent:
        if request.verb == "activate":
            decision = request.content["id"]
            if request.answer is not None and decision not in shown and decision not in told:
                yield f"lost: {request}"
            if request.refused and decision not in over:
                yield f"lost: {request} was refused, though nothing speaks against it"


def _parks(sent: list[Sent], rows: list[Row]) -> Iterator[str]:
    """Count how often an arm was parked or used again."""
    parks = [each for each in sent if each.verb == "park"]
    least = sum(each.answer is not None and each.answer["changed"] for each in parks)
    logged = sum(row.kind == "park" for row in rows)
    carried = len({row.uid for row in rows}) - 1  # a new version may begin with the arm parked
    if not least <= logged <= len(parks) + carried:
        word = "lost" if logged < least else "twice"
        yield f"{word}: {logged} changes of arms, of which {least} were acknowledged"


def _meant(request: Sent) -> Iterator[tuple[str, float | None]]:
    if request.verb == "tell":
        for each in request.content:
            yield each["id"], each["reward"]
    elif request.verb == "cancel":
        yield request.content["id"], None


def _keyed(sent: list[Sent], rows: list[Row]) -> Iterator[str]:
    """Compare what counts once by its key: learn, results, plans, versions, asks with keys."""
    logged = Counter(row.key for row in rows if row.key is not None)
    known = {each.content["key"]: each for each in sent if _has_key(each)}
    for key, request in known.items():
        if logged[key] > 1 and request.verb in ("learn", "results"):
            yield f"twice: {request}"
        if not logged[key] and request.answer is not None:
            yield f"lost: {request}"
    for key in logged.keys() - known.keys():
        yield f"invented: the key {key}"
    for row in rows:
        if row.kind in ("learn", "results") and row.key in known:
            content = known[row.key].content
            if [row.content["pulls"], row.content["sums"]] != [content["pulls"], content["sums"]]:
                yield f"changed: {row} was sent as {content}"


def _has_key(request: Sent) -> bool:
    return isinstance(request.content, dict) and "key" in request.content


def totals(rows: list[Row], arms: int, windows: bool) -> list[tuple[int, float]]:
    """Add up what was told to any version: pulls and sum of each arm.

    A version that carries everything over, and gets what comes late, must have the same. With windows
    only decisions before the last that was settled count.
    """
    pulls, sums = [0] * arms, [0.0] * arms
    settled = {row.uid: row.decision or 0 for row in rows if row.kind == "settle"}
    for row in rows:
        if row.kind in ("tell", "expire") and row.arm is not None and row.value is not None:
            if windows and (row.decision or 0) >= settled.get(row.uid, 0):
                continue
            pulls[row.arm] += 1
            sums[row.arm] += row.value
        elif row.kind in ("learn", "results"):
            for arm in range(arms):
                pulls[arm] += row.content["pulls"][arm]
                sums[arm] += row.content["sums"][arm]
    return list(zip(pulls, sums, strict=True))


def shown(state: Any) -> list[tuple[int, float]]:
    """Return pulls and sums as the state of an experiment shows them."""
    return [(arm["pulls"], arm["pulls"] * (arm["mean"] or 0.0)) for arm in state["arms"]]


def agree(told: list[tuple[int, float]], seen: list[tuple[int, float]]) -> bool:
    """Are these the same? Rewards are quarters, so that sums are exact but for one division."""
    return all(
        pulls == seen_pulls and abs(total - seen_total) < 1e-3
        for (pulls, total), (seen_pulls, seen_total) in zip(told, seen, strict=True)
    )
