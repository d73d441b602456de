// A picture of a page that could not be drawn at once, since many were asked for, is asked for again.
const TRIES = 4;
const PAUSE_MS = 1_500;
const pictures = "img.thumbnail, .leaf-large img, .book-figure img";

export function watchPictures() {
  // An error of an image does not bubble.
  document.addEventListener("error", ({ target }) => target.matches?.(pictures) && askAgain(target), true);
  for (const image of document.querySelectorAll(pictures)) {
    if (image.complete && image.naturalWidth === 0 && image.currentSrc) askAgain(image);
  }
}

function askAgain(image) {
  const tries = Number(image.dataset.tries ?? 0) + 1;
  image.dataset.tries = tries;
  // Where there is none, an empty place says that better than a broken picture.
  image.style.visibility = "hidden";
  if (tries > TRIES) {
    image.closest("figure")?.querySelector(".leaf-missing")?.removeAttribute("hidden");
    return;
  }
  image.addEventListener("load", () => image.style.removeProperty("visibility"), { once: true });
  setTimeout(() => (image.src = image.getAttribute("src")), PAUSE_MS * tries);
}
