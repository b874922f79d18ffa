"""The explorer's pages: right numbers, readable refusals, nothing that a name could break."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from support.asgi import request
from support.explorer_cases import CURVE, SHOP, STRUCTURES, answered, fetched, page
from support.owned import Shop

import structured_bandits as sb
from structured_bandits.cli.commands import main
from structured_bandits.errors import MissingExtraError
from structured_bandits.service.api import application
from structured_bandits.service.explorer import routes
from structured_bandits.service.explorer.command import explorer_app
from structured_bandits.service.explorer.explorer import Explorer
from structured_bandits.service.explorer.whole_file import whole_file
from structured_bandits.service.guard import CONTENT_POLICY
from structured_bandits.service.hosts import Hosts
from structured_bandits.service.owner import Owner
from structured_bandits.service.server import pages_of

PANELS = ("map", "truth", "timeline", "apart", "moved", "bounds")
UNTOLD = "This cannot be told here"
HOSTILE = [
    '<script>alert("x")</script>',
    "a" * 200,
    "👩‍👩‍👧 & 'quotes' \"double\"",
    "{{ 7 * 7 }} ]]>",
]
NASTY = sb.FiniteStructure(
    np.array([[0.1, 0.5, 0.3, 0.2], [0.6, 0.5, 0.2, 0.4]]),
    arms=HOSTILE,
    models=["</option><img src=x onerror=alert(1)>", "\u202emodel\x07"],
)


@pytest.mark.parametrize("name", STRUCTURES)
def test_every_kind_of_structure_fills_every_panel(name: str) -> None:
    text = page(STRUCTURES[name], horizon=5000)
    assert all(f'data-panel="{panel}"' in text for panel in PANELS)
    assert UNTOLD not in text


@pytest.mark.parametrize("structure", [SHOP, CURVE], ids=["table", "curve"])
def test_pages_keep_to_the_content_policy(structure: Any) -> None:
    reply = fetched(structure, mean=0.4)
    text = reply.body.decode()
    assert reply.headers["content-security-policy"] == CONTENT_POLICY
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|https?://", text)
    assert re.findall(r"<script[^>]*>[^<]*", text) == ['<script src="/static/explorer.js" defer>']
    for path in re.findall(r'(?:src|href)="(/static/[^"]+)"', text):
        assert fetched(structure, path).status == 200, path


class Form(HTMLParser):
    """What a browser would send: the fields of the form, and where links lead."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self.links: list[str] = []
        self._select = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        if tag == "a":
            self.links.append(said["href"])
        elif tag == "select":
            self._select = said["name"]
        elif tag == "option" and ("selected" in said or self._select not in self.fields):
            self.fields[self._select] = said.get("value", "")
        elif tag == "input" and "name" in said:
            self.fields[said["name"]] = said["value"]


def test_pages_and_files_say_that_one_arm_is_best_in_every_row() -> None:
    same = sb.FiniteStructure([[0.9, 0.1], [0.8, 0.2]], arms=["tea", "coffee"])
    several = sb.FiniteStructure([[0.9, 0.1], [0.2, 0.8]])
    for text in (page(same), whole_file(same, "types.csv", 3_000)):
        assert "This knowledge cannot help you choose: tea is best in every row" in text
    assert "cannot help you choose" not in page(several)


def test_links_and_the_form_do_all_without_a_script() -> None:
    begun = Form(page(SHOP))
    (families,) = [link for link in begun.links if "truth=1" in link]
    app = explorer_app(SHOP, "types.csv")
    chosen = answered(app, "/", families.removeprefix("?")).body.decode()
    assert 'data-fact="best">gift, with a mean of 0.11<' in chosen
    form = Form(chosen)
    assert form.fields == {
        "truth": "1", "other": "0", "horizon": "10000", "beta": "1", "arm": "0", "mean": ""
    }  # fmt: skip
    sent = form.fields | {"beta": "2", "other": "2", "horizon": "100000", "arm": "3", "mean": "0.5"}
    shown = page(SHOP, **sent)
    assert "100,000 pulls" in shown
    assert "Now two for one has a mean of <b>0.5</b> instead of 0.02." in shown
    assert Form(shown).fields == sent


def test_a_panel_alone_is_the_panel_of_the_page() -> None:
    query = {"truth": 1, "other": 2, "horizon": 777, "beta": 2, "arm": 3, "mean": 0.125}
    whole = page(SHOP, **query)
    parts = fetched(SHOP, f"/panels/{','.join(PANELS)}", **query).body.decode()
    for part in parts.split('<div data-panel="')[1:]:
        name, inner = part.split('">', 1)
        assert inner.removesuffix("</div>") in whole, name


def test_bounds_that_do_not_hold_say_why() -> None:
    text = page(SHOP, horizon=500)
    rows = sb.analyse(SHOP, truth=0).bound_rows(500)
    reasons = {why for row in rows if not row["valid"] for why in row["why_not"].split("; ")}
    assert reasons
    for why in reasons:
        assert why[1:].replace("<", "&lt;").replace(">", "&gt;") in text


def test_names_of_all_kinds_are_shown_as_they_are_and_break_nothing() -> None:
    for text in (page(NASTY, mean=0.3), whole_file(NASTY, "<b>.csv", 1000)):
        assert "<script>alert" not in text
        assert "<img" not in text
        assert "&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt;" in text
        assert "👩‍👩‍👧 &amp; &#39;quotes&#39;" in text
        assert "{{ 7 * 7 }}" in text
        assert "\u202e" not in text
        assert "\x07" not in text


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/", {"truth": "99"}),
        ("/", {"truth": "<script>alert(1)</script>"}),
        ("/", {"mean": "2"}),
        ("/panels/timeline", {"horizon": "0"}),
        ("/panels/timeline,secrets", {}),
        ("/panels/<script>alert(1)", {}),
        ("/panels/" + ",".join(["bounds"] * 50), {}),
    ],
)
def test_refusals_are_readable_and_4xx(path: str, query: dict[str, str]) -> None:
    reply = fetched(SHOP, path, **query)
    text = reply.body.decode()
    assert reply.status == 400
    assert "expected" in text or "accepted" in text
    assert "<script>alert" not in text


def test_other_methods_paths_and_hosts_are_refused() -> None:
    app = explorer_app(SHOP, "types.csv")
    assert request(app, method="POST").status == 405
    assert request(app, path="/nothing").status == 404
    assert request(app, path="/static/../command.py").status == 404
    assert request(app, headers=[("host", "attacker.example")]).status == 421


def test_a_thousand_models_come_in_pages() -> None:
    table = sb.FiniteStructure(np.random.default_rng(0).random((1_000, 20)))
    text = page(table, truth=437)
    assert len(text) < 1_000_000
    assert "models 400 to 599 of 1,000" in text
    assert re.search(r'<tr class="truth" data-model="437">', text)
    later = re.search(r'href="(\?[^"]*first=600[^"]*)">later', text)
    assert later
    query = later[1].removeprefix("?").replace("&amp;", "&")
    after = answered(explorer_app(table, "t"), "/", query).body.decode()
    assert "models 600 to 799 of 1,000" in after


def test_a_missing_package_takes_only_its_own_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(self: Explorer, choice: Any) -> Any:
        raise MissingExtraError("Bounds need highspy: pip install highspy")

    monkeypatch.setattr(Explorer, "theory", missing)
    text = page(SHOP)
    assert text.count(UNTOLD) == 1
    assert "pip install highspy" in text
    assert "the best arm, never dropped" in text


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Owner]:
    """An owner of two experiments, as the command `serve` has one."""
    shop = Shop(tmp_path)
    table = {"kind": "finite", "means": [[0.7, 0.3], [0.2, 0.6]], "arms": ["tea", "coffee"]}
    unimodal = {"kind": "unimodal", "n_arms": 4}
    for name, structure in (("table", table), ("peaks", unimodal)):
        made = shop.create(
            {"structure": structure, "policy": {"kind": "SUCB"}, "horizon": 1000}, name
        )
        assert made.status == 200, made.content
    yield shop.owner
    shop.close()


def app_of(owner: Owner) -> Any:
    """The application that the command `serve` runs."""
    return application(owner, Hosts("127.0.0.1"), pages=pages_of(owner))


def test_each_experiment_has_its_explorer(served: Owner) -> None:
    app = app_of(served)
    text = request(app, path="/experiments/table/explore").body.decode()
    assert '<a href="/" aria-current="page">Experiments</a>' in text
    assert '<a id="back" href="/experiments/table">table</a>' in text
    assert (
        'data-panels="explore/panels"' in text
    )  # relative, so a proxy may add a prefix of its own
    assert request(app, path="/experiments/peaks/explore/panels/map").status == 200
    unknown = request(app, path="/experiments/unknown/explore")
    assert unknown.status == 404
    assert "There is no experiment &#39;unknown&#39;." in unknown.body.decode()


def test_only_who_may_read_an_experiment_may_explore_it(served: Owner) -> None:
    text, _ = served.add_token("analyst", "read", ["table"])
    app = app_of(served)
    headers = [("host", "localhost"), ("authorization", f"Bearer {text}")]
    for path in ("explore", "explore/panels/truth"):
        assert request(app, path=f"/experiments/table/{path}", headers=headers).status == 200
        assert request(app, path=f"/experiments/peaks/{path}", headers=headers).status == 403
        nobody = request(app, path=f"/experiments/table/{path}")
        assert nobody.status == 303
        assert nobody.headers["location"] == "/login?next=/experiments/table/explore"


def test_who_waits_too_long_for_a_turn_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    began, go_on = threading.Event(), threading.Event()

    def slow(self: Explorer, choice: Any) -> Any:
        began.set()
        assert go_on.wait(300)
        raise MissingExtraError("slow")

    monkeypatch.setattr(Explorer, "theory", slow)
    monkeypatch.setattr(routes, "PATIENCE", 0.05)
    app = explorer_app(SHOP, "types.csv")
    first = threading.Thread(target=answered, args=(app, "/panels/bounds", ""))
    first.start()
    assert began.wait(300)
    assert answered(app, "/panels/truth", "").status == 503
    go_on.set()
    first.join()
    assert answered(app, "/panels/truth", "").status == 200


def test_nothing_compiles_and_no_data_frame_is_made() -> None:
    """All panels of a table, a curve and polytopes, in a process that has done nothing else."""
    script = (
        "import sys\n"
        "from support.explorer_cases import STRUCTURES, page\n"
        "for name in ('table', 'curve', 'unimodal'): page(STRUCTURES[name], mean=0.4)\n"
        "print([name for name in ('numba', 'pandas', 'matplotlib') if name in sys.modules])"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=env
    )
    assert done.stdout.strip() == "[]"


# --- one file ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["table", "linear", "one model"])
def test_the_file_holds_every_truth_and_needs_nothing_else(name: str) -> None:
    structure = STRUCTURES[name]
    text = whole_file(structure, "types.csv", 3_000)
    models = Explorer(structure).listed.models
    assert re.findall(r'<section class="case" id="([^"]+)"', text) == [
        f"model-{place}" for place in range(len(models))
    ]
    assert not re.search(r"<script|<link|https?://|url\(|\ssrc=", text)
    assert set(re.findall(r'href="([^"]*)"', text)) <= {
        f"#model-{place}" for place in range(len(models))
    }
    for place, section in enumerate(text.split('<section class="case"')[1:]):
        truth = fetched(structure, "/panels/truth", truth=_key(structure, models[place]))
        (best,) = re.findall(r'data-fact="best">([^<]*)<', truth.body.decode())
        assert f'data-fact="best">{best}<' in section


def _key(structure: Any, model: Any) -> str:
    return ",".join(map(repr, model)) if isinstance(model, tuple) else repr(model)


def test_the_command_writes_a_file_and_overwrites_only_its_own(tmp_path: Path) -> None:
    table, out = tmp_path / "types.csv", tmp_path / "page.html"
    table.write_text("model,tea,coffee\nA,0.8,0.3\nB,0.2,0.7\n")
    for _ in range(2):
        done = CliRunner().invoke(
            main, ["explore", str(table), "--html", str(out), "--horizon", "500"]
        )
        assert (done.exit_code, done.output) == (0, f"page: {out}\n")
    assert "horizon of 500 pulls" in out.read_text()
    out.write_text("a letter")
    done = CliRunner().invoke(main, ["explore", str(table), "--html", str(out)])
    assert done.exit_code == 2
    assert "was not written by this program" in done.output
    assert out.read_text() == "a letter"


def test_the_command_names_what_is_wrong(tmp_path: Path) -> None:
    table = tmp_path / "types.csv"
    rows = "\n".join(f"{number / 1000},0.5" for number in range(201))
    table.write_text(f"tea,coffee\n{rows}\n")
    done = CliRunner().invoke(main, ["explore", str(table), "--html", str(tmp_path / "page.html")])
    assert done.exit_code == 2
    assert "201 models; a file holds at most 200" in done.output
    table.write_text("tea,coffee\n0.1,much\n")
    done = CliRunner().invoke(main, ["explore", str(table)])
    assert done.exit_code == 2
    assert "much" in done.output


def test_the_command_serves_until_ctrl_c(tmp_path: Path) -> None:
    table = tmp_path / "types.csv"
    table.write_text("model,tea,coffee\nA,0.8,0.3\nB,0.2,0.7\n")
    script = "from structured_bandits.service.explorer.command import explore; explore()"
    started = subprocess.Popen(
        [sys.executable, "-c", script, str(table), "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        assert started.stdout is not None
        url = re.fullmatch(r"types.csv: (http://127.0.0.1:\d+/) .*\n", started.stdout.readline())
        assert url
        with urllib.request.urlopen(url[1], timeout=300) as reply:
            assert "<h1>types.csv</h1>" in reply.read().decode()
    finally:
        started.send_signal(signal.SIGINT)
        _, errors = started.communicate(timeout=300)
    assert (started.returncode, errors) == (0, "")
