"""Random lives of an experiment, of which a clerk keeps the books beside the service.

Every command is sent to a real owner of a store and judged by `oracles.service_books`; status, answer and
all counts must be the same. Commands come twice, late and in another order; the owner is closed or dropped
in between, and what was not written is then forgotten by both.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from oracles.service_books import UNKNOWN, Book, Books, Judged, Results, Terms
from support.owned import NAME, Answered, Shop, answered, in_memory

from structured_bandits.service import wire
from structured_bandits.service.experiment.accounting import results_of_log
from structured_bandits.service.running.chores import settle
from structured_bandits.service.running.lifecycle import create, new_version
from structured_bandits.service.store_protocol import all_events

#: Tables whose arms overlap, so that versions carry a part of each other.
TABLES: tuple[dict[str, Any], ...] = (
    {"arms": ["tea", "coffee", "cocoa"], "means": [[0.75, 0.25, 0.5], [0.25, 0.75, 0.5]]},
    {"arms": ["milk", "cocoa", "tea"], "means": [[0.75, 0.25, 0.5], [0.5, 0.75, 0.125]]},
    {"arms": ["coffee", "milk"], "means": [[0.75, 0.25], [0.25, 0.75], [0.5, 0.5]]},
)
POLICIES = ("SAE", "SUCB", "UCB", "KLUCB", "ModelTS", "TSC")
KEYS = tuple("abcdefghij")
WINDOW = 60  # seconds


class Clerked:
    """One life; `run` lets it go on for some commands."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.rng = Random(seed)
        self.shop = Shop(folder)
        self.books = Books()
        self.sent: list[Callable[[], None]] = []
        self.seqs: dict[str, list[tuple[int, int]]] = {}  # first and last row of each page
        self.spec, terms = self._draw_spec()
        created = self.shop.create(self.spec)
        assert created.status == 200
        self.books.add_version(Book(terms, created.content.uid), None)
        self._turn_pages()
        self._keep()

    # --- commands, each as often as its weight

    def run(self, commands: int) -> None:
        """Send commands, and check everything after each."""
        weights = {
            self._draw_ask: 8,
            self._draw_tell: 9,
            self._draw_named: 4,
            self._draw_batch: 2,
            self._draw_results: 4,
            self._draw_learn: 2,
            self._draw_park: 1,
            self._draw_pause: 1,
            self._draw_version: 1,
            self._draw_create: 0.3,
            self._send_again: 6,
            self._pass_time: 3,
            self._write: 2,
            self._restart: 0.7,
        }
        for draw in self.rng.choices(list(weights), list(weights.values()), k=commands):
            draw()
            self._turn_pages()
            self.compare()

    def end(self) -> None:
        """Check the log against the books, and derive all decisions again."""
        self.shop.registry.writer.write_now()
        for verdict in self.shop.verdicts():
            assert verdict.exit_code == 0, verdict
        store = self.shop.registry.store
        for book, row in zip(self.books.versions, store.versions(), strict=True):
            version = next(v for v in self._served.versions if v.row.id == row.id)
            windowed = book.terms.window is not None and version.state is not None
            settled = version.state.settled_before if windowed and version.state else math.inf
            found = results_of_log(all_events(store, row.id), len(book.terms.arms), settled)
            self._same_totals(book, found.pulls, found.sums)
        self.shop.close()

    def _send(self, command: Callable[[], None]) -> None:
        """Send a command; it may come again."""
        self.sent.append(command)
        command()

    def _send_again(self) -> None:
        if self.sent:
            self.rng.choice(self.sent[-12:])()

    def _call(self, judged: Judged, does: Callable[[Any], Any]) -> Answered:
        """Send a request; nothing may be recorded of one that is refused or known."""
        before = self._heads()
        found = answered(lambda: does(self.shop.registry))  # it is written later
        assert found.status in judged.statuses, (found, judged)
        if found.status != 200 or not judged.changed:
            assert self._heads() == before, found
        return found

    # --- asking

    def _draw_ask(self) -> None:
        rng = self.rng
        n = rng.choice((1, 1, 1, 2, 5))
        key = rng.choice(KEYS) if rng.random() < 0.6 else None
        available: list[int | str] | None = None
        if rng.random() < 0.3:
            every: list[int | str] = ["tea", "coffee", "cocoa", "milk", 0, 1, 2]
            available = rng.sample(every, rng.randint(1, 3))
        defer = rng.random() < 0.25
        self._send(lambda: self._ask(n, available, key, defer))

    def _ask(
        self, n: int, available: Sequence[int | str] | None, key: str | None, defer: bool
    ) -> None:
        book = self.books.current
        judged = book.judge_ask(n, available, key, defer)
        request = wire.Ask(n=n, available=None, key=key, defer=defer)
        request.available = None if available is None else list(available)
        found = self._call(judged, lambda registry: registry.find(NAME).ask(request))
        if found.status != 200:
            return
        numbers = [self._number(book, each.id) for each in found.content.decisions]
        arms = [each.arm for each in found.content.decisions]
        assert len(numbers) == n
        assert found.content.repeated == (not judged.changed)
        if judged.changed:
            assert set(arms) <= judged.said
            book.give(numbers, arms, key, defer, self._now)
        else:
            assert numbers == judged.said
            assert arms == [book.given[number].arm for number in numbers]

    # --- rewards

    def _draw_tell(self) -> None:
        items = [self._draw_name() for _ in range(self.rng.choice((1, 1, 1, 2, 4)))]
        if self.rng.random() < 0.2:
            items.append(items[0])
        rewards = [self._draw_reward() for _ in items]
        self._send(lambda: self._tell(items, rewards))

    def _draw_reward(self) -> float:
        if self.rng.random() < 0.03:
            return self.rng.choice((1.5, -0.125, math.inf))
        return self.rng.choice((0.0, 0.125, 0.5, 1.0, 1.0))

    def _draw_name(self) -> tuple[str | None, str | None]:
        """Return the id or the key of a decision, mostly of one that was handed out lately."""
        rng = self.rng
        if rng.random() < 0.3:
            return None, rng.choice(KEYS)
        book = rng.choice(self.books.versions[-3:])
        numbers = list(book.given)[-10:]
        if not numbers or rng.random() < 0.04:
            return rng.choice((f"{book.uid}-{len(book.given) + 50}", "no id")), None
        number = rng.choice(numbers)
        return f"{book.uid}-{number}" if number >= 0 else f"{book.uid}-p{-number}", None

    def _find(self, name: tuple[str | None, str | None]) -> tuple[Book, int] | None:
        public, key = name
        if public is None:
            return self.books.key_of_decision(key or "")
        for book in self.books.versions:
            if public.startswith(book.uid):
                return book, self._number(book, public)
        return None

    def _tell(self, names: Sequence[tuple[str | None, str | None]], rewards: list[float]) -> None:
        told = list(zip(map(self._find, names), rewards, strict=True))
        judged = self.books.judge_rewards(told)
        listed = [
            wire.Reward(id=public, key=key, reward=reward)
            for (public, key), reward in zip(names, rewards, strict=True)
        ]
        found = self._call(judged, lambda registry: registry.find(NAME).tell(listed))
        if found.status == 200:
            assert [each.status for each in found.content.outcomes] == judged.said
            self.books.take_rewards(told)

    def _draw_named(self) -> None:
        name, verb = self._draw_name(), self.rng.choice(("cancel", "activate"))
        self._send(lambda: self._named(verb, name))

    def _named(self, verb: str, name: tuple[str | None, str | None]) -> None:
        place = self._find(name)
        judged = Judged(frozenset({UNKNOWN}))
        if place is not None:
            judged = getattr(place[0], verb)(place[1])
        request = wire.Named(id=name[0], key=name[1])
        found = self._call(judged, lambda registry: getattr(registry.find(NAME), verb)(request))
        if found.status == 200:
            assert found.content.changed == judged.changed

    # --- many at once

    def _draw_batch(self) -> None:
        limit = self.rng.choice((1, 3, 20))
        key = self.rng.choice(KEYS) if self.rng.random() < 0.5 else None
        self._send(lambda: self._hand_out(limit, key))

    def _hand_out(self, limit: int, key: str | None) -> None:
        book, life = self.books.current, self._served.state
        refuted = life.fallen_at is not None and life.spec.fallback == "control"
        judged = book.judge_hand_out(limit, key, refuted)
        request = wire.HandOut(limit=limit, key=key)
        found = self._call(judged, lambda registry: registry.find(NAME).hand_out(request))
        if found.status != 200:
            return
        number = self._number(book, found.content.id)
        assert found.content.repeated == (not judged.changed)
        if judged.changed:
            book.give_batch(number, list(found.content.pulls), limit, key)
        else:
            assert (number, list(found.content.pulls)) == judged.said

    def _draw_results(self) -> None:
        open_ones = [
            (book, number) for book in self.books.versions for number in list(book.bundles)[-4:]
        ]
        if not open_ones:
            return
        book, number = self.rng.choice(open_ones)
        few = [min(left, self.rng.randint(0, 3)) for left in book.bundles[number]]
        if self.rng.random() < 0.1:
            few[0] += 1
        key, results = self.rng.choice(KEYS) + "r", self._draw_sums(few)
        key += str(self.rng.randint(0, 20))
        public = f"{book.uid}-{number + (self.rng.random() < 0.05)}"
        self._send(lambda: self._results(book.uid, public, results, key))

    def _results(self, uid: str, public: str, results: Results, key: str) -> None:
        book = next(each for each in self.books.versions if each.uid == uid)
        judged = book.results(self._number(book, public), results, key)
        request = wire.BatchResults(**results._asdict(), key=key)
        found = self._call(judged, lambda registry: registry.find(NAME).results(public, request))
        if found.status == 200:
            assert found.content.changed == judged.changed

    def _draw_learn(self) -> None:
        arms = len(self.books.current.terms.arms)
        results = self._draw_sums([self.rng.randint(0, 4) for _ in range(arms)])
        key = self.rng.choice(KEYS) + ("l" if self.rng.random() < 0.7 else "")
        self._send(lambda: self._learn(results, key))

    def _learn(self, results: Results, key: str) -> None:
        judged = self.books.learn(results, key)
        request = wire.Learn(**results._asdict(), key=key)
        found = self._call(judged, lambda registry: registry.find(NAME).learn(request))
        if found.status == 200:
            assert found.content.changed == judged.changed

    def _draw_sums(self, pulls: list[int], always_right: bool = False) -> Results:
        """Return results of so many pulls; sometimes such that no rewards have them."""
        rewards = [[self.rng.choice((0.0, 0.25, 1.0)) for _ in range(count)] for count in pulls]
        sums = [sum(each) for each in rewards]
        squares = [sum(x * x for x in each) for each in rewards]
        if not always_right and self.rng.random() < 0.06:
            sums[-1] = pulls[-1] + 0.5
        known = self.rng.random() < 0.8
        return Results(
            pulls, [float(x) for x in sums], list(map(float, squares)) if known else None
        )

    # --- administration

    def _draw_park(self) -> None:
        arm, parked = self.rng.randint(0, 3), self.rng.random() < 0.6
        self._send(lambda: self._park(arm, parked))

    def _park(self, arm: int, parked: bool) -> None:
        judged = self.books.current.park(arm, parked)
        found = self._call(
            judged, lambda registry: registry.find(NAME).park(wire.Park(arm=arm, parked=parked))
        )
        if found.status == 200:
            assert found.content.changed == judged.changed

    def _draw_pause(self) -> None:
        paused = self.rng.random() < 0.4
        self._send(lambda: self._pause(paused))

    def _pause(self, paused: bool) -> None:
        judged = self.books.current.pause(paused)
        found = self._call(judged, lambda registry: registry.find(NAME).pause(paused))
        assert found.content.changed == judged.changed

    def _draw_create(self) -> None:
        """Create the same once more, which is known, or another, which is refused."""
        spec = self.spec if self.rng.random() < 0.5 else self._draw_spec()[0]
        judged = Judged() if spec == self.spec else Judged(frozenset({409}))
        found = self._call(judged, lambda registry: create(registry, NAME, spec))
        if found.status == 200:
            assert not found.content.created

    def _draw_version(self) -> None:
        rng = self.rng
        spec, terms = self._draw_spec()
        key = rng.choice(KEYS) + "v" if rng.random() < 0.5 else None
        pages = len(self.seqs[self.books.current.uid]) - 1
        up_to = rng.randint(0, pages) if rng.random() < 0.4 else None
        ranges = [sorted((rng.randint(0, pages), rng.randint(0, pages))) for _ in range(2)]
        without = [(a, b) for a, b in ranges] if rng.random() < 0.4 else []
        carries = rng.random() < 0.8
        self._send(lambda: self._version(spec, terms, key, carries, up_to, without))

    def _version(
        self,
        spec: dict[str, Any],
        terms: Terms,
        key: str | None,
        carries: bool,
        up_to: int | None,
        without: list[tuple[int, int]],
    ) -> None:
        seqs = self.seqs[self.books.current.uid]
        end = len(seqs) - 1  # the request may come again for a younger version
        up_to = None if up_to is None else min(up_to, end)
        without = [(min(a, end), min(b, end)) for a, b in without]
        carry = None
        if carries:
            last = None if up_to is None else seqs[up_to][1]
            carry = wire.Carry(up_to=last, without=[(seqs[a][0], seqs[b][1]) for a, b in without])
        request = wire.NewVersion(spec=spec, carry=carry, key=key)
        asked = (
            copy.deepcopy(spec),
            carries,
            None if carry is None else (carry.up_to, carry.without),
        )
        judged = self.books.judge_version(key, asked, terms.arms)
        found = self._call(judged, lambda registry: new_version(registry.find(NAME), request))
        if found.status != 200:
            return
        assert (found.content.version, found.content.created) == (judged.said, judged.changed)
        if judged.changed:
            carried = self.books.carried(terms.arms, up_to, without) if carries else None
            self.books.add_version(Book(terms, found.content.uid), carried, key, asked)
            self.spec = spec

    def _draw_spec(self) -> tuple[dict[str, Any], Terms]:
        """Return a specification, and what the clerk needs of it."""
        rng = self.rng
        table = rng.choice(TABLES)
        arms = tuple(table["arms"])
        spec: dict[str, Any] = {
            "structure": {"kind": "finite", **table},
            "policy": {"kind": rng.choice(POLICIES)},
            "horizon": 10**6,
            "order": rng.choice(("turn", "drawn")),
            "seed": rng.randint(0, 99),
        }
        default = rng.choice((None, 0, len(arms) - 1))
        fallbacks = (
            ["klucb", "none"] if spec["policy"]["kind"] not in ("UCB", "KLUCB") else ["none"]
        )
        if default is not None and rng.random() < 0.5:
            spec["control"] = {"arm": default, "share": 0.2}
            fallbacks += ["control"] * (len(fallbacks) > 1)
        elif default is not None:
            spec["default_arm"] = arms[default]
        spec["alarm"] = {"fallback": rng.choice(fallbacks), "level": 0.01}
        if rng.random() < 0.3:
            spec["audit"] = {"share": 0.1}
        window, missing, late = None, None, False
        if rng.random() < 0.5:
            window, missing = WINDOW, rng.choice((None, 0.0, 0.5))
            late = missing is None and rng.random() < 0.6
            spec["reward"] = {
                "window": f"{WINDOW}s",
                "missing": "cancel" if missing is None else missing,
            }
            if late:
                spec["reward"] |= {"late": "learn"}
                spec["alarm"] |= {"fallback": "none"}  # the structure is not tested then
        start = None
        if rng.random() < 0.3:
            start = self._draw_sums([rng.randint(0, 3) for _ in arms], always_right=True)
            spec["start"] = {**start._asdict(), "force": True}
        milliseconds = None if window is None else 1000 * window
        return spec, Terms(arms, 0.0, 1.0, milliseconds, missing, late, default, start)

    # --- time, disk and restarts

    def _pass_time(self) -> None:
        self.shop.time.pass_by(self.rng.choice((0, 1, 20, WINDOW - 1, WINDOW, 400)))
        if self.rng.random() < 0.8:
            while settle(self.shop.registry):
                pass
            for book in self.books.versions:
                book.settle(self._now)

    def _write(self) -> None:
        self.shop.registry.writer.write_now()
        self._keep()

    def _keep(self) -> None:
        """Remember what is on the disk."""
        self.shop.registry.writer.write_now()
        self.kept = copy.deepcopy((self.books, self.seqs, self.spec))

    def _restart(self) -> None:
        """End the owner in order, or as a loss of power would: then what was not written is gone."""
        if self.rng.random() < 0.5:
            self.shop.restart()
        else:
            self.shop.restart(in_order=False)
            self.books, self.seqs, self.spec = copy.deepcopy(self.kept)
            self.sent.clear()  # they name what was never handed out
        assert self._served.warnings == []
        self._turn_pages()
        self._keep()

    # --- comparing

    @property
    def _served(self) -> Any:
        return self.shop.registry.find(NAME)

    @property
    def _now(self) -> int:
        return int(1000 * self.shop.time.wall)

    @staticmethod
    def _number(book: Book, public: str) -> int:
        text = public.removeprefix(f"{book.uid}-")
        return -int(text[1:]) if text.startswith("p") else int(text)

    def _heads(self) -> list[tuple[str, int]]:
        """Return the number of the last row of each version."""
        return [
            (each.uid, each.row.head if each.state is None else each.state.seq)
            for each in self._served.versions
        ]

    def _turn_pages(self) -> None:
        """Note which rows the clerk's last page of each version is about."""
        for (uid, head), book in zip(self._heads(), self.books.versions, strict=True):
            pages = self.seqs.setdefault(uid, [])
            pages.append(((pages[-1][1] if pages else 0) + 1, head))
            book.page = len(pages)

    def compare(self) -> None:
        """Everything that is counted must be what the books say."""
        versions = self._served.versions
        assert [each.uid for each in versions] == [each.uid for each in self.books.versions]
        for book, version in zip(self.books.versions, versions, strict=True):
            life = version.state
            assert (life is None) == book.closed
            if life is None:
                continue
            agent = life.agent
            found = (agent.pending_count, len(life.held), life.paused, set(agent.parked))
            assert found == (book.out, book.held, book.paused, book.parked)
            self._same_totals(book, agent.pulls.tolist(), agent.sums.tolist())
            squares = book.totals().squares or []
            assert all(
                a == b or (math.isnan(a) and math.isnan(b))
                for a, b in zip(squares, agent.squares.tolist(), strict=True)
            ), (squares, agent.squares)

    @staticmethod
    def _same_totals(book: Book, pulls: Sequence[int], sums: Sequence[float]) -> None:
        expected = book.totals()
        assert (list(pulls), list(sums)) == (expected.pulls, expected.sums)


def clerked_life(seed: int, commands: int = 60) -> None:
    """Live one random life; raises AssertionError if the service and the clerk disagree."""
    with in_memory() as own:
        life = Clerked(own, seed)
        try:
            life.run(commands)
            life.end()
        finally:
            life.shop.drop()


def soak_books(seconds: float, first_seed: int = 0, commands: int = 200) -> int:
    """Live random lives for some time; return how many."""
    lives, until = 0, time.monotonic() + seconds
    while time.monotonic() < until:
        clerked_life(first_seed + lives, commands)
        lives += 1
    return lives
