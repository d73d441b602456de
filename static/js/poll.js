// Polling is HTMX's (hx-trigger="load delay:…, poll"); here is only what it leaves open:
// a hidden tab asks for nothing, and a server that does not answer is asked again, more and more slowly.
const RETRY_FIRST_MS = 2_000;
const RETRY_MAX_MS = 30_000;
const waiting = new Set();
let failures = 0;

export function watchPolling() {
  document.addEventListener("htmx:beforeRequest", pauseWhileHidden);
  document.addEventListener("visibilitychange", resume);
  document.addEventListener("htmx:sendError", askAgain);
  document.addEventListener("htmx:timeout", askAgain);
  document.addEventListener("htmx:responseError", onErrorAnswer);
  document.addEventListener("htmx:afterOnLoad", onAnswer);
}

function isPoll(event) {
  return event.detail.elt?.matches("[data-poll]") ?? false;
}

function pauseWhileHidden(event) {
  if (!document.hidden || !isPoll(event)) return;
  event.preventDefault();
  waiting.add(event.detail.elt.id);
}

function resume() {
  if (document.hidden) return;
  const ids = [...waiting];
  waiting.clear();
  for (const id of ids) poll(id);
}

function poll(id) {
  const element = document.getElementById(id);
  // By now it may have been swapped for one that waits for nothing.
  if (element?.matches("[data-poll]")) window.htmx.trigger(element, "poll");
}

function askAgain(event) {
  if (!isPoll(event)) return;
  const { id } = event.detail.elt;
  failures += 1;
  tellConnection(false);
  setTimeout(() => poll(id), Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** Math.min(failures - 1, 6)));
}

function onErrorAnswer(event) {
  if (!isPoll(event)) return;
  const { status } = event.detail.xhr;
  if (status === 404) forget(event.detail.elt);
  else if (status === 429 || status >= 500) askAgain(event);
  else if (status === 401 || status === 403) location.reload();
}

// Somebody deleted the document: a row leaves the grid, a page of its own has nothing more to say.
function forget(element) {
  if (element.matches("tr")) window.htmx.trigger(document.body, "library-changed");
  else location.assign("/");
}

function onAnswer(event) {
  if (failures === 0 || !isPoll(event) || !event.detail.successful) return;
  failures = 0;
  tellConnection(true);
}

function tellConnection(isUp) {
  document.getElementById("connection").hidden = isUp;
}
