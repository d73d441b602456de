// A picture of a page that could not be drawn at once, since many were asked for, is asked for again. A page that can't be
// drawn at all says so at once.
const TRIES = 5;
const PAUSE_MS = 1_500;
const pictures = "img.thumbnail, .leaf-large img, .book-figure img";

export function watchPictures() {
  // An error of an image does not bubble.
  document.addEventListener("error", ({ target }) => target.matches?.(pictures) && askAgain(target), true);
  for (const image of document.querySelectorAll(pictures)) {
    if (image.complete && image.naturalWidth === 0 && image.currentSrc) askAgain(image);
  }
}

async function askAgain(image) {
  // Where there is none, an empty place says that better than a broken picture.
  image.style.visibility = "hidden";
  const src = image.getAttribute("src");
  // What was fetched and is no picture is not fetched again.
  if (image.dataset.asked !== src && (await isThere(src))) {
    image.dataset.asked = src;
    image.addEventListener("load", () => image.style.removeProperty("visibility"), { once: true });
    image.src = src;
  } else {
    image.closest("figure")?.querySelector(".leaf-missing")?.removeAttribute("hidden");
  }
}

// An image does not tell why it could not be loaded.
async function isThere(src) {
  for (let tries = 1; tries <= TRIES; tries++) {
    const answer = await fetch(src, { credentials: "same-origin" }).catch(() => null);
    answer?.body?.cancel();
    if (answer?.ok) return true;
    if (answer && answer.status !== 503 && answer.status !== 429) return false;
    const seconds = Number(answer?.headers.get("Retry-After"));
    await new Promise((resolve) => setTimeout(resolve, seconds ? seconds * 1_000 : PAUSE_MS * tries));
  }
  return false;
}
