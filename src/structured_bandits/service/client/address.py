"""Where a service is: the parts of its URL."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import urlsplit

from structured_bandits.errors import ParameterError

PORTS = {"http": 80, "https": 443}
ACCEPTED = (
    "expected the address of a service, such as http://127.0.0.1:8321 or https://shop.test/bandits"
)


class Address(NamedTuple):
    """The parts of a URL; `prefix` is what stands before all paths, without a slash at its end."""

    secure: bool
    host: str
    port: int
    prefix: str

    def __str__(self) -> str:
        scheme = "https" if self.secure else "http"
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == PORTS[scheme] else f":{self.port}"
        return f"{scheme}://{host}{port}{self.prefix}"


def checked_address(url: Any) -> Address:
    """Return the parts of a URL.

    >>> checked_address("https://shop.test/bandits/")
    Address(secure=True, host='shop.test', port=443, prefix='/bandits')
    >>> str(checked_address("http://[::1]:8321"))
    'http://[::1]:8321'
    """
    if not isinstance(url, str):
        raise ParameterError(f"url={url!r}: {ACCEPTED}")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ParameterError(f"url={url!r}: {error}; {ACCEPTED}") from None
    if parts.username is not None or parts.password is not None:  # they are not shown: secrets
        raise ParameterError(f"url: it has a user or a password in it; pass token=…; {ACCEPTED}")
    plain = url.isascii() and url.isprintable() and " " not in url
    if parts.scheme not in PORTS or not host or parts.query or parts.fragment or not plain:
        raise ParameterError(f"url={url!r}: {ACCEPTED}")
    return Address(
        parts.scheme == "https", host, port or PORTS[parts.scheme], parts.path.rstrip("/")
    )
