"""What the package loads when it is first asked for, and not before."""

from __future__ import annotations

import json
import subprocess
import sys

import structured_bandits as sb

ASK = """
import json, sys
ASKED_BY_OSSB = ("theory", *(f"theory.{name}" for name in (
    "confusing_sets", "divergence", "graves_lai", "truth")))
import structured_bandits as sb
before = set(sys.modules)
agent = sb.Agent
print(json.dumps({
    "early": sorted(name for name in before if name.split(".")[1:2] in (
        ["advice"], ["experiments"], ["theory"], ["display"])
        and name.removeprefix("structured_bandits.") not in ASKED_BY_OSSB),
    "same": agent is sb.agents.agent.Agent and agent is sb.Agent,
    "listed": set(sb.__all__) <= set(dir(sb)),
}))
"""


def test_a_simulation_loads_no_advice_and_an_agent_comes_when_asked_for() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ASK], capture_output=True, text=True, timeout=300, check=True
    )
    assert json.loads(done.stdout) == {"early": [], "same": True, "listed": True}


def test_every_name_is_there_and_no_other() -> None:
    assert all(getattr(sb, name) is getattr(sb, name) for name in sb.__all__)
    assert not hasattr(sb, "Nobody")
