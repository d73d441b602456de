// A <details> opens and closes by itself; a person also expects Escape and a click beside it to close it.
export function watchMenus() {
  document.addEventListener("click", (event) => {
    // A question that the menu asks belongs to it.
    if (event.target.closest("dialog")) return;
    for (const menu of opened()) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || document.querySelector("dialog[open]")) return;
    for (const menu of opened()) close(menu);
  });
  document.addEventListener("focusin", (event) => {
    if (event.target.closest("dialog")) return;
    for (const menu of opened()) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });
}

function opened() {
  return document.querySelectorAll("[data-menu][open]");
}

function close(menu) {
  const held = menu.contains(document.activeElement);
  menu.open = false;
  if (held) menu.querySelector("summary").focus();
}
