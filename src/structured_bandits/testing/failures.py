"""What a failed check says: what was expected, what was seen, and how to see it again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from structured_bandits.errors import MissingExtraError, StructuredBanditsError


class CheckError(StructuredBanditsError, AssertionError):
    """A policy, a structure or a world does not do what is asked of all of them."""


def require(holds: bool, expected: str, seen: str, reproduce: str = "") -> None:
    """Raise a `CheckError` unless `holds`; the texts are whole sentences, `reproduce` is code."""
    if not holds:
        raise failure(f"{expected} {seen}", reproduce)


@contextmanager
def blamed(doing: str, reproduce: str = "") -> Iterator[None]:
    """Turn whatever is raised inside into a `CheckError` that says what was being done.

    A missing package is no fault of what is checked: that error passes.
    """
    try:
        yield
    except (CheckError, MissingExtraError):
        raise
    except Exception as error:
        said = f"{doing} must not fail. It raised {type(error).__name__}: {error}"
        raise failure(said, reproduce) from error


def failure(text: str, reproduce: str) -> CheckError:
    """Return the error, with the code that shows it."""
    code = "".join(f"\n    {line}" for line in reproduce.splitlines())
    return CheckError(f"{text}\nTo reproduce it:{code}" if code else text)
