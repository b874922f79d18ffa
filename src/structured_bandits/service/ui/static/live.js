// Every two seconds: fetch the panels of this experiment and put in place what has changed. Elements
// that stay keep their identity, so that a click, the focus or an opened part is never lost.
"use strict";

const EVERY = 2000; // milliseconds
const panels = document.getElementById("panels");
const stale = document.getElementById("stale");
let mark = "";

function takeOver(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeName !== fresh.nodeName || old.id !== fresh.id) {
    old.replaceWith(fresh);
  } else if (old.nodeType === Node.TEXT_NODE) {
    old.data = fresh.data;
  } else if (old.nodeType === Node.ELEMENT_NODE) {
    takeOverAttributes(old, fresh);
    takeOverChildren(old, [...fresh.childNodes]);
  }
}

function takeOverAttributes(old, fresh) {
  const readers = old.nodeName === "DETAILS" ? "open" : ""; // is for the reader to change
  for (const name of old.getAttributeNames())
    if (name !== readers && !fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const name of fresh.getAttributeNames())
    if (name !== readers && old.getAttribute(name) !== fresh.getAttribute(name))
      old.setAttribute(name, fresh.getAttribute(name));
}

function takeOverChildren(old, fresh) {
  while (old.childNodes.length > fresh.length) old.lastChild.remove();
  fresh.forEach((node, place) => {
    if (place < old.childNodes.length) takeOver(old.childNodes[place], node);
    else old.append(node);
  });
}

async function refresh() {
  const headers = mark ? { "If-None-Match": mark } : {};
  const answer = await fetch(panels.dataset.source, { headers, cache: "no-store", redirect: "manual" });
  if (answer.status === 304) return;
  if (answer.type === "opaqueredirect") return location.reload(); // logged out
  if (!answer.ok) throw new Error(answer.status);
  const text = await answer.text();
  takeOver(panels, new DOMParser().parseFromString(text, "text/html").getElementById("panels"));
  mark = answer.headers.get("ETag");
}

async function look() {
  try {
    await refresh();
    stale.hidden = true;
  } catch {
    stale.hidden = false;
  }
}

async function follow() {
  if (document.visibilityState === "visible") await look();
  setTimeout(follow, EVERY);
}

setTimeout(follow, EVERY);
