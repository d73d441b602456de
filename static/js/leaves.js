// The pictures of a document's pages, below each other in one box that scrolls. Each is asked for when it comes near.
// Who scrolls fast passes many pages: a picture is asked for once its page has been near for so long.
const PAUSE_MS = 120;
const NEAR = "150% 0px";
const ZOOMS = [0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4];
// As wide as a page of A4 is to its height, until the first picture says better.
const RATIO = 1 / Math.SQRT2;
// Kept from one section of a document to the next.
const look = { zoom: 1, fit: "width", turned: 0 };

export class Leaves {
  constructor(root) {
    this.root = root;
    this.box = root.querySelector("[data-leaves]");
    this.figures = [];
    this.ratios = new Map();
    this.ratio = RATIO;
    this.shown = Number(root.dataset.number);
    this.fill(Number(root.dataset.last), Number(root.dataset.number));
    root.querySelector(".reader-tools").addEventListener("click", (event) => this.onTool(event));
    this.box.addEventListener("load", ({ target }) => target.matches("img") && this.onPicture(target), true);
    this.applyLook();
  }

  // Figures for all pages around the one that the server sent.
  fill(last, number) {
    const first = this.box.querySelector("[data-leaf]");
    const others = { before: document.createDocumentFragment(), after: document.createDocumentFragment() };
    for (let page = 1; page <= last; page++) {
      const figure = page === number ? first : this.blank(first, page);
      this.figures.push(figure);
      if (figure !== first) others[page < number ? "before" : "after"].append(figure);
    }
    first.before(others.before);
    first.after(others.after);
    const observer = new IntersectionObserver((entries) => entries.forEach(ask), { root: this.box, rootMargin: NEAR });
    for (const figure of this.figures) {
      figure.dataset.sized = "";
      if (figure !== first) observer.observe(figure);
    }
    const image = first.querySelector("img");
    if (image.naturalWidth) this.onPicture(image);
  }

  blank(first, page) {
    const figure = first.cloneNode(true);
    figure.dataset.leaf = page;
    figure.querySelector("svg")?.remove();
    const image = figure.querySelector("img");
    image.dataset.src = first.querySelector("img").getAttribute("src").replace(/\d+\.png$/, `${page}.png`);
    image.removeAttribute("src");
    image.alt = image.alt.replace(/\d+$/, page);
    return figure;
  }

  figure(page) {
    return this.figures[page - 1];
  }

  // The page in the middle of the box.
  get current() {
    const middle = this.box.scrollTop + this.box.clientHeight / 2;
    let low = 0;
    let high = this.figures.length - 1;
    while (low < high) {
      const at = (low + high + 1) >> 1;
      if (this.figures[at].offsetTop <= middle) low = at;
      else high = at - 1;
    }
    return low + 1;
  }

  show(page) {
    const figure = this.figure(page);
    this.shown = page;
    if (figure && this.box.clientHeight) this.box.scrollTop = page === 1 ? 0 : figure.offsetTop - 4;
  }

  // Scrolls only as far as it has to.
  bringIntoView(rectangle) {
    const box = this.box.getBoundingClientRect();
    const at = rectangle.getBoundingClientRect();
    if (at.top < box.top || at.bottom > box.bottom) this.box.scrollTop += at.top - box.top - box.height / 3;
    if (at.left < box.left || at.right > box.right) this.box.scrollLeft += at.left - box.left - box.width / 3;
  }

  onPicture(image) {
    const figure = image.closest("[data-leaf]");
    const ratio = image.naturalWidth / image.naturalHeight;
    if (!this.ratios.size) this.ratio = ratio;
    const isFirst = !this.ratios.size;
    this.ratios.set(figure, ratio);
    for (const each of isFirst ? this.figures : [figure]) this.size(each);
    if (isFirst) this.show(this.shown);
  }

  size(figure) {
    const ratio = this.ratios.get(figure) ?? this.ratio;
    figure.style.setProperty("--ratio", look.turned % 180 ? 1 / ratio : ratio);
  }

  onTool(event) {
    const { zoom, fit, rotate } = event.target.closest("button")?.dataset ?? {};
    if (zoom) look.zoom = ZOOMS[Math.min(ZOOMS.length - 1, Math.max(0, ZOOMS.indexOf(look.zoom) + (zoom === "in" ? 1 : -1)))];
    if (fit) Object.assign(look, { fit, zoom: 1 });
    if (rotate !== undefined) look.turned = (look.turned + 90) % 360;
    const page = this.current;
    this.applyLook();
    this.show(page);
  }

  applyLook() {
    this.box.dataset.fit = look.fit;
    this.box.dataset.turned = look.turned;
    this.box.style.setProperty("--zoom", look.zoom);
    for (const button of this.root.querySelectorAll("[data-fit]:is(button)")) {
      button.setAttribute("aria-pressed", String(button.dataset.fit === look.fit && look.zoom === 1));
    }
    for (const figure of this.figures) this.size(figure);
  }
}

const waits = new WeakMap();

function ask({ target, isIntersecting }) {
  clearTimeout(waits.get(target));
  const image = target.querySelector("img");
  if (!isIntersecting || !image.dataset.src) return;
  waits.set(
    target,
    setTimeout(() => {
      image.src = image.dataset.src;
      delete image.dataset.src;
    }, PAUSE_MS),
  );
}
