"""Errors of commands: they end with a sentence, never with a traceback.

Commands let errors pass; the group that they belong to says them, in one place for all. A traceback is
left for what only a mistake of the library can cause.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from structured_bandits.base.writing import sentence_of
from structured_bandits.errors import StructuredBanditsError

INTERRUPTED = 130  # the exit code after Ctrl-C


class Complaint(click.ClickException):
    """A sentence at which a command ends."""

    exit_code = 2


class ComplainingGroup(click.Group):
    """A group of commands whose errors are said in a sentence."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what the user, a file or the system has done wrong becomes a complaint."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # who reads the output has left, as in `… | head`: click ends quietly
        except StructuredBanditsError as error:
            raise Complaint(str(error)) from None
        except OSError as error:
            raise Complaint(sentence_of(error)) from None
        except _database_errors() as error:
            raise Complaint(f"the database says: {error}") from None
        except KeyboardInterrupt:
            _stop("stopped")


def _database_errors() -> tuple[type[Exception], ...]:
    """Return the errors of the databases that are in use; none is loaded for this."""
    return tuple(sys.modules[name].Error for name in ("sqlite3", "psycopg") if name in sys.modules)


@contextmanager
def stoppable(words: str) -> Iterator[None]:
    """After Ctrl-C, say what that means for what was done."""
    try:
        yield
    except KeyboardInterrupt:
        _stop(words)


def _stop(words: str) -> NoReturn:
    click.echo(words, err=True)
    raise SystemExit(INTERRUPTED) from None
