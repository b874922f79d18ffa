"""The files in deploy/ agree with the code that they are about."""

from __future__ import annotations

import configparser
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from structured_bandits.service import server as patience
from structured_bandits.service.http import bodies
from structured_bandits.service.running.metrics import (
    ArmReading,
    ExperimentReading,
    Metrics,
    ServerReading,
)

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
RULES = [
    rule
    for group in yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"]
    for rule in group["rules"]
]
#: Made by Prometheus itself for everything that it reads.
BUILT_IN = {"up"}


def exported() -> tuple[set[str], set[str]]:
    """The names of all metrics and of all labels of a server at work."""
    tea = ExperimentReading("tea", 1, 1, 1, 1.0, ["clock"], 1.0, 1.0, 1, [ArmReading("a", 1, 1.0)])
    metrics = Metrics(lambda: ServerReading(0, False, [tea]))
    metrics.count_decisions("tea", "plan")
    metrics.count_rewards("tea", "recorded")
    metrics.count_conflict("tea")
    metrics.count_request("ask", 200, 0.001)
    metrics.observe_commit(0.001, 1)
    text = metrics.render()[0].decode()
    names = set(re.findall(r"^(\w+)[{ ]", text, re.MULTILINE))
    return names, set(re.findall(r'[{,](\w+)="', text))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_alerts_use_metrics_and_labels_that_exist(rule: dict[str, Any]) -> None:
    names, labels = exported()
    used = set(re.findall(r"\bstructured_bandits_\w+|\bup\b", rule["expr"]))
    assert used
    assert used <= names | BUILT_IN
    selected = re.findall(r'(\w+)(?:=|!=|=~|!~)"', rule["expr"])
    summed = [name for by in re.findall(r"by \(([^)]*)\)", rule["expr"]) for name in by.split(", ")]
    shown = re.findall(r"\$labels\.(\w+)", str(rule["annotations"]))
    assert {*selected, *summed, *shown} <= labels | {"job"}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_alerts_say_how_urgent_they_are_in_whole_sentences(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("page", "ticket")
    for text in rule["annotations"].values():
        assert re.fullmatch(r"(?:[A-Z]|\{\{).*\.", text), text


def test_every_metric_of_a_failure_has_an_alert() -> None:
    watched = " ".join(rule["expr"] for rule in RULES)
    for name in ("read_only", "failed_commits_total", "alarm", "queue_events", "conflicts_total"):
        assert f"structured_bandits_{name}" in watched


def test_the_proxy_has_the_limits_of_the_service() -> None:
    text = (DEPLOY / "nginx.conf").read_text()
    settings = dict(re.findall(r"^ +(client_\w+) (\d+)[ms];$", text, re.MULTILINE))
    assert int(settings["client_max_body_size"]) * 2**20 == bodies.MOST_BYTES
    assert float(settings["client_body_timeout"]) == bodies.MOST_SECONDS
    assert float(settings["client_header_timeout"]) == patience.SlowClientProtocol.head_seconds


def test_the_image_is_built_from_files_that_are_sent() -> None:
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    sent = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    copied = [
        name
        for line in re.findall(r"^COPY (?!--from)(.*) \S+$", dockerfile, re.MULTILINE)
        for name in line.split()
    ]
    assert "src" in copied
    for name in copied:
        assert (ROOT / name).exists()
        assert f"!{name}" in sent


def test_the_unit_writes_nowhere_but_in_its_folder() -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(DEPLOY / "structured-bandits.service")
    service = unit["Service"]
    assert service["DynamicUser"] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert service["WorkingDirectory"] == f"%S/{service['StateDirectory']}"
