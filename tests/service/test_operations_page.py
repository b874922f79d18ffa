"""The tables of docs/guides/operations.md have a row for each thing that there is."""

from __future__ import annotations

import re
from pathlib import Path

from structured_bandits.service import alarms
from structured_bandits.service.export import COLUMNS
from structured_bandits.service.metrics import ExperimentReading, Metrics, ServerReading

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guides" / "operations.md").read_text()


def first_cells(heading: str) -> list[str]:
    """The first cells of the table under a heading, if they are in backticks."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `([\w-]+)` \|", section, re.MULTILINE)


def test_every_column_of_an_export_is_explained() -> None:
    assert first_cells("Export") == list(COLUMNS)


def test_every_kind_of_alarm_is_explained() -> None:
    source = Path(alarms.__file__).read_text()
    kinds = set(re.findall(r'Alarm\(kind="([\w-]+)"', source))
    assert set(first_cells("Alarms on the dashboard")) == kinds
    assert len(kinds) == 6


def test_every_metric_is_explained() -> None:
    reading = ServerReading(0, False, [ExperimentReading("shop", 0, 1)])
    text = Metrics(lambda: reading).render()[0].decode()
    names = set(re.findall(r"^# TYPE (structured_bandits_\w+) ", text, re.MULTILINE))
    assert set(first_cells("Metrics")) == names
    assert len(names) >= 20


def test_every_alert_is_explained_with_its_severity() -> None:
    rules = (ROOT / "deploy" / "alerts.yml").read_text()
    there = re.findall(r"alert: (\w+)$.*?severity: (\w+)", rules, re.DOTALL | re.MULTILINE)
    said = re.findall(r"^\| `(Bandits\w+)` \| (\w+) \|", PAGE, re.MULTILINE)
    assert said == there
    assert len(said) >= 10
