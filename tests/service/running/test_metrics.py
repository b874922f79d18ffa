"""What Prometheus reads: the numbers that were counted, under names that do not change."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families

from structured_bandits.service.running.metrics import (
    MOST_ARMS,
    ArmReading,
    ExperimentReading,
    Histogram,
    Metrics,
    ServerReading,
)

ARMS = [ArmReading("Earl Grey", 3, 0.5), ArmReading('a "quoted"\nname\\', 0, None)]
TEA = ExperimentReading(
    "tea",
    pending=7,
    active_arms=2,
    held=1,
    oldest_pending_seconds=3.5,
    alarms=["structure", "clock"],
    snapshot_age_seconds=60.0,
    replay_seconds=0.25,
    epoch=4,
    arms=ARMS,
)


def metrics_of(*experiments: ExperimentReading, queue: int = 0) -> Metrics:
    return Metrics(lambda: ServerReading(queue, False, experiments), version="1.2.3")


def samples(metrics: Metrics) -> dict[tuple[Any, ...], float]:
    """Return the values by name and labels; labels are written in the order of the alphabet."""
    text = metrics.render()[0].decode()
    return {
        (sample.name.removeprefix("structured_bandits_"), *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_what_was_counted_is_read() -> None:
    metrics = metrics_of()
    metrics.count_decisions("tea", "plan", 3)
    metrics.count_decisions("tea", "plan")
    metrics.count_decisions("tea", "restricted")
    metrics.count_rewards("tea", "recorded", 2)
    metrics.count_rewards("tea", "duplicate")
    metrics.count_conflict("tea")
    metrics.count_request("ask", 200, 0.003)
    metrics.count_request("ask", 200, 0.3)
    metrics.count_request("ask", 429, 0.0)
    metrics.observe_commit(0.004, rows=10)
    metrics.observe_commit(0.004, rows=5)
    metrics.count_failed_commit()
    found = samples(metrics)
    expected = {
        ("decisions_total", "tea", "plan"): 4,
        ("decisions_total", "tea", "restricted"): 1,
        ("rewards_total", "tea", "recorded"): 2,
        ("rewards_total", "tea", "duplicate"): 1,
        ("conflicts_total", "tea"): 1,
        ("committed_events_total",): 15,
        ("failed_commits_total",): 1,
        ("commit_seconds_bucket", "0.002"): 0,
        ("commit_seconds_bucket", "0.005"): 2,
        ("commit_seconds_count",): 2,
        ("commit_seconds_sum",): 0.008,
        ("request_seconds_bucket", "ask", "0.005", "200"): 1,
        ("request_seconds_count", "ask", "200"): 2,
        ("request_seconds_count", "ask", "429"): 1,
        ("build_info", "1.2.3"): 1,
    }
    assert {key: found[key] for key in expected} == pytest.approx(expected)


def test_how_the_server_stands_is_asked_when_it_is_read() -> None:
    queue = [0]
    metrics = Metrics(lambda: ServerReading(queue[0], False, []))
    assert samples(metrics)["queue_events",] == 0
    queue[0] = 12
    assert samples(metrics)["queue_events",] == 12


def test_an_experiment_shows_how_it_stands() -> None:
    found = samples(metrics_of(TEA))
    expected = {
        ("pending", "tea"): 7,
        ("held", "tea"): 1,
        ("oldest_pending_seconds", "tea"): 3.5,
        ("active_arms", "tea"): 2,
        ("alarm", "tea", "structure"): 1,
        ("alarm", "tea", "clock"): 1,
        ("snapshot_age_seconds", "tea"): 60,
        ("replay_seconds", "tea"): 0.25,
        ("epoch", "tea"): 4,
        ("arm_pulls", "Earl Grey", "tea"): 3,
        ("arm_pulls", 'a "quoted"\nname\\', "tea"): 0,
        ("arm_mean", "Earl Grey", "tea"): 0.5,
    }
    assert {key: found[key] for key in expected} == expected
    assert ("arm_mean", 'a "quoted"\nname\\', "tea") not in found


def test_what_is_not_known_is_left_out() -> None:
    found = samples(metrics_of(ExperimentReading("tea", pending=0, active_arms=2)))
    assert ("oldest_pending_seconds", "tea") not in found
    assert not [key for key in found if key[0] == "alarm"]


def test_many_arms_get_no_series_of_their_own() -> None:
    for count, shown in ((MOST_ARMS, MOST_ARMS), (MOST_ARMS + 1, 0)):
        arms = [ArmReading(str(number), 1, 0.5) for number in range(count)]
        found = samples(metrics_of(TEA._replace(arms=arms)))
        assert len([key for key in found if key[0] == "arm_pulls"]) == shown


def test_an_alarm_that_rings_twice_is_one_series() -> None:
    found = samples(metrics_of(TEA._replace(alarms=["clock", "clock"])))
    assert found["alarm", "tea", "clock"] == 1


def test_a_reader_chooses_the_format() -> None:
    text, content_type = metrics_of(TEA).render("application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text")
    names = {family.name for family in open_metrics(text.decode())}
    assert "structured_bandits_decisions" in names
    assert metrics_of().render("garbage/\0")[1].startswith("text/plain")


def test_the_last_bucket_holds_all() -> None:
    histogram = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 2.5, float("inf")):
        histogram.observe(value)
    assert histogram.buckets()[0] == [("1.0", 2), ("2.0", 3), ("+Inf", 5)]
