// Keys for what people do all day; none of them while something is being typed, or in an open dialog. "?" lists them.
const typing = "input, textarea, select, [contenteditable]";
const places = { l: "go-library", s: "go-search", o: "go-operations" };
// "g" waits this long for the letter of a place.
const patience = 1500;
let waitsSince = 0;

export function watchShortcuts() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.(typing)) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.timeStamp - waitsSince < patience && places[event.key]) {
      waitsSince = 0;
      document.getElementById(places[event.key])?.click();
    } else if (event.key === "g") {
      waitsSince = event.timeStamp;
    } else if (event.key === "?") {
      event.preventDefault();
      document.getElementById("shortcuts")?.showModal();
    } else if (event.key === "j" || event.key === "k") {
      moveInGrid(event.key === "j" ? 1 : -1);
    }
  });
}

// Enter then follows the link, as everywhere.
function moveInGrid(step) {
  const links = [...document.querySelectorAll("#rows .grid-name a")];
  const row = document.activeElement?.closest("#rows > tr");
  const at = row ? links.findIndex((link) => row.contains(link)) + step : step > 0 ? 0 : -1;
  links[at]?.focus();
}
