// Typing into the library's filter changes its address, not the bar of views: here the current one is marked anew.
export function watchViews() {
  document.addEventListener("htmx:pushedIntoHistory", mark);
  document.addEventListener("htmx:afterSettle", ({ target }) => target.id === "views" && mark());
}

function mark() {
  const here = plain(location.href);
  for (const link of document.querySelectorAll("#views [data-view]")) {
    if (plain(link.href) === here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function plain(address) {
  const { pathname, searchParams } = new URL(address);
  const kept = [...searchParams].filter(([name, value]) => value && `${name}=${value}` !== "sort=newest");
  return `${pathname}?${kept.map(([name, value]) => `${name}=${value.trim()}`).sort().join("&")}`;
}
