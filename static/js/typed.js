// What somebody has typed stays when what is around it is swapped: an element with data-keep takes the place of the new one
// with its id. What it showed before stays in it, so the server notices who changed the same thing meanwhile.
let kept = [];
let focused = null;

export function watchTyped() {
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    const all = detail.shouldSwap ? [...(detail.target?.querySelectorAll("[data-keep]") ?? [])] : [];
    kept = all.filter((each) => isTyped(each) && !each.contains(detail.requestConfig?.elt));
    focused = kept.some((each) => each.contains(document.activeElement)) ? document.activeElement : null;
  });
  document.addEventListener("htmx:afterSwap", () => {
    for (const each of kept) {
      const place = document.getElementById(each.id);
      if (place && place !== each) place.replaceWith(each);
    }
    if (focused?.isConnected) focused.focus({ preventScroll: true });
    kept = [];
    focused = null;
  });
}

function isTyped(element) {
  return [...element.querySelectorAll("input:not([type=hidden]), textarea, select")].some(isChanged);
}

function isChanged(field) {
  if (!field.options) return field.value !== field.defaultValue;
  const before = [...field.options].findIndex((option) => option.defaultSelected);
  return field.selectedIndex !== Math.max(0, before);
}
