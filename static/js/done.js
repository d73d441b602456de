// While documents are processed, the page's title shows how many are left. People who asked for it also get a
// notification of the browser when all are done.
let words;
let before = 0;
let isWanted = false;

export function watchDone() {
  words = document.getElementById("done-notice");
  if (!words) return;
  const title = document.title;
  words.querySelector("button").addEventListener("click", async () => {
    isWanted = (await Notification.requestPermission()) === "granted";
    show();
  });
  const look = () => {
    const now = document.querySelectorAll("#rows > tr[data-poll]").length;
    if (now === before) return;
    document.title = now > 0 ? `(${now}) ${title}` : document.hidden ? `\u2713 ${title}` : title;
    if (now === 0) tell();
    before = now;
    show();
  };
  document.addEventListener("htmx:afterSettle", look);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && before === 0) document.title = title;
  });
  look();
}

function show() {
  words.hidden = before === 0 || isWanted || !("Notification" in window) || Notification.permission === "denied";
}

function tell() {
  if (!isWanted) return;
  isWanted = false;
  try {
    const notice = new Notification(words.dataset.title, { body: words.dataset.done, icon: words.dataset.icon });
    notice.addEventListener("click", () => window.focus());
  } catch {
    // Chrome for Android has `Notification`, but lets a service worker alone show one. The title says it.
  }
}
