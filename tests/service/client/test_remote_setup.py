"""How `sb.RemoteAgent` is set up: addresses, tokens, certificates, arguments; and what it loads."""

from __future__ import annotations

import re
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.naive_service import NaiveServer, Running, naive_service, serving

import structured_bandits as sb

CERTIFICATE = Path(__file__).parents[1] / "data" / "loopback.pem"


@pytest.mark.parametrize("prefix", ["", "/a/b"])
@pytest.mark.parametrize("end", ["", "/"])
def test_the_address_may_have_a_path_and_a_slash(prefix: str, end: str) -> None:
    with naive_service(prefix=prefix) as service:
        remote = sb.RemoteAgent(service.url + end, service.create("SUCB"))
        assert remote.ask().name == "tea"
        assert remote.url == service.url


def test_a_token_lets_in() -> None:
    with naive_service(token="sb_1_secret") as service:
        name = service.create("SUCB")
        assert sb.RemoteAgent(service.url, name, token="sb_1_secret").ask().name == "tea"
        for token in (None, "sb_1_wrong"):
            with pytest.raises(sb.ServiceError, match="The token is unknown") as caught:
                sb.RemoteAgent(service.url, name, token=token).ask()
            assert (caught.value.status, caught.value.passing) == (401, False)


@pytest.fixture
def secure() -> Iterator[Running]:
    """A service behind TLS, whose certificate nobody trusts who is not told to."""
    server = NaiveServer(None, "")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with serving(server) as running:
        yield running._replace(url=running.url.replace("http:", "https:"))


def test_certificates_are_checked(secure: Running) -> None:
    name = secure.create("SUCB")
    trusting = ssl.create_default_context(cafile=str(CERTIFICATE))
    with sb.RemoteAgent(secure.url, name, ssl_context=trusting) as remote:
        assert remote.tell(remote.ask().id, 1.0) == "recorded"
    with pytest.raises(sb.ServiceError, match="its certificate is not trusted") as caught:
        sb.RemoteAgent(secure.url, name).ask()
    assert not caught.value.passing


def test_nobody_is_there() -> None:
    remote = sb.RemoteAgent("http://127.0.0.1:9", "drinks", retries=0)
    with pytest.raises(sb.ServiceError, match=r"http://127.0.0.1:9 cannot be reached") as caught:
        remote.ask()
    assert isinstance(caught.value, OSError)
    assert isinstance(caught.value.__cause__, ConnectionRefusedError)


HERE = "http://127.0.0.1:9"
BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: sb.RemoteAgent("127.0.0.1:9", "x"), "url='127.0.0.1:9': expected the address"),
    (lambda: sb.RemoteAgent("ftp://shop.test", "x"), "url='ftp://shop.test': expected the address"),
    (lambda: sb.RemoteAgent("http://", "x"), "url='http://': expected the address"),
    (lambda: sb.RemoteAgent("http://a:b", "x"), "url='http://a:b'"),
    (lambda: sb.RemoteAgent("http://a/?x=1", "x"), "url='http://a/?x=1'"),
    (lambda: sb.RemoteAgent("http://a/b c", "x"), "url='http://a/b c'"),
    (lambda: sb.RemoteAgent(b"http://a", "x"), "url=b'http://a': expected"),  # type: ignore[arg-type]
    (lambda: sb.RemoteAgent("http://me:secret@a", "x"), "url: it has a user or a password in it"),
    (lambda: sb.RemoteAgent(HERE, ""), "name='': expected the name of an experiment"),
    (lambda: sb.RemoteAgent(HERE, "x", "a\r\nX: secret"), "token: expected a text of letters"),
    (lambda: sb.RemoteAgent(HERE, "x", ""), "token: expected a text of letters"),
    (lambda: sb.RemoteAgent(HERE, "x", timeout=0), "timeout=0: expected a finite number > 0"),
    (lambda: sb.RemoteAgent(HERE, "x", retries=-1), "retries=-1: expected a whole number >= 0"),
    (lambda: sb.RemoteAgent(HERE, "x", on_failure="cry"), "on_failure='cry': expected 'raise' or"),
    (lambda: sb.RemoteAgent(HERE, "x", on_failure="control"), "expected an arm as control with"),
    (lambda: sb.RemoteAgent(HERE, "x", control="tea"), "control='tea' with on_failure='raise'"),
    (
        lambda: sb.RemoteAgent(HERE, "x", on_failure="control", control="a", arms=["b"]),
        "control='a' is unknown; known are 'b'",
    ),
    (lambda: sb.RemoteAgent(HERE, "x").ask(0), "n=0: expected a whole number >= 1"),
    (lambda: sb.RemoteAgent(HERE, "x").ask(key=""), "key='': expected a text"),
    (lambda: sb.RemoteAgent(HERE, "x").ask(available="tea"), "expected a collection of arms"),
    (lambda: sb.RemoteAgent(HERE, "x").ask(available=[0.5]), "available arm=0.5: give an index"),
    (lambda: sb.RemoteAgent(HERE, "x").park(None), "arm=None: give an index"),  # type: ignore[arg-type]
    (lambda: sb.RemoteAgent(HERE, "x").tell("u-1"), "reward=None: expected a number"),
    (lambda: sb.RemoteAgent(HERE, "x").tell("u-1", "1"), "reward='1': expected a number"),  # type: ignore[arg-type]
    (lambda: sb.RemoteAgent(HERE, "x").tell(7, 1.0), "id=7: expected a text"),  # type: ignore[arg-type]
    (lambda: sb.RemoteAgent(HERE, "x").tell("u-1", 1.0, key="v"), "give one of them"),
    (lambda: sb.RemoteAgent(HERE, "x").cancel("u-1", key="v"), "give one of them"),
    (
        lambda: sb.RemoteAgent(HERE, "x").tell(
            sb.RemoteDecision("u-1", 0, "tea", False, "plan", None),  # type: ignore[arg-type]
            1.0,
        ),
        "got RemoteDecision as a whole; pass its id, 'u-1'",
    ),
    (lambda: sb.RemoteAgent(HERE, "x").learn([1], [float("nan")]), "sums[0]=nan"),
    (lambda: sb.RemoteAgent(HERE, "x").ask(key="\ud83d"), "'\\ud83d': expected a text that UTF-8"),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=lambda x: x if isinstance(x, str) else "")
def test_bad_arguments_are_refused_without_a_request(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(sb.StructuredBanditsError, match=re.escape(message)) as caught:
        call()
    assert not isinstance(caught.value, sb.ServiceError)
    assert "secret" not in str(caught.value)


def test_a_client_needs_no_extra_and_who_plays_at_home_neither_http_nor_json() -> None:
    code = """
import sys
for name in ("starlette", "uvicorn", "jinja2", "numba"):
    sys.modules[name] = None
import structured_bandits as sb
sb.Agent(sb.UCB(2)).ask()
for name in ("http.client", "ssl", "msgspec"):
    assert name not in sys.modules, name
sb.RemoteAgent("http://127.0.0.1:9", "drinks")
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
