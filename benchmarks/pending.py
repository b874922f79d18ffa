"""A million decisions whose rewards are out: memory, and the time to save and load them.

python benchmarks/pending.py
"""

from __future__ import annotations

import time
import tracemalloc

import structured_bandits as sb

DECISIONS = 1_000_000


def main() -> None:
    policy = sb.UCB(10)
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
    print(f"saved in {saved - asked:.2f} s, loaded in {loaded - saved:.2f} s")


if __name__ == "__main__":
    main()
