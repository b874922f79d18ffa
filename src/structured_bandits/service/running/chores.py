"""What happens by itself once a second: windows close, and a store that failed is tried again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from structured_bandits.service.json_logs import log, log_error
from structured_bandits.service.refusals import Refusal
from structured_bandits.service.running.registry import Registry
from structured_bandits.service.running.running_experiment import TRY_AGAIN
from structured_bandits.service.store_protocol import StoreError


def settle(registry: Registry) -> bool:
    """Close windows whose time has come; is there more to do?"""
    if registry.refusal is not None or not registry.clock.is_trusted():
        return False
    at, more = registry.clock.now(), False
    for experiment in list(registry.experiments.values()):
        more = experiment.settle(at) or more
    return more


async def do_chores(registry: Registry, stop: Callable[[], bool]) -> None:
    """Do once a second what happens by itself, until `stop`."""
    while not stop():
        await asyncio.sleep(1.0)
        try:
            if registry.refusal is not None and not registry.lost and _may_try(registry):
                registry.recover()
            await _beat(registry)
            while settle(registry):
                await registry.written()
            await registry.written()
        except Refusal as error:  # the disk again; `Registry._failed` has seen to it
            log("What happens by itself was put off.", why=str(error))
        except Exception as error:  # it must not end because of one experiment
            log_error("What happens by itself has failed.", error)


async def _beat(registry: Registry) -> None:
    """Say that the owner is alive; if that fails, a commit would, too."""
    if registry.refusal is None:
        try:
            await asyncio.get_running_loop().run_in_executor(None, registry.store.beat)
        except StoreError as error:
            registry.writer.fail(error)


def _may_try(registry: Registry) -> bool:
    return registry.failed_at is None or time.monotonic() - registry.failed_at >= TRY_AGAIN
