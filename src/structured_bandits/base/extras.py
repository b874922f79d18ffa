"""Packages that only a part of the library needs, and what to say where one is missing.

The core needs NumPy, and msgspec to talk to a service. Every other package belongs to an extra of
pyproject.toml and is imported inside `needs`, where it is first used. The hint names the package itself,
not this library, whose name nobody has taken at PyPI yet: a stranger could.
"""

from __future__ import annotations

from types import TracebackType

from structured_bandits.errors import MissingExtraError


class needs:  # noqa: N801 (it reads as a word: with needs(...): import ...)
    """Around an import: a package that is not installed is named, with the command that installs it.

    `what` cannot be done without it; `extra` (one, or several separated by commas) brings it;
    `otherwise` says how to do without.

    >>> with needs("Tea", extra="kettle"):
    ...     import kettle_of_the_future
    Traceback (most recent call last):
    ...
    structured_bandits.errors.MissingExtraError: Tea needs kettle_of_the_future, which is not installed:
    pip install kettle_of_the_future (part of the extra [kettle])
    """

    def __init__(self, what: str, extra: str, otherwise: str = "") -> None:
        self.what = what
        self.extra = extra
        self.otherwise = otherwise

    def __enter__(self) -> None:
        """Do nothing: the import comes next."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Turn a missing package into the hint; all else, a module missing here included, passes."""
        if not isinstance(error, ModuleNotFoundError) or not error.name:
            return
        package = error.name.split(".")[0]
        if package == __name__.split(".")[0]:
            return
        raise MissingExtraError(
            f"{self.what} needs {package}, which is not installed: "
            f"pip install {package} (part of the extra [{self.extra}]){self.otherwise}"
        ) from None
