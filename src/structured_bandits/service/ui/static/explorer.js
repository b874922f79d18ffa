// The explorer without reloading: choices fetch the page, sliders and drags only what they change.
// Everything works without this script, too: links and forms lead to the same pages.
"use strict";
(() => {
  const PAUSE = 120; // ms without a change before something is fetched
  const main = document.getElementById("main");
  const waiting = new Set(); // panels that a change has made out of date
  let timer = 0, asked = 0, busy = false, drag = null;

  const form = () => document.getElementById("explorer");
  const field = (name) => form().elements.namedItem(name);
  const sliders = (name) => form().querySelectorAll(`.slider[data-sets="${name}"]`);

  function query() {
    const said = new URLSearchParams(new FormData(form()));
    for (const [name, value] of [...said]) if (value === "") said.delete(name);
    return said;
  }

  // --- sliders -----------------------------------------------------------------------------------
  const place = (slider, value) => ("log" in slider.dataset ? Math.log10(value) : value);

  function prepare() {
    if (!form()) return;
    for (const button of form().querySelectorAll(".show")) button.hidden = true;
    for (const slider of form().querySelectorAll(".slider")) {
      const at = place(slider, Number(slider.getAttribute("value")));
      slider.min = place(slider, Number(slider.min));
      slider.max = place(slider, Number(slider.max));
      slider.value = at;
      slider.hidden = false;
    }
  }

  function meant(slider) { // with as many digits as a hand can mean
    const value = Number(slider.value);
    if ("log" in slider.dataset) return String(Number((10 ** value).toPrecision(2)));
    return rounded(value, Number(slider.min), Number(slider.max));
  }

  function rounded(value, low, high) {
    const digits = Math.max(0, Math.ceil(3 - Math.log10(high - low || 1)));
    const inside = Math.min(high, Math.max(low, Number(value.toFixed(digits))));
    return String(inside);
  }

  // --- what is fetched ------------------------------------------------------------------------------
  async function fetched(url) { // the page, and whether it is what was asked for; null if none came
    busy = true;
    main.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(url, { headers: { Accept: "text/html" } });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      return [answer.ok, page];
    } catch {
      return [false, null];
    } finally {
      busy = false;
      main.removeAttribute("aria-busy");
    }
  }

  const tell = (answers) => { document.getElementById("offline").hidden = answers; };

  async function swap(search, push = true) { // a choice: the whole page, without losing the place
    const mine = ++asked;
    waiting.clear();
    const [ok, page] = await fetched(location.pathname + search);
    if (mine !== asked) return;
    if (!page) return tell(false);
    if (!ok) return location.assign(location.pathname + search); // its page says what is wrong
    const focused = document.activeElement && document.activeElement.id;
    main.replaceChildren(...page.getElementById("main").childNodes);
    prepare();
    if (push) history.pushState(null, "", search);
    const again = focused && document.getElementById(focused);
    if (again) again.focus({ preventScroll: true });
  }

  function later(panels) {
    for (const name of panels.split(" ")) waiting.add(name);
    clearTimeout(timer);
    timer = setTimeout(refresh, PAUSE);
  }

  async function refresh() { // a slider or a drag: only the panels that it changes
    if (busy) return later([...waiting].join(" ")); // one at a time: some structures take seconds
    const mine = ++asked, said = query(), names = [...waiting];
    const [ok, page] = await fetched(`${form().dataset.panels}/${names.join(",")}?${said}`);
    if (mine !== asked) return; // a later change fetches these as well
    tell(page !== null);
    if (!page) return;
    waiting.clear();
    for (const panel of page.querySelectorAll("[data-panel]"))
      form().querySelector(`[data-panel="${panel.dataset.panel}"]`)
        .replaceChildren(...panel.childNodes);
    if (ok) history.replaceState(null, "", `?${said}`);
  }

  // --- what a reader does -------------------------------------------------------------------------------
  main.addEventListener("input", ({ target }) => {
    if (target.dataset.sets) {
      field(target.dataset.sets).value = meant(target);
      if (target.dataset.sets === "truth") field("mean").value = "";
      later(target.dataset.panels);
    } else if (target.dataset.panels && target.value !== "") {
      for (const slider of sliders(target.name)) slider.value = place(slider, Number(target.value));
      later(target.dataset.panels);
    }
  });

  main.addEventListener("change", ({ target }) => {
    if (target.dataset.sets || (target.dataset.panels && target.value !== "")) return;
    if (target.name === "truth" || target.name === "arm") field("mean").value = "";
    swap(`?${query()}`);
  });

  main.addEventListener("submit", (event) => {
    event.preventDefault();
    swap(`?${query()}`);
  });

  main.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const link = event.target.closest("a");
    const search = link && link.getAttribute("href");
    if (!search || !search.startsWith("?")) return;
    event.preventDefault();
    const chart = event.target.closest("svg[data-sets]");
    if (!chart) return swap(search);
    field(chart.dataset.sets).value = along(chart.dataset, chart.getBoundingClientRect(), event);
    field("mean").value = "";
    swap(`?${query()}`);
  });

  function along({ low, high }, box, event) {
    const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    return rounded(Number(low) + share * (high - low), Number(low), Number(high));
  }

  // --- dragging a mean --------------------------------------------------------------------------------------
  main.addEventListener("pointerdown", (event) => {
    const chart = event.target.closest(".drag svg");
    if (!chart) return;
    event.preventDefault();
    drag = { chart, ends: { ...chart.dataset }, box: chart.getBoundingClientRect() };
    field("arm").value = chart.querySelector(".handle").dataset.arm;
    move(event);
  });

  function move(event) {
    const mean = along(drag.ends, drag.box, event);
    field("mean").value = mean;
    for (const slider of sliders("mean")) slider.value = mean;
    const share = (mean - drag.ends.low) / (drag.ends.high - drag.ends.low);
    drag.chart.querySelector(".handle").setAttribute("cx", `${100 * share}%`);
    later("moved");
  }

  document.addEventListener("pointermove", (event) => drag && move(event));
  for (const end of ["pointerup", "pointercancel"])
    document.addEventListener(end, () => { drag = null; });

  addEventListener("popstate", () => swap(location.search, false));
  prepare();
})();
