"""The pages over HTTP: who may see and do what, what is sent again, what a form answers."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.applications import Starlette
from support.asgi import Reply, answer, scope_of
from support.service_states import FakeOwner, alarmed, busy, fresh

from structured_bandits.service.http.authentication import COOKIE, Authentication
from structured_bandits.service.http.trusted_hosts import Hosts
from structured_bandits.service.refusals import Unavailable
from structured_bandits.service.rows import Event
from structured_bandits.service.running.tokens import new_token
from structured_bandits.service.ui.pages.routes import page_routes
from structured_bandits.service.wire import Alarm, Park

PAGE = "/experiments/offers"


class Site:
    """The pages of an owner behind the guard, and what a browser would send them."""

    def __init__(self, *roles: str) -> None:
        self.registry = FakeOwner(busy("offers"), fresh("prices"), alarmed("radio"))
        self.app = Authentication(
            Starlette(routes=page_routes(self.registry)), self.registry.tokens, Hosts("127.0.0.1")
        )
        self.secrets = {}
        for role in roles:
            self.secrets[role], token = new_token(role, role)
            self.registry.tokens.add(token)

    def send(
        self,
        method: str,
        path: str,
        form: Mapping[str, str] | None = None,
        role: str | None = None,
        **headers: str,
    ) -> Reply:
        path, _, query = path.partition("?")
        sent = {
            "host": "127.0.0.1",
            **{name.replace("_", "-"): text for name, text in headers.items()},
        }
        if role is not None:
            sent["cookie"] = f"{COOKIE}={self.secrets[role]}"
        if method == "POST":
            sent.setdefault("origin", "http://127.0.0.1")
        scope = scope_of(method, path, sent.items()) | {"query_string": query.encode()}
        return asyncio.run(answer(self.app, scope, [urlencode(form or {}).encode()]))

    def get(self, path: str, **options: Any) -> Reply:
        return self.send("GET", path, **options)

    def post(self, path: str, form: Mapping[str, str] | None = None, **options: Any) -> Reply:
        return self.send("POST", path, form, **options)


def words(reply: Reply) -> str:
    """The text of a page, without its elements."""
    return html.unescape(re.sub(r"<[^>]*>", " ", reply.body.decode()))


def test_the_list_has_all_experiments_with_their_numbers() -> None:
    text = words(Site().get("/"))
    assert re.search(r"offers\s+running\s+2\s+12,993\s+146\s+none", text)
    assert re.search(r"prices\s+running\s+1\s+0\s+0\s+none", text)
    assert re.search(r"radio\s+running\s+2\s+12,993\s+146\s+1 alarm", text)


def test_a_list_without_experiments_says_how_to_create_one() -> None:
    site = Site()
    site.registry.states.clear()
    text = words(site.get("/"))
    assert "There is no experiment yet" in text
    assert "curl -X PUT http://127.0.0.1/v1/experiments/" in text


def test_panels_are_sent_again_only_when_they_changed() -> None:
    site = Site()
    first = site.get(f"{PAGE}/panels")
    assert first.status == 200
    assert "<html" not in first.body.decode()
    again = site.get(f"{PAGE}/panels", if_none_match=first.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    site.registry.change("offers", rewards=12_994)
    changed = site.get(f"{PAGE}/panels", if_none_match=first.headers["etag"])
    assert (changed.status, "12,994" in words(changed)) == (200, True)


@pytest.mark.parametrize(
    ("path", "form", "act"),
    [
        ("pause", {}, ("offers", "pause", None)),
        ("resume", {}, ("offers", "resume", None)),
        ("park", {"arm": "3", "parked": "true"}, ("offers", "park", Park(arm=3))),
        ("park", {"arm": "3", "parked": "false"}, ("offers", "park", Park(arm=3, parked=False))),
    ],
)
def test_a_button_acts_and_leads_back_to_the_page(path: str, form: dict, act: tuple) -> None:
    site = Site()
    reply = site.post(f"{PAGE}/{path}", form)
    assert (reply.status, reply.headers["location"]) == (303, PAGE)
    again = site.get(f"{PAGE}/{path}")  # as when somebody reloads the address of a button
    assert (again.status, again.headers["location"]) == (303, PAGE)
    assert site.registry.acts == [act]


def test_what_cannot_be_done_is_said_on_the_page() -> None:
    site = Site()
    for arm in range(4):
        assert site.post(f"{PAGE}/park", {"arm": str(arm)}).status == 303
    refused = site.post(f"{PAGE}/park", {"arm": "4"})
    assert refused.status == 409
    assert "It is the last arm that is not parked." in words(refused)
    for arm in ("x", "-1", "", "٣"):
        wrong = site.post(f"{PAGE}/park", {"arm": arm})
        assert (wrong.status, "expected the index of an arm" in words(wrong)) == (422, True)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_is_not_there_is_a_page_too(method: str) -> None:
    site = Site()
    for path in ("/experiments/none", "/experiments/none/panels")[: 1 if method == "POST" else 2]:
        verb = "/pause" if method == "POST" else ""
        reply = site.send(method, path + verb)
        assert (reply.status, "There is no experiment 'none'." in words(reply)) == (404, True)
    assert site.post(f"{PAGE}/delete").status == 404
    assert site.registry.acts == []


def test_a_page_whose_log_cannot_be_read_says_what_is_wrong() -> None:
    site = Site()

    async def fail(*anything: object) -> list[Event]:
        raise Unavailable("The disk cannot be written.")

    site.registry.events = fail  # type: ignore[method-assign]
    site.registry.change(
        "offers", state="read-only", alarms=[Alarm(kind="read-only", text="No disk.")]
    )
    text = words(site.get(PAGE))
    assert "Nothing can be written" in text
    assert "No disk." in text
    assert "12,993" in text


def test_pages_of_other_servers_cannot_press_the_buttons() -> None:
    site = Site()
    assert site.post(f"{PAGE}/pause", origin="http://evil.example").status == 403
    assert site.registry.acts == []


SEEN = ["/", PAGE, f"{PAGE}/panels", "/tokens"]


@pytest.mark.parametrize("path", SEEN)
def test_without_a_token_every_page_leads_to_the_login(path: str) -> None:
    reply = Site("read").get(path)
    assert reply.status == 303
    assert reply.headers["location"] == f"/login?next={path.removesuffix('/panels')}"
    assert reply.body == b""


@pytest.mark.parametrize(
    ("role", "statuses", "acts"),
    [("read", [200, 200, 200, 403], 403), ("ask", [200, 200, 200, 403], 403), ("admin", [200] * 4, 303)],
)  # fmt: skip
def test_what_each_role_sees_and_does(role: str, statuses: list[int], acts: int) -> None:
    site = Site(role)
    assert [site.get(path, role=role).status for path in SEEN] == statuses
    assert site.post(f"{PAGE}/pause", role=role).status == acts
    page = site.get("/experiments/radio", role=role).body
    assert (b"/pause" in page, b"/park" in page) == ((role == "admin"),) * 2
    assert ("Tokens" in words(site.get("/", role=role))) == (role == "admin")


def test_a_token_of_one_experiment_sees_no_other() -> None:
    site = Site("admin")
    site.secrets["guest"], token = new_token("guest", "read", ["prices"])
    site.registry.tokens.add(token)
    text = words(site.get("/", role="guest"))
    assert ("prices" in text, "offers" in text) == (True, False)
    assert site.get("/experiments/prices", role="guest").status == 200
    assert site.get(PAGE, role="guest").status == 403
    assert site.get("/experiments/none", role="guest").status == 403  # nor learns what exists


def test_a_login_keeps_the_token_in_a_strict_cookie_and_goes_where_one_was_going() -> None:
    site = Site("read")
    form = site.get(f"/login?next={PAGE}")
    assert f'name="next" value="{PAGE}"' in form.body.decode()
    reply = site.post("/login", {"token": f" {site.secrets['read']} ", "next": PAGE})
    assert (reply.status, reply.headers["location"]) == (303, PAGE)
    cookie = reply.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}={site.secrets['read']};")
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    ended = site.post("/logout", role="read").headers["set-cookie"]
    assert ended.startswith(f"{COOKIE}=;")


def test_a_wrong_token_is_refused_and_not_shown() -> None:
    site = Site("read")
    wrong = site.secrets["read"][:-4] + "0000"
    reply = site.post("/login", {"token": wrong, "next": "https://evil.example/"})
    assert (reply.status, "no token of this server" in words(reply)) == (401, True)
    assert wrong not in reply.body.decode()
    assert "evil" not in reply.body.decode()
    assert "set-cookie" not in reply.headers


def test_the_first_token_is_an_admin_and_its_maker_is_logged_in() -> None:
    site = Site()
    for form in ({"role": "ask"}, {"role": "admin", "experiments": "offers"}):
        refused = site.post("/tokens", {"name": "me", **form})
        assert (refused.status, "has to be an admin token" in words(refused)) == (422, True)
    assert site.registry.tokens.open
    made = site.post("/tokens", {"name": "me", "role": "admin"})
    (secret,) = re.findall(r"sb_[0-9a-f]{12}_[0-9a-f]{64}", made.body.decode())
    assert made.headers["set-cookie"].startswith(f"{COOKIE}={secret};")
    assert made.headers["cache-control"] == "private, no-store"
    site.secrets["me"] = secret
    listed = site.get("/tokens", role="me").body.decode()
    assert secret not in listed
    assert secret.rsplit("_", 1)[0] in listed


def test_tokens_are_made_for_some_experiments_and_revoked() -> None:
    site = Site("admin")
    form = {"name": "shop <b>", "role": "ask", "experiments": "offers, prices ,"}
    assert site.post("/tokens", form, role="admin").status == 201
    (token,) = (each for each in site.registry.tokens if each.name == "shop <b>")
    assert (token.role, token.experiments) == ("ask", ("offers", "prices"))
    listed = site.get("/tokens", role="admin")
    assert re.search(r"shop <b>\s+sb_\w+_…\s+ask\s+offers, prices", words(listed))
    assert "shop <b>" not in listed.body.decode()
    gone = site.post("/tokens/revoke", {"id": token.id}, role="admin")
    assert (gone.status, gone.headers["location"]) == (303, "/tokens")
    assert "revoked" in words(site.get("/tokens", role="admin"))
    wrong = site.post("/tokens", {"name": "", "role": "ask"}, role="admin")
    assert (wrong.status, "name=''" in words(wrong)) == (422, True)


def test_the_style_sheet_and_the_script_are_served() -> None:
    site = Site("admin")
    page = site.get(PAGE, role="admin").body.decode()
    for path in re.findall(r'(?:href|src)="(/static/[^"]+)"', page):
        assert site.get(path).status == 200, path


@pytest.mark.parametrize(
    "path", ["/", PAGE, "/experiments/prices", "/experiments/radio", "/login", "/tokens"]
)
def test_no_page_has_inline_script_or_style(path: str) -> None:
    text = Site().get(path).body.decode()
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|<script(?! src=\"/static/)", text)
