// Keeps ages ("3 minutes ago") true while a page is open, and says exact times in the reader's own time zone.
const REFRESH_MS = 20_000;
const UNITS = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];
const relative = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: "auto" });
const exact = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "medium" });

export function watchTimes() {
  tell(document);
  document.addEventListener("htmx:load", (event) => tell(event.target));
  setInterval(() => {
    if (!document.hidden) tell(document);
  }, REFRESH_MS);
}

function tell(root) {
  for (const time of root.querySelectorAll("time[data-age]")) {
    const moment = new Date(time.dateTime);
    const text = age(moment);
    // Writing only what differs keeps a text that somebody has selected.
    if (text && time.textContent !== text) time.textContent = text;
    time.title = exact.format(moment);
  }
}

function age(moment) {
  const seconds = (moment.getTime() - Date.now()) / 1000;
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit);
  }
  // Under a minute the server's own words stay.
  return null;
}
