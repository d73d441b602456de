// Polling is HTMX's (hx-trigger="load delay:…, poll"); here is only what it leaves open:
// a hidden tab asks for nothing, and a server that does not answer is asked again, more and more slowly.
const RETRY_FIRST_MS = 2_000;
const RETRY_MAX_MS = 30_000;
// When a document ends, so many of those that wait are asked for at once: their turn is near.
const NEXT_IN_TURN = 4;
const waiting = new Set();
const failures = new Map();

export function watchPolling() {
  document.addEventListener("htmx:beforeRequest", pauseWhileHidden);
  document.addEventListener("visibilitychange", resume);
  document.addEventListener("htmx:sendError", askAgain);
  document.addEventListener("htmx:timeout", askAgain);
  document.addEventListener("htmx:responseError", onErrorAnswer);
  document.addEventListener("htmx:afterOnLoad", onAnswer);
  document.addEventListener("htmx:beforeCleanupElement", giveUp);
  document.addEventListener("htmx:afterSwap", onSwap);
}

// What is being asked for an element that leaves the page has nowhere to go any more.
function giveUp({ target }) {
  if (target.matches?.("[data-poll]")) window.htmx.trigger(target, "htmx:abort");
}

// An answer that replaced its element is told to the element's parent: the request knows who asked.
function asker(event) {
  return event.detail.requestConfig?.elt ?? event.detail.elt;
}

function isPoll(event) {
  return asker(event)?.matches("[data-poll]") ?? false;
}

function pauseWhileHidden(event) {
  if (!document.hidden || !isPoll(event)) return;
  event.preventDefault();
  waiting.add(asker(event).id);
}

function resume() {
  if (document.hidden) return;
  const ids = [...waiting];
  waiting.clear();
  for (const id of ids) poll(id);
}

function poll(id) {
  const element = document.getElementById(id);
  if (element?.matches("[data-poll]")) window.htmx.trigger(element, "poll");
  // It has left the page, or was swapped for one that waits for nothing.
  else recovered(id);
}

function askAgain(event) {
  if (!isPoll(event)) return;
  const { id } = asker(event);
  const before = failures.get(id) ?? 0;
  failures.set(id, before + 1);
  tellConnection();
  setTimeout(() => poll(id), Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** Math.min(before, 6)));
}

function onErrorAnswer(event) {
  if (!isPoll(event)) return;
  const { status } = event.detail.xhr;
  if (status === 404) forget(asker(event));
  else if (status === 429 || status >= 500) askAgain(event);
  else if (status === 401 || status === 403) location.reload();
}

// Somebody deleted the document: a row leaves the grid, a page of its own has nothing more to say.
function forget(element) {
  recovered(element.id);
  if (element.matches("tr")) window.htmx.trigger(document.body, "library-changed");
  else location.assign("/");
}

function onAnswer(event) {
  if (isPoll(event) && event.detail.successful) recovered(asker(event).id);
}

// Rows that wait long are asked for rarely. In each list the oldest come last, and they are next in turn.
function onSwap(event) {
  const row = document.getElementById(asker(event)?.id ?? "");
  if (!row?.matches("tr.row-document") || row.matches("[data-poll]")) return;
  for (const next of [...row.parentElement.querySelectorAll("tr[data-poll]")].slice(-NEXT_IN_TURN)) poll(next.id);
}

function recovered(id) {
  if (failures.delete(id)) tellConnection();
}

function tellConnection() {
  document.getElementById("connection").hidden = failures.size === 0;
}
