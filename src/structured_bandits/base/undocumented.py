"""What is taken from NumPy and Numba that these do not document, and one switch for all of it.

| what | where | without it |
|---|---|---|
| the addresses of NumPy's draws in C | `base/draws.py` | Numba compiles versions of its own |
| where a generator keeps its state | `simulation/generator.py` | runs are played one by one |
| libraries that wait for the engine | `simulation/linking.py` | each function is optimised alone |
| the option `_nrt` | `simulation/compiled.py` | references are counted |

Each is looked for before it is used and left alone where it is not as we know it. With the environment
variable STRUCTURED_BANDITS_PUBLIC_ONLY=1 none is used: results are the same to the last bit, and a first
start takes longer (docs/notes/decisions.md says how much).
"""

from __future__ import annotations

import os

VARIABLE = "STRUCTURED_BANDITS_PUBLIC_ONLY"
ALLOWED = os.environ.get(VARIABLE, "0") in ("", "0")
