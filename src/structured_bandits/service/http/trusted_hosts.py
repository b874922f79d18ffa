"""Where requests may come from, and which names this server answers to.

A browser on this machine reaches a loopback server on behalf of any page that it shows. Three rules keep
such pages out. The Host header must name this server: a page that has its own name resolved to 127.0.0.1
(DNS rebinding) still sends that name. Requests that change something must come from our own pages (the
Origin header) unless they carry a token themselves. And no answer allows another origin to read it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from functools import lru_cache

from structured_bandits.errors import ParameterError

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_HOST = re.compile(
    r"(?:\[([0-9A-Fa-f:.]{2,45})\]|([A-Za-z0-9_.-]{1,255}))(?::[0-9]{1,5})?", re.ASCII
)
_MOST_REMEMBERED = 200


def host_of(header: str) -> str | None:
    """Return the host of a Host header in its plain form, without the port; None if it is none.

    >>> host_of("LocalHost.:8321"), host_of("[0:0::1]:80"), host_of("a b")
    ('localhost', '::1', None)
    """
    form = _HOST.fullmatch(header)
    if form is None:
        return None
    if form[1] is None:
        return form[2].lower().removesuffix(".") or None
    address = address_of(form[1])
    return None if address is None else str(address)


@lru_cache(maxsize=1_000)
def address_of(text: str) -> Address | None:
    """Return the IP address that a text is; an IPv4 address that is wrapped in IPv6 is unwrapped."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def is_loopback(host: str) -> bool:
    """Does a host, as in `--host`, mean this machine alone?

    >>> [is_loopback(host) for host in ["localhost", "127.8.8.8", "::1", "0.0.0.0", "example.org"]]
    [True, True, True, False, False]
    """
    name = host.lower().removesuffix(".")
    address = address_of(name.removeprefix("[").removesuffix("]"))
    return name == "localhost" if address is None else address.is_loopback


def check_exposure(host: str, allow_hosts: Iterable[str], has_tokens: bool) -> None:
    """Refuse to start a server that has no tokens where others than this machine reach it."""
    if has_tokens:
        return
    for option, value in [("host", host), *(("allow_host", each) for each in allow_hosts)]:
        if not is_loopback(value):
            raise ParameterError(
                f"{option}={value!r}: a server without tokens is open to whoever reaches it, so only "
                "loopback addresses such as '127.0.0.1' are accepted; make a token first"
            )


class Hosts:
    """The names that this server answers to: those of loopback, `--host` and `--allow-host`.

    A server that listens on all addresses does not know its own; it answers to every IP address, which
    is safe: DNS rebinding needs a name.
    """

    def __init__(self, host: str, allow_hosts: Iterable[str] = ()) -> None:
        self._names = {"localhost"}
        for each in [host, *allow_hosts]:
            name = host_of(f"[{each}]" if each.count(":") > 1 and "[" not in each else each)
            if name is None:
                raise ParameterError(f"host={each!r}: expected a name or an IP address")
            self._names.add(name)
        self._any_address = any(name in self._names for name in ("0.0.0.0", "::"))
        self._known: set[str] = set()

    def accepts(self, header: str) -> bool:
        """Does a Host header name this server?"""
        if header in self._known:
            return True
        accepted = self._accepts(host_of(header))
        if accepted and len(self._known) < _MOST_REMEMBERED:
            self._known.add(header)
        return accepted

    def _accepts(self, host: str | None) -> bool:
        if host is None or host in self._names:
            return host is not None
        address = address_of(host)
        return address is not None and (self._any_address or address.is_loopback)


def same_origin(origin: str, scheme: str, host_header: str) -> bool:
    """Did a page of this very server send the request? `origin` is the Origin header.

    >>> same_origin("http://localhost:8321", "http", "localhost:8321")
    True
    >>> same_origin("http://localhost:3000", "http", "localhost:8321"), same_origin("null", "http", "")
    (False, False)
    """
    return bool(host_header) and origin.lower() == f"{scheme}://{host_header}".lower()


class Proxies:
    """The proxies whose forwarded headers are believed: addresses or networks."""

    def __init__(self, trusted: Iterable[str] = ()) -> None:
        self._networks = [_network(each) for each in trusted]

    def __bool__(self) -> bool:
        return bool(self._networks)

    def trusts(self, peer: str) -> bool:
        """Is this address a trusted proxy?"""
        address = address_of(peer)
        return address is not None and any(address in network for network in self._networks)

    def client(self, peer: str, forwarded_for: str) -> str:
        """Return whom a request is from: the last address in X-Forwarded-For that is no proxy of ours.

        What stands before it was written by that client itself, and says nothing.

        >>> Proxies(["10.0.0.0/8"]).client("10.0.0.1", "1.1.1.1, 2.2.2.2, 10.0.0.2")
        '2.2.2.2'
        """
        client = peer
        for hop in reversed(forwarded_for.split(",")):
            if not self.trusts(client):
                break
            address = address_of(hop.strip())
            if address is None:
                break
            client = str(address)
        return client


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise ParameterError(
            f"trusted_proxy={text!r}: expected an IP address or a network such as '10.0.0.0/8' ({error})"
        ) from None
