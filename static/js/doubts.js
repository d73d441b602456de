// Esc says that the document has no such value; what is being typed it takes back first. Z takes back the last decision.
// Enter and Tab need no script. A key that is held down decides once: what comes next nobody has looked at.
export function watchDoubts() {
  document.addEventListener("keydown", (event) => {
    const doubt = document.querySelector("[data-doubt]");
    if (!doubt || event.isComposing || document.querySelector("dialog[open], details[open]")) return;
    const typed = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (typed && !doubt.contains(typed)) return;
    if (event.repeat && ["Enter", "Escape"].includes(event.key)) event.preventDefault();
    else if (event.key === "Escape" && !hasModifier(event)) onEscape(event, doubt, typed);
    else if (event.key.toLowerCase() === "z" && !typed && !event.altKey && !event.shiftKey && !event.repeat) {
      event.preventDefault();
      doubt.querySelector("#doubt-undo")?.click();
    }
  });
}

function onEscape(event, doubt, typed) {
  event.preventDefault();
  if (typed && typed.value !== typed.defaultValue) typed.value = typed.defaultValue;
  else doubt.querySelector("#doubt-absent")?.click();
}

function hasModifier(event) {
  return event.ctrlKey || event.metaKey || event.altKey;
}
