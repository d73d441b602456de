// A <details> opens and closes by itself; a person also expects Escape and a click beside it to close it.
export function watchMenus() {
  document.addEventListener("click", (event) => {
    for (const menu of opened()) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of opened()) close(menu);
  });
  document.addEventListener("focusin", (event) => {
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
