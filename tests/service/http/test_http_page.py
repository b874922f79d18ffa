"""docs/http.md lists the endpoints that there are, and its examples work in their order."""

from __future__ import annotations

import runpy
from pathlib import Path

from support.typed import Typist, blocks_of

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "http.md"


def test_the_page_says_what_the_table_of_endpoints_says() -> None:
    said = PAGE.read_text()
    assert runpy.run_path(str(ROOT / "tools" / "http_page.py"))["page"](said) == said


def test_the_examples_work_in_their_order(tmp_path: Path) -> None:
    commands = [
        line for block in blocks_of(PAGE) if block.kind == "sh" for line in block.text.splitlines()
    ]
    known, statuses = {"BATCH": "", "TOKEN": ""}, {}
    with Typist(tmp_path) as typist:
        typist.type("structured-bandits token add me --role admin")
        typist.token = typist.said.strip()
        typist.type("structured-bandits serve")
        for command in commands:
            typist.type(command.replace("BATCH", known["BATCH"]).replace("TOKEN", known["TOKEN"]))
            assert typist.answer is not None
            statuses[command] = typist.answer.status
            if "--json" in command and command.endswith(("/plan", "/tokens")):
                word = "BATCH" if command.endswith("/plan") else "TOKEN"
                known[word] = typist.answer.content["id"]
    assert all(known.values())
    assert set(statuses.values()) == {200, 201}, statuses
