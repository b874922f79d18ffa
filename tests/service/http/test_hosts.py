"""Which names a server answers to, and whom it believes."""

from __future__ import annotations

import re

import pytest

import structured_bandits as sb
from structured_bandits.service.http.trusted_hosts import (
    Hosts,
    Proxies,
    check_exposure,
    same_origin,
)

LOOPBACK = ["localhost", "LOCALHOST:8321", "localhost.", "127.0.0.1", "127.0.0.1:8321", "127.9.9.9"]
LOOPBACK += ["[::1]", "[::1]:8321", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]:80"]
STRANGE = ["", " ", "localhost:", "localhost:x", "localhost:80:80", "::1", "[::1", "[]", "[::1]x"]
STRANGE += [
    "localhost/",
    "a@localhost",
    "localhost,localhost",
    "localhost\n",
    "lócalhost",
    "..",
    ".",
]
STRANGE += ["localhost..", "127.1", "0x7f.0.0.1", "2130706433", "[fe80::1%eth0]", "x" * 300]
OTHERS = ["example.org", "localhost.example.org", "127.0.0.1.nip.io", "notlocalhost", "10.0.0.5"]


@pytest.mark.parametrize("header", LOOPBACK)
def test_names_of_this_machine_are_accepted(header: str) -> None:
    hosts = Hosts("127.0.0.1")
    assert hosts.accepts(header)
    assert hosts.accepts(header)  # remembered now


@pytest.mark.parametrize("header", STRANGE + OTHERS)
def test_other_names_are_refused(header: str) -> None:
    assert not Hosts("127.0.0.1").accepts(header)


@pytest.mark.parametrize("header", STRANGE + OTHERS[:-1])
def test_a_server_on_all_addresses_answers_to_addresses_only(header: str) -> None:
    for everywhere in ("0.0.0.0", "::", "[::]"):
        hosts = Hosts(everywhere)
        assert not hosts.accepts(header)
        assert hosts.accepts("10.0.0.5:80")
        assert hosts.accepts("[2001:db8::5]")


def test_names_are_added() -> None:
    hosts = Hosts("10.0.0.5", allow_hosts=["Bandits.Example.org.", "2001:db8::5"])
    for header in (
        "bandits.example.org",
        "BANDITS.example.ORG.:443",
        "10.0.0.5",
        "[2001:DB8:0::5]:1",
    ):
        assert hosts.accepts(header)
    assert not hosts.accepts("10.0.0.6")
    assert not hosts.accepts("example.org")
    with pytest.raises(sb.ParameterError, match=re.escape("host='http://x': expected a name")):
        Hosts("127.0.0.1", allow_hosts=["http://x"])


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "::1", "127.0.0.2", "[::1]", "LOCALHOST."]
)
def test_without_tokens_a_server_stays_on_this_machine(host: str) -> None:
    check_exposure(host, [], has_tokens=False)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "", "10.0.0.5", "example.org", "127.0.0.1.nip.io"]
)
def test_without_tokens_no_other_address_is_accepted(host: str) -> None:
    with pytest.raises(sb.ParameterError, match="make a token first"):
        check_exposure(host, [], has_tokens=False)
    with pytest.raises(sb.ParameterError, match="allow_host="):
        check_exposure("127.0.0.1", ["localhost", host], has_tokens=False)
    check_exposure(host, [host], has_tokens=True)


@pytest.mark.parametrize(
    ("origin", "scheme", "host", "expected"),
    [
        ("https://b.example.org", "https", "b.example.org", True),
        ("https://B.example.org", "https", "b.example.ORG", True),
        ("http://[::1]:8321", "http", "[::1]:8321", True),
        ("http://b.example.org", "https", "b.example.org", False),
        ("https://b.example.org:444", "https", "b.example.org", False),
        ("https://b.example.org.evil.org", "https", "b.example.org", False),
        ("https://evil.org", "https", "b.example.org", False),
        ("null", "https", "b.example.org", False),
        ("", "https", "b.example.org", False),
        ("http://", "http", "", False),
    ],
)
def test_only_our_own_pages_are_of_the_same_origin(
    origin: str, scheme: str, host: str, expected: bool
) -> None:
    assert same_origin(origin, scheme, host) is expected


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("10.0.0.1", "7.7.7.7", "7.7.7.7"),
        ("10.0.0.1", "6.6.6.6, 7.7.7.7", "7.7.7.7"),  # 6.6.6.6 is what the client says of itself
        ("10.0.0.1", "7.7.7.7, 10.0.0.2", "7.7.7.7"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "garbage", "10.0.0.1"),
        ("10.0.0.1", "7.7.7.7, garbage, 10.0.0.2", "10.0.0.2"),
        ("10.0.0.1", "2001:DB8:0:0::7", "2001:db8::7"),
        ("9.9.9.9", "7.7.7.7", "9.9.9.9"),  # not a proxy of ours
        ("", "7.7.7.7", ""),
        ("::ffff:10.0.0.1", "7.7.7.7", "7.7.7.7"),
    ],
)
def test_only_trusted_proxies_say_whom_a_request_is_from(
    peer: str, forwarded: str, client: str
) -> None:
    assert Proxies(["10.0.0.0/8"]).client(peer, forwarded) == client


def test_a_proxy_that_is_no_address_is_named() -> None:
    with pytest.raises(sb.ParameterError, match="trusted_proxy='nginx'"):
        Proxies(["nginx"])
