"""The examples of docs/guides/remote.md run, against a service at another address."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.real_service import SERVICES

PAGE = Path(__file__).parents[3] / "docs" / "guides" / "remote.md"
BLOCKS = re.findall(r"^```py\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("service_name", SERVICES)
def test_the_examples_run_in_their_order(
    service_name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, object] = {}
    with SERVICES[service_name]() as service:
        experiment = repr(service.create("SUCB"))
        for number, block in enumerate(BLOCKS, start=1):
            here = block.replace("http://127.0.0.1:8321", service.url)
            code = here.replace('"drinks"', experiment)
            exec(compile(code, f"{PAGE.name}, example {number}", "exec"), names)
        said = capsys.readouterr().out
        state = names["agent"].state()  # type: ignore[attr-defined]
    assert len(BLOCKS) == 6
    assert said.startswith("tea\nTrue\ntea ")
    assert "The experiment drinks" in said
    assert (state.rewards, state.pending) == (54, 0)  # 50 learned once, 4 told
