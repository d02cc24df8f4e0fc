// Keeps a page as of now: the server sends the parts of it that have changed. Without this file pages are whole, and still.
"use strict";
(() => {
  const main = document.querySelector("[data-events]");
  const state = document.getElementById("live-state");
  if (!main || !window.EventSource) return;
  const late = new Map(); // parts that came while somebody was in them
  const part = (name) => document.querySelector(`[data-live="${CSS.escape(name)}"]`);
  const renew = (name, html) => {
    const place = part(name);
    if (!place) return;
    if (place.contains(document.activeElement)) late.set(name, html);
    else {
      late.delete(name);
      place.innerHTML = html; // escaped by the server
    }
  };
  document.addEventListener("focusout", () => setTimeout(() => late.forEach((html, name) => renew(name, html)), 0));
  const source = new EventSource(main.dataset.events);
  const say = (text) => {
    if (state && state.textContent !== text) state.textContent = text;
  };
  source.onopen = () => say("live");
  source.onerror = () => say("not live: the server does not answer");
  source.onmessage = (event) => {
    for (const [name, html] of Object.entries(JSON.parse(event.data))) renew(name, html);
  };
})();
