"""What a monitoring system reads: counts, times and the state of each experiment, for Prometheus.

Requests only add to plain numbers; everything else happens when somebody reads `/metrics`. Each counter
is written by one thread (that of the requests, or the writer's for commits), so no lock is needed.
Names of arms become labels only for experiments with few arms: every label is a time series.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from structured_bandits.base.extras import needs
from structured_bandits.service.running.alarms import alarms_of
from structured_bandits.service.running.running_experiment import RunningExperiment

if TYPE_CHECKING:
    from structured_bandits.service.running.registry import Registry


def server_reading(registry: Registry) -> ServerReading:
    """Return how the server stands."""
    experiments = [_experiment(each) for each in registry.experiments.values()]
    return ServerReading(registry.writer.queued, registry.refusal is not None, experiments)


def _experiment(experiment: RunningExperiment) -> ExperimentReading:
    state, now = experiment.state, experiment.registry.clock.now()
    agent = state.agent
    names = state.spec.arm_names
    arms = []
    if len(names) <= MOST_ARMS:
        for name, pulls, total in zip(names, agent.pulls, agent.sums, strict=True):
            arms.append(ArmReading(name, int(pulls), float(total / pulls) if pulls else None))
    saved = experiment.current.snapshot_at
    return ExperimentReading(
        name=experiment.name,
        pending=agent.pending_count,
        active_arms=len(agent.active_arms),
        held=len(state.held),
        oldest_pending_seconds=oldest_seconds(experiment, now),
        alarms=[alarm.kind for alarm in alarms_of(experiment)],
        snapshot_age_seconds=None if saved is None else (now - saved) / 1000.0,
        replay_seconds=experiment.current.replay_seconds,
        epoch=experiment.registry.epoch,
        decided=None if state.spec.stop is None else agent.settled_arm is not None,
        arms=arms,
    )


def oldest_seconds(experiment: RunningExperiment, now: int) -> float | None:
    """Return the age of the oldest decision whose reward is out."""
    oldest = experiment.state.agent.oldest_out
    return (
        None
        if oldest is None
        else max(0.0, (now - experiment.state.times.time_of(oldest)) / 1000.0)
    )


with needs("The service", extra="serve"):
    from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector
    from prometheus_client.exposition import choose_encoder
    from prometheus_client.metrics_core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        HistogramMetricFamily,
        InfoMetricFamily,
        Metric,
    )
    from prometheus_client.registry import Collector

MOST_ARMS = 50  # of an experiment whose arms have time series of their own
COMMIT_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
REQUEST_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_PREFIX = "structured_bandits_"

Counts = Counter[tuple[object, ...]]  # by the values of the labels


class ArmReading(NamedTuple):
    """How often an arm was pulled, and the mean of its rewards; None if there are none."""

    name: str
    pulls: int
    mean: float | None


class ExperimentReading(NamedTuple):
    """How an experiment stands; what is None is left out."""

    name: str
    pending: int
    active_arms: int
    held: int = 0
    oldest_pending_seconds: float | None = None
    alarms: Sequence[str] = ()  # kinds of alarms that ring
    snapshot_age_seconds: float | None = None
    replay_seconds: float | None = None  # how long it took to rebuild it at the last start
    epoch: int | None = None
    arms: Sequence[ArmReading] = ()
    decided: bool | None = None  # is it certain which arm is best? None if nobody asked


class ServerReading(NamedTuple):
    """How the server stands: events that wait for a commit, may it write, its experiments."""

    queue: int
    read_only: bool
    experiments: Sequence[ExperimentReading]


class Histogram:
    """How often values fell between bounds."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def buckets(self) -> tuple[list[tuple[str, float]], float]:
        """Return how many values are at most each bound, and the sum of all."""
        total, buckets = 0, []
        names = [*(str(bound) for bound in self._bounds), "+Inf"]
        for name, count in zip(names, self._counts, strict=True):
            total += count
            buckets.append((name, float(total)))
        return buckets, self._sum


class Metrics:
    """What the service counts; `read` says how it stands, and is called when the metrics are read.

    >>> metrics = Metrics(lambda: ServerReading(queue=0, read_only=False, experiments=[]))
    >>> metrics.count_decisions("tea", "plan", 2)
    >>> b'decisions_total{experiment="tea",reason="plan"} 2.0' in metrics.render()[0]
    True
    """

    def __init__(self, read: Callable[[], ServerReading], version: str = "") -> None:
        self._read = read
        self._version = version
        self._decisions: Counts = Counter()
        self._rewards: Counts = Counter()
        self._conflicts: Counts = Counter()
        self._requests: dict[tuple[str, int], Histogram] = {}
        self._commit_seconds = Histogram(COMMIT_SECONDS)
        self._committed = 0
        self._failed_commits = 0
        self._registry = CollectorRegistry()
        self._registry.register(_Reader(self._collect))
        ProcessCollector(registry=self._registry)
        GCCollector(registry=self._registry)

    # --- what the service calls --------------------------------------------------------------

    def count_decisions(self, experiment: str, reason: str, n: int = 1) -> None:
        """Count decisions that were handed out; `reason` is as in `wire.Decision`."""
        self._decisions[experiment, reason] += n

    def count_rewards(self, experiment: str, status: str, n: int = 1) -> None:
        """Count rewards that were told; `status` is as in `wire.Outcome`."""
        self._rewards[experiment, status] += n

    def count_conflict(self, experiment: str) -> None:
        """Count a reward that contradicts the one on record."""
        self._conflicts[(experiment,)] += 1

    def count_request(self, endpoint: str, status: int, seconds: float) -> None:
        """Count a request; `endpoint` is one of few names, never a path."""
        seen = self._requests.get((endpoint, status))
        if seen is None:
            seen = self._requests[endpoint, status] = Histogram(REQUEST_SECONDS)
        seen.observe(seconds)

    def observe_commit(self, seconds: float, rows: int) -> None:
        """Count a commit of so many rows (from the thread that writes)."""
        self._commit_seconds.observe(seconds)
        self._committed += rows

    def count_failed_commit(self) -> None:
        """Count a commit that failed (from the thread that writes)."""
        self._failed_commits += 1

    # --- what a reader gets ------------------------------------------------------------------

    def render(self, accept: str = "") -> tuple[bytes, str]:
        """Return the text of `/metrics` and its content type, which the Accept header chooses."""
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type

    def _collect(self) -> Iterator[Metric]:
        reading = self._read()
        yield InfoMetricFamily(f"{_PREFIX}build", "The release.", {"version": self._version})
        yield from self._counters()
        yield from self._histograms()
        yield from _server_gauges(reading)
        yield from _experiment_gauges(reading.experiments)
        yield from _arm_gauges(reading.experiments)

    def _counters(self) -> Iterator[Metric]:
        by_reason, by_status = ("experiment", "reason"), ("experiment", "status")
        yield _counter("decisions", "Decisions handed out.", by_reason, self._decisions)
        yield _counter("rewards", "Rewards told.", by_status, self._rewards)
        yield _counter(
            "conflicts",
            "Rewards refused because another is on record.",
            ("experiment",),
            self._conflicts,
        )
        yield _counter("committed_events", "Events committed.", (), Counter({(): self._committed}))
        yield _counter(
            "failed_commits", "Commits that failed.", (), Counter({(): self._failed_commits})
        )

    def _histograms(self) -> Iterator[Metric]:
        commits = HistogramMetricFamily(f"{_PREFIX}commit_seconds", "Seconds that a commit took.")
        commits.add_metric([], *self._commit_seconds.buckets())
        yield commits
        requests = HistogramMetricFamily(
            f"{_PREFIX}request_seconds",
            "Seconds until a request was answered.",
            labels=["endpoint", "status"],
        )
        for (endpoint, status), histogram in self._requests.copy().items():
            requests.add_metric([endpoint, str(status)], *histogram.buckets())
        yield requests


class _Reader(Collector):
    """What the registry asks when it is read; it describes nothing before."""

    def __init__(self, collect: Callable[[], Iterable[Metric]]) -> None:
        self._collect = collect

    def collect(self) -> Iterable[Metric]:
        return self._collect()

    def describe(self) -> Iterable[Metric]:
        """Return nothing: the registry would else read the server before it runs."""
        return []


def _counter(name: str, text: str, labels: Sequence[str], counts: Counts) -> Metric:
    family = CounterMetricFamily(_PREFIX + name, text, labels=labels)
    for key, count in counts.copy().items():
        family.add_metric([str(part) for part in key], count)
    return family


def _gauge(
    name: str,
    text: str,
    labels: Sequence[str],
    values: Iterable[tuple[Sequence[str], float | None]],
) -> Metric:
    family = GaugeMetricFamily(_PREFIX + name, text, labels=labels)
    for key, value in values:
        if value is not None:
            family.add_metric(key, value)
    return family


def _server_gauges(reading: ServerReading) -> Iterator[Metric]:
    yield _gauge("queue_events", "Events that wait for a commit.", (), [((), reading.queue)])
    yield _gauge("read_only", "1 if nothing can be written.", (), [((), reading.read_only)])


def _experiment_gauges(experiments: Sequence[ExperimentReading]) -> Iterator[Metric]:
    def each(name: str, text: str, value: Callable[[ExperimentReading], float | None]) -> Metric:
        return _gauge(name, text, ["experiment"], [((e.name,), value(e)) for e in experiments])

    yield each("pending", "Decisions without a reward.", lambda e: e.pending)
    yield each("held", "Rewards that wait for their window to close.", lambda e: e.held)
    yield each(
        "oldest_pending_seconds",
        "Age of the oldest decision without a reward.",
        lambda e: e.oldest_pending_seconds,
    )
    yield each("active_arms", "Arms that are not dropped.", lambda e: e.active_arms)
    yield each(
        "snapshot_age_seconds", "Age of the last snapshot.", lambda e: e.snapshot_age_seconds
    )
    yield each("replay_seconds", "Seconds of the last replay.", lambda e: e.replay_seconds)
    yield each("epoch", "How often a server became the owner.", lambda e: e.epoch)
    yield each(
        "decided",
        "1 if it is certain which arm is best.",
        lambda e: None if e.decided is None else float(e.decided),
    )
    yield _gauge(
        "alarm",
        "1 if an alarm rings.",
        ["experiment", "kind"],
        [((e.name, kind), 1.0) for e in experiments for kind in dict.fromkeys(e.alarms)],
    )


def _arm_gauges(experiments: Sequence[ExperimentReading]) -> Iterator[Metric]:
    few = [(e.name, arm) for e in experiments if len(e.arms) <= MOST_ARMS for arm in e.arms]
    labels = ["experiment", "arm"]
    pulls = [((name, arm.name), float(arm.pulls)) for name, arm in few]
    means = [((name, arm.name), arm.mean) for name, arm in few]
    yield _gauge("arm_pulls", "Rewards of an arm.", labels, pulls)
    yield _gauge("arm_mean", "Mean reward of an arm.", labels, means)
