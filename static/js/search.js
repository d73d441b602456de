// The key "/" goes to the search box, "j" and "k" from hit to hit, as long as nothing is being typed.
const boxes = "#q, #topbar-q";
const typing = "input, textarea, select, [contenteditable]";

export function watchSearch() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.(typing) || document.querySelector("dialog[open]")) return;
    const done = KEYS[event.key]?.();
    if (done) event.preventDefault();
  });
}

const KEYS = { "/": goToBox, j: () => goToHit(1), k: () => goToHit(-1) };

function goToBox() {
  const box = [...document.querySelectorAll(boxes)].find((each) => each.checkVisibility());
  box?.focus();
  box?.select();
  return Boolean(box);
}

// The hits are links, so Enter opens the one that has the focus.
function goToHit(by) {
  const hits = [...document.querySelectorAll("[data-hit]")].filter((each) => each.checkVisibility());
  if (!hits.length) return false;
  const at = hits.indexOf(document.activeElement);
  const next = at < 0 ? 0 : Math.min(hits.length - 1, Math.max(0, at + by));
  hits[next].focus();
  hits[next].scrollIntoView({ block: "nearest" });
  return true;
}
