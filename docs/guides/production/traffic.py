"""Made-up visitors: each is shown an offer, and some click. Ctrl-C ends it."""

import math
import random
import sys
import time

import structured_bandits as sb

# How often families click each offer. The service is not told that families come.
CLICKS = {"voucher": 0.03, "gift": 0.11, "free delivery": 0.08, "two for one": 0.02}
SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else math.inf

agent = sb.RemoteAgent("http://127.0.0.1:8321", "shop")
end = time.monotonic() + SECONDS
visitors = clicks = 0
try:
    while time.monotonic() < end:
        decision = agent.ask()
        click = random.random() < CLICKS[decision.name]
        agent.tell(decision.id, 1.0 if click else 0.0)
        visitors += 1
        clicks += click
        time.sleep(0.01)
except KeyboardInterrupt:
    pass
print(f"{visitors:,} visitors, {clicks:,} clicks")
