// The player of a recording: a click on a sentence plays it, and the text follows what is played.
// Everything is listened to on the document, because HTMX may put the player there at any time.
const JUMP_SECONDS = 5;
const HASH = /^#t=(\d+(?:\.\d+)?)$/;
// A person who scrolls reads: for so long the text does not run away from under them.
const READING_MS = 4_000;
let scrolledAt = -READING_MS;

export function watchPlayers() {
  document.addEventListener("click", onClick);
  document.addEventListener("keydown", onKey);
  // These two do not bubble.
  document.addEventListener("timeupdate", onTime, true);
  document.addEventListener("seeked", onTime, true);
  for (const kind of ["wheel", "touchmove"]) {
    document.addEventListener(kind, () => (scrolledAt = performance.now()), { passive: true });
  }
  window.addEventListener("hashchange", goToHash);
  document.addEventListener("htmx:load", (event) => {
    if (event.target.querySelector?.("[data-player]")) goToHash();
  });
  goToHash();
}

function playerOf(element) {
  return element?.closest?.("[data-player]") ?? null;
}

function audioOf(player) {
  return player.querySelector("[data-audio]");
}

function goToHash() {
  const player = document.querySelector("[data-player]");
  const found = HASH.exec(location.hash);
  if (!player || !found) return;
  const seconds = Number(found[1]);
  seek(audioOf(player), seconds);
  show(player, seconds, true);
}

function onClick(event) {
  const player = playerOf(event.target);
  if (!player || event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const wave = event.target.closest("[data-wave]");
  const link = event.target.closest("[data-at]");
  if (wave) playFrom(player, positionIn(wave, event.clientX) * duration(player));
  // Words that are being selected are not meant to be played.
  else if (link && getSelection().isCollapsed) playFrom(player, Number(link.dataset.at), link);
  if (wave || link) event.preventDefault();
}

function positionIn(wave, x) {
  const box = wave.getBoundingClientRect();
  return Math.min(1, Math.max(0, (x - box.left) / box.width));
}

function duration(player) {
  const { duration: seconds } = audioOf(player);
  return Number.isFinite(seconds) ? seconds : 0;
}

function playFrom(player, seconds, link) {
  const audio = audioOf(player);
  if (link?.matches(".said")) mark(player, link);
  seek(audio, seconds);
  show(player, seconds, false);
  // A browser may refuse to begin by itself; then the player is at the right place.
  audio.play().catch(() => {});
}

function seek(audio, seconds) {
  if (audio.readyState > 0) audio.currentTime = seconds;
  else {
    audio.addEventListener("loadedmetadata", () => (audio.currentTime = seconds), { once: true });
    audio.load();
  }
}

function onTime(event) {
  const player = playerOf(event.target);
  if (player && event.target.matches("[data-audio]")) show(player, event.target.currentTime, false);
}

// Marks what is being said, and brings it into view where that is wanted.
function show(player, seconds, isAsked) {
  const played = player.querySelector("[data-played]");
  const total = duration(player);
  if (total) played.setAttribute("width", String((seconds / total) * played.ownerSVGElement.viewBox.baseVal.width));
  const marked = player.querySelector(".said[aria-current]");
  // Where two speak at once, the one that was chosen stays.
  const current = marked && isSaidAt(marked, seconds) ? marked : saidAt(player, seconds);
  if (current === marked && !isAsked) return;
  mark(player, current);
  if (!current) return;
  const isFollowing = player.querySelector("[data-follow]").checked && performance.now() - scrolledAt > READING_MS;
  if (isAsked || (isFollowing && !audioOf(player).paused)) bringIntoView(current);
}

function mark(player, sentence) {
  player.querySelector(".said[aria-current]")?.removeAttribute("aria-current");
  sentence?.setAttribute("aria-current", "true");
}

function isSaidAt(sentence, seconds) {
  return Number(sentence.dataset.at) <= seconds + 0.05 && seconds < Number(sentence.dataset.until);
}

function bringIntoView(element) {
  const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  element.scrollIntoView({ block: "center", behavior: isCalm ? "auto" : "smooth" });
}

// The last sentence that has begun: sentences are in the order of time.
function saidAt(player, seconds) {
  const sentences = player.querySelectorAll(".said");
  let low = 0;
  let high = sentences.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (Number(sentences[middle].dataset.at) <= seconds + 0.05) low = middle + 1;
    else high = middle;
  }
  return sentences[low - 1] ?? null;
}

function onKey(event) {
  const player = playerOf(event.target) ?? (event.target === document.body ? document.querySelector("[data-player]") : null);
  if (!player || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  // The audio element and the checkbox have keys of their own; Enter on a link is a click.
  if (event.target.matches("input, button, textarea, select")) return;
  if (event.target.matches("[data-audio]") && !["ArrowUp", "ArrowDown"].includes(event.key)) return;
  const action = ACTIONS[event.key];
  if (!action) return;
  event.preventDefault();
  action(player, audioOf(player));
}

const ACTIONS = {
  " ": (_, audio) => (audio.paused ? audio.play().catch(() => {}) : audio.pause()),
  ArrowLeft: (_, audio) => seek(audio, Math.max(0, audio.currentTime - JUMP_SECONDS)),
  ArrowRight: (_, audio) => seek(audio, audio.currentTime + JUMP_SECONDS),
  ArrowUp: (player, audio) => step(player, audio, -1),
  ArrowDown: (player, audio) => step(player, audio, 1),
};

function step(player, audio, by) {
  const sentences = [...player.querySelectorAll(".said")];
  const place = sentences.indexOf(saidAt(player, audio.currentTime));
  const next = sentences[Math.min(sentences.length - 1, Math.max(0, place + by))];
  if (!next) return;
  seek(audio, Number(next.dataset.at));
  show(player, Number(next.dataset.at), true);
}
