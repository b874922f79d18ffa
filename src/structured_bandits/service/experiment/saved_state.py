"""Snapshots of a version: its state as bytes, and back.

A snapshot is JSON, compressed; columns of decisions are packed. A digest beside it tells whether it is
whole. It is only ever a shortcut: what is lost with it is in the log.
"""

from __future__ import annotations

import hashlib
import zlib
from array import array
from base64 import b64decode, b64encode
from typing import Any

import msgspec

from structured_bandits.errors import FileFormatError
from structured_bandits.live.agent import Agent
from structured_bandits.service.experiment.ask_times import AskTimes
from structured_bandits.service.experiment.experiment_state import Life, Side
from structured_bandits.service.experiment.history import History
from structured_bandits.service.experiment.spec import Spec
from structured_bandits.wire import HistoryPoint

FORMAT = 1
PLAIN = (
    "seq",
    "at",
    "paused",
    "retired",
    "forwards",
    "closed",
    "fallen_at",
    "unlearned",
    "settled_before",
)
LEVEL = 1  # of compression: snapshots are taken while requests wait


def digest_of(state: bytes) -> bytes:
    """Return the hash that is kept beside a snapshot."""
    return hashlib.blake2b(state, digest_size=16).digest()


def save_life(life: Life) -> bytes:
    """Return the state of a version."""
    return zlib.compress(msgspec.json.encode(saved_content(life)), LEVEL)


def saved_content(life: Life) -> dict[str, Any]:
    """Return what is saved of a version: equal for equal states."""
    firsts, times = life.times.columns(life.agent.oldest_out)
    return {
        "format": FORMAT,
        **{name: getattr(life, name) for name in PLAIN},
        "warns": life.warns,
        "chain": life.chain.hex(),
        "agent": life.agent.to_json(),
        "held": [_packed(array("q", life.held)), _packed(array("d", life.held.values()))],
        "deferred": _packed(array("q", sorted(life.deferred))),
        "shared": [[number, reason] for number, reason in life.shared.items()],
        "batches": [[first, size] for first, size in life.batches.items()],
        "times": [b64encode(firsts).decode(), b64encode(times).decode()],
        "sides": {name: [s.pulls, s.total, s.squares] for name, s in life.sides.items()},
        "dropped_after": [[arm, rewards] for arm, rewards in life.dropped_after.items()],
        "history": life.history.points,
    }


def restore_life(spec: Spec, uid: str, state: bytes) -> Life:
    """Return a version in the state that was saved; raises FileFormatError if it cannot be."""
    try:
        content = msgspec.json.decode(zlib.decompress(state))
        if content["format"] != FORMAT:
            raise ValueError(f"format {content['format']!r}")
        return _restored(spec, uid, content)
    except FileFormatError:  # whole, but of a policy with other parameters
        raise
    except (KeyError, TypeError, ValueError, zlib.error, msgspec.MsgspecError) as error:
        raise FileFormatError(f"the snapshot is damaged: {type(error).__name__} {error}") from None


def _restored(spec: Spec, uid: str, content: dict[str, Any]) -> Life:
    life = Life(spec, uid)
    for name in PLAIN:
        setattr(life, name, content[name])
    life.warns = content.get("warns", not life.retired)  # 0.2.0 wrote none at first
    life.chain = bytes.fromhex(content["chain"])
    life.agent = Agent.from_json(content["agent"], spec.playing(life.fallen_at is not None))
    numbers, values = content["held"]
    life.held = dict(zip(_unpacked("q", numbers), _unpacked("d", values), strict=True))
    life.deferred = set(_unpacked("q", content["deferred"]))
    life.shared = dict(content["shared"])
    life.batches = dict(content["batches"])
    life.times = AskTimes.from_columns(*map(b64decode, content["times"]))
    life.sides = {name: Side(*numbers) for name, numbers in content["sides"].items()}
    life.dropped_after = dict(content["dropped_after"])
    life.history = History([msgspec.convert(each, HistoryPoint) for each in content["history"]])
    return life


def _packed(column: array[Any]) -> str:
    return b64encode(column.tobytes()).decode()


def _unpacked(kind: str, text: str) -> array[Any]:
    column = array(kind)
    column.frombytes(b64decode(text))
    return column
