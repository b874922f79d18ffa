"""The tables of docs/guides/operations.md have a row for each thing that there is."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.service_process import SHOP
from support.typed import blocks_of

from structured_bandits.cli.commands import main
from structured_bandits.service.running import alarms
from structured_bandits.service.running.lifecycle import create, new_version
from structured_bandits.service.running.metrics import ExperimentReading, Metrics, ServerReading
from structured_bandits.service.running.registry import Registry
from structured_bandits.service.store.export import COLUMNS
from structured_bandits.service.store.sqlite import SqliteStore
from structured_bandits.service.wire import Ask, NewVersion, Reward

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docs" / "guides" / "operations.md"
PAGE = FILE.read_text()


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
    assert len(kinds) == 9


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


def test_the_commands_work_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but `serve`, which test_production_guide.py types."""
    monkeypatch.chdir(tmp_path)
    registry = Registry(SqliteStore(tmp_path / "bandits.db"))
    registry.open()
    create(registry, "shop", SHOP)
    (decision,) = registry.find("shop").ask(Ask()).decisions
    registry.find("shop").tell([Reward(id=decision.id, reward=1.0)])
    new_version(registry.find("shop"), NewVersion(spec=SHOP))
    registry.close()
    said = {}
    for block in blocks_of(FILE):
        for line in block.text.splitlines() if block.kind == "sh" else []:
            if not line.startswith("structured-bandits serve"):
                result = CliRunner().invoke(main, shlex.split(line)[1:])
                assert result.exit_code == 0, (line, result.output)
                said[line] = result.stdout
    assert len(said) == 8
    restored = said["structured-bandits restore monday.db --store restored.db"]
    assert restored == "shop: version 3 begins with 1 rewards\n"
    assert [path.name for path in (tmp_path / "old-logs").iterdir()] == ["shop-version-1.parquet"]
