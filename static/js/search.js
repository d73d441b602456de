// The key "/" goes to the search box, as long as nothing is being typed.
const boxes = "#q, #topbar-q";
const typing = "input, textarea, select, [contenteditable]";

export function watchSearch() {
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.(typing) || document.querySelector("dialog[open]")) return;
    const box = [...document.querySelectorAll(boxes)].find((each) => each.checkVisibility());
    if (!box) return;
    event.preventDefault();
    box.focus();
    box.select();
  });
}
