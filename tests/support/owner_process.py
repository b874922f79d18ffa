"""A process that owns a store in PostgreSQL and writes a row whenever it reads a line.

It answers each line: `written`, or the name of the error. In between it says that it is alive, as often
as its second argument says, in seconds.
"""

from __future__ import annotations

import sys
import threading

from structured_bandits.service.rows import Changes, Event
from structured_bandits.service.store.postgres import PostgresStore
from structured_bandits.service.store_protocol import StoreError


def main(address: str, every: float) -> None:
    store = PostgresStore(address)
    print("epoch", store.claim(), flush=True)
    stopped = threading.Event()

    def beat() -> None:
        while not stopped.wait(every):
            try:
                store.beat()
            except StoreError:
                return

    heart = threading.Thread(target=beat)
    heart.start()
    for seq, _ in enumerate(sys.stdin, start=1):
        try:
            store.commit(Changes(events=[(1, Event(seq, "mark", 0, chain=b"c"))]))
            print("written", flush=True)
        except StoreError as error:
            print(type(error).__name__, flush=True)
    stopped.set()
    heart.join()
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
