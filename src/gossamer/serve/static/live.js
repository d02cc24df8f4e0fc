// Keeps a page as of now: the server sends the parts of it that have changed. Without this file pages are whole, and still.
"use strict";
(() => {
  const main = document.querySelector("[data-events]");
  const state = document.getElementById("live-state");
  const hold = document.getElementById("live-hold");
  if (!main || !window.EventSource) return;
  const RETRY_MS = 15000;
  const late = new Map(); // parts that came while somebody was in them
  let source = null;
  let retry = 0;
  let held = false;

  const say = (text) => {
    if (state && state.textContent !== text) state.textContent = text;
  };
  const isUsed = (place) => {
    if (place.contains(document.activeElement)) return true;
    const chosen = document.getSelection();
    return !!chosen && !chosen.isCollapsed && chosen.containsNode(place, true);
  };
  const renew = (name, html) => {
    const place = document.querySelector(`[data-live="${CSS.escape(name)}"]`);
    if (!place) return;
    if (isUsed(place)) {
      late.set(name, html);
      return;
    }
    late.delete(name);
    const fresh = document.createElement("template");
    fresh.innerHTML = html; // escaped by the server
    if (fresh.innerHTML === place.innerHTML) return;
    const kept = (root, kind) => [...root.querySelectorAll(kind)];
    const scrolled = kept(place, ".scroll").map((box) => [box.scrollLeft, box.scrollTop]);
    const open = kept(place, "details").map((box) => box.open);
    place.replaceChildren(fresh.content);
    kept(place, "details").forEach((box, at) => (box.open = open[at] || false));
    kept(place, ".scroll").forEach((box, at) => ([box.scrollLeft, box.scrollTop] = scrolled[at] || [0, 0]));
  };
  const catchUp = () => setTimeout(() => late.forEach((html, name) => renew(name, html)), 0);

  const close = () => {
    clearTimeout(retry);
    if (source) source.close();
    source = null;
  };
  const open = () => {
    close();
    if (held || document.hidden) return; // a browser has few connections to one server: pages nobody sees give theirs back
    source = new EventSource(main.dataset.events);
    source.onopen = () => say("live");
    source.onmessage = (event) => {
      for (const [name, html] of Object.entries(JSON.parse(event.data))) renew(name, html);
      say(late.size ? "live, the part that you are in aside" : "live");
    };
    source.addEventListener("trouble", (event) => say(`not live: ${JSON.parse(event.data)}`));
    source.onerror = () => {
      if (source.readyState !== EventSource.CLOSED) say("not live: the server does not answer");
      else {
        say("not live: open the page again; you may have to log in");
        retry = setTimeout(open, RETRY_MS);
      }
    };
  };

  document.addEventListener("focusout", catchUp);
  document.addEventListener("selectionchange", () => late.size && catchUp());
  document.addEventListener("visibilitychange", open);
  if (hold) {
    hold.hidden = false;
    hold.addEventListener("click", () => {
      held = !held;
      hold.setAttribute("aria-pressed", String(held));
      if (held) say(`as of ${new Date().toISOString().slice(11, 19)}Z`);
      open();
    });
  }
  open();
})();
