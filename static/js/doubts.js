// Esc says that the document has no such value; what is being typed it takes back first. Enter and Tab need no script.
export function watchDoubts() {
  document.addEventListener("keydown", (event) => {
    const doubt = document.querySelector("[data-doubt]");
    if (event.key !== "Escape" || !doubt || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open], details[open]") || event.isComposing) return;
    const typed = event.target.closest?.("input");
    if (typed && !doubt.contains(typed)) return;
    event.preventDefault();
    if (typed && typed.value !== typed.defaultValue) typed.value = typed.defaultValue;
    else doubt.querySelector("#doubt-absent")?.click();
  });
}
