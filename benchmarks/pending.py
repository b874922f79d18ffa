"""A million decisions whose rewards are out: memory, and the time to ask, to save and to load them.

ImprovedUCB plans long phases ahead, UCB a pull or two at a time: one shows what a decision costs that is
handed out of such a plan, the other what it costs to plan ahead.

python benchmarks/pending.py
"""

from __future__ import annotations

import time
import tracemalloc

import structured_bandits as sb

DECISIONS = 1_000_000
PLANNED = 10_000


def main() -> None:
    policy = sb.ImprovedUCB(10, 10**8)
    agent = sb.Agent(policy)
    begin = time.perf_counter()
    for _ in range(DECISIONS):
        agent.ask()
    asked = time.perf_counter()
    text = agent.to_json()
    saved = time.perf_counter()
    twin = sb.Agent.from_json(text, policy)
    loaded = time.perf_counter()
    assert len(twin.pending) == DECISIONS
    tracemalloc.start()
    fresh = sb.Agent.from_json(text, policy)
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    print(f"{DECISIONS:,} pending decisions of {fresh!r}")
    print(
        f"asked in {asked - begin:.1f} s, kept in {kept / 1e6:.0f} MB, {len(text) / 1e6:.0f} MB of JSON"
    )
    ucb = sb.Agent(sb.UCB(10))
    begun = time.perf_counter()
    ucb.ask(n=PLANNED)
    each = 1e6 * (time.perf_counter() - begun) / PLANNED
    print(f"{PLANNED:,} decisions of UCB without a reward: {each:.0f} µs each")
    print(f"saved in {saved - asked:.2f} s, loaded in {loaded - saved:.2f} s")


if __name__ == "__main__":
    main()
