"""docs/guides/production.md works for somebody who types what it says, in an empty folder.

Blocks marked `sh` are typed; those marked `bash` are not, since they change the machine. A block that is
the content of a file equals that file in docs/guides/production.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.typed import Block, Typist, blocks_of, shape_of

from structured_bandits.errors import FileFormatError
from structured_bandits.service.experiment.spec import build_spec, read_spec

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
PAGE, FILES = GUIDES / "production.md", GUIDES / "production"
#: The files in the order in which the page shows them; `shop.toml` is changed later.
SHOWN = (
    "types.csv",
    "shop.toml",
    "traffic.py",
    "later/shop.toml",
    "last-year.csv",
    "spring.toml",
)


def test_the_page_shows_the_files_as_they_are() -> None:
    shown = [block for block in blocks_of(PAGE) if block.file]
    assert [block.file for block in shown] == [Path(name).name for name in SHOWN]
    for block, name in zip(shown, SHOWN, strict=True):
        assert block.text == (FILES / name).read_text(), name
    assert {path.name for path in FILES.rglob("*.*")} == {block.file for block in shown}


class Reader(Typist):
    """Somebody who reads the page, types and compares; `states` are those after each command."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.states: dict[str, Any] = {}

    def read(self, block: Block) -> None:
        """Do what a block says."""
        if block.file:
            (self.folder / block.file).write_text(block.text)
        elif block.kind == "sh":
            for line in block.text.splitlines():
                self.follow(line)
        elif block.kind == "text":
            assert block.text in self.said
        elif block.kind == "json":
            assert self.answer is not None
            assert shape_of(json.loads(block.text)) == shape_of(self.answer.content)

    def follow(self, line: str) -> None:
        """Type a line; where the page says so, end the server first."""
        self.answer = None
        if line.startswith("structured-bandits token"):
            self.end_server()
        self.type(f"{line} 1" if line == "python traffic.py" else line)
        if line.startswith("structured-bandits token add me"):
            self.token = self.said.strip()
        assert self.answer is None or self.answer.status == 200, (line, self.answer)
        if self._server is not None:
            self.states[line] = self.send("GET", "/v1/experiments/shop", None, {}).content


def test_the_page_works_for_somebody_who_types_it(tmp_path: Path) -> None:
    with Reader(tmp_path) as reader:
        for block in blocks_of(PAGE):
            reader.read(block)
        pages = [reader.send("GET", path, None, {}) for path in ("/", "/experiments/spring")]
        spring = reader.send("GET", "/v1/experiments/spring", None, {}).content
        reader.token = ""
        refused = reader.send("GET", "/v1/experiments/shop", None, {})
        states = reader.states
    told = states["python traffic.py"]
    assert told["version"] == 1
    assert told["rewards"] > 10
    updated = states["structured-bandits serve --update shop.toml"]
    assert (updated["version"], updated["window_seconds"]) == (2, 1800.0)
    assert updated["rewards"] == told["rewards"]
    assert (spring["version"], spring["rewards"]) == (1, 4500)
    assert [page.status for page in pages] == [200, 200]
    assert refused.status == 401
    assert (tmp_path / "monday.db").exists()


# --- the table of keys

TABLES = ("reward", "control", "audit", "alarm", "stop", "start")


def accepted(content: dict[str, Any], written: Path | None = None) -> list[str]:
    """The keys that the library accepts in a table, as its error message lists them."""
    with pytest.raises(FileFormatError) as raised:
        read_spec(written) if written else build_spec(content)
    return str(raised.value).partition("accepted are ")[2].split(", ")


def test_the_page_explains_every_key_of_a_specification(tmp_path: Path) -> None:
    rows = set(re.findall(r"^\| `([\w.]+)` \|", PAGE.read_text(), re.MULTILINE))
    shop = read_spec(FILES / "shop.toml")
    keys = {key for key in accepted({**shop, "nonsense": 1}) if key not in (*TABLES, "policy")}
    for table in TABLES:
        keys |= {f"{table}.{key}" for key in accepted({**shop, table: {"nonsense": 1}})}
    (tmp_path / "types.csv").write_text((FILES / "types.csv").read_text())
    wrong = tmp_path / "wrong.toml"
    text = (FILES / "shop.toml").read_text()
    wrong.write_text(f'{text}\n[start]\nfile = "a.csv"\nnonsense = 1\n')
    keys |= {f"start.{key}" for key in accepted({}, wrong)}
    assert rows == keys | {"policy.kind"}
