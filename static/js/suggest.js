// Suggestions below a search box: a combobox whose list opens while something is typed. Without it, the box is a box.
const WAIT_MS = 80;
const boxes = "input[data-suggest]";
let timer = 0;
let asking = null;

export function watchSuggestions() {
  document.addEventListener("input", (event) => {
    if (event.target.matches?.(boxes)) askSoon(event.target);
  });
  document.addEventListener("keydown", onKey, true);
  document.addEventListener("focusout", (event) => {
    if (event.target.matches?.(boxes)) close(event.target);
  });
  // The box keeps the focus while an option is pressed.
  document.addEventListener("pointerdown", (event) => {
    const option = event.target.closest?.("[data-query]");
    if (!option) return;
    event.preventDefault();
    accept(boxOf(option.parentElement), option);
  });
  document.addEventListener("submit", (event) => {
    for (const box of event.target.querySelectorAll(boxes)) close(box);
  });
}

function listOf(box) {
  let list = document.getElementById(`${box.id}-suggestions`);
  if (list) return list;
  list = document.createElement("ul");
  list.id = `${box.id}-suggestions`;
  list.className = "options";
  list.hidden = true;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Suggestions");
  box.after(list);
  for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-controls", list.id]]) {
    box.setAttribute(name, value);
  }
  return list;
}

function boxOf(list) {
  return document.getElementById(list.id.replace(/-suggestions$/, ""));
}

function askSoon(box) {
  clearTimeout(timer);
  asking?.abort();
  timer = setTimeout(() => ask(box), WAIT_MS);
}

async function ask(box) {
  // What stands behind the cursor stays: only what is being typed is completed.
  if (box.selectionStart !== box.value.length || !box.value.trim()) return close(box);
  asking = new AbortController();
  try {
    const url = `${box.dataset.suggest}?q=${encodeURIComponent(box.value)}`;
    const answer = await fetch(url, { headers: { "HX-Request": "true" }, signal: asking.signal });
    if (answer.ok && document.activeElement === box) show(box, await answer.text());
  } catch {
    // Offline, or something newer was typed.
  }
}

function show(box, html) {
  const list = listOf(box);
  // Made by our own server, in which each value is escaped.
  list.innerHTML = html;
  list.hidden = !list.firstElementChild;
  box.setAttribute("aria-expanded", String(!list.hidden));
  box.removeAttribute("aria-activedescendant");
}

function close(box) {
  clearTimeout(timer);
  asking?.abort();
  const list = document.getElementById(`${box.id}-suggestions`);
  if (!list) return;
  list.hidden = true;
  list.replaceChildren();
  box.setAttribute("aria-expanded", "false");
  box.removeAttribute("aria-activedescendant");
}

function onKey(event) {
  const box = event.target;
  if (!box.matches?.(boxes) || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const list = document.getElementById(`${box.id}-suggestions`);
  if (!list || list.hidden) return;
  const chosen = list.querySelector('[aria-selected="true"]');
  const options = [...list.children];
  const at = options.indexOf(chosen);
  if (event.key === "ArrowDown") choose(box, options[(at + 1) % options.length]);
  else if (event.key === "ArrowUp") choose(box, options.at(at <= 0 ? -1 : at - 1));
  else if (event.key === "Escape") close(box);
  else if (event.key === "Enter" && chosen) accept(box, chosen);
  else return;
  event.preventDefault();
  event.stopPropagation();
}

function choose(box, option) {
  for (const each of option.parentElement.children) each.setAttribute("aria-selected", String(each === option));
  box.setAttribute("aria-activedescendant", option.id);
  option.scrollIntoView({ block: "nearest" });
}

function accept(box, option) {
  box.value = option.dataset.query;
  close(box);
  box.focus();
  // The name of a filter is followed by its values.
  if (box.value.endsWith(":")) askSoon(box);
}
