// The reader: the picture of a page and what was read from it follow each other, and the place is kept.
import { Leaves } from "./leaves.js";
import { Marks } from "./marks.js";
import { keepPlace, placeIn } from "./places.js";

// What a jump moves is not a person who scrolls.
const SETTLE_MS = 400;
// So much of the window's height from above a page has to be to be the one that is read.
const READ_AT = 0.35;
const PAUSE_MS = 250;
const known = new WeakSet();
let reader = null;

export function watchReader() {
  document.addEventListener("htmx:load", find);
  document.addEventListener("scroll", () => reader?.onTextScroll(), { passive: true });
  for (const kind of ["wheel", "touchmove", "pointerdown", "keydown"]) {
    document.addEventListener(kind, ({ target }) => reader?.onHand(target), { passive: true, capture: true });
  }
  keepPositionAbove();
  find();
}

function find() {
  const root = document.querySelector("[data-reader]");
  if (!root || known.has(root)) return;
  known.add(root);
  reader = new Reader(root);
}

class Reader {
  constructor(root) {
    this.root = root;
    this.text = root.querySelector(".reader-text");
    this.number = Number(root.dataset.number);
    this.last = Number(root.dataset.last);
    this.isText = root.dataset.marked === "text";
    this.hand = "text";
    this.settle();
    this.leaves = new Leaves(root);
    if (root.dataset.marked) {
      const does = { turn: (page) => this.turn(page), read: (page, element) => this.read(page, element) };
      this.marks = new Marks(root, this.text, this.leaves, does);
    }
    this.leaves.box.addEventListener("scroll", () => this.onPageScroll(), { passive: true });
    root.querySelector(".reader-bar").addEventListener("click", (event) => this.onTurn(event));
    root.querySelector(".reader-switch").addEventListener("click", (event) => this.onView(event));
    const form = root.querySelector(".reader-go");
    form?.addEventListener("submit", (event) => {
      event.preventDefault();
      this.goTo(Number(form.elements.page.value) || this.number);
    });
    this.begin();
  }

  // Where somebody left off, unless the address names a place.
  begin() {
    const named = ["page", "part", "passage", "words", "q"].some((name) => new URLSearchParams(location.search).has(name));
    const page = named || location.hash ? this.number : Math.min(this.last, placeIn(this.root.dataset.document) ?? this.number);
    if (page !== this.number && this.isText) this.goTo(page);
    else this.turn(page);
    // The browser scrolls to the place that the address names once everything is loaded: nobody has turned a page by that.
    if (location.hash && document.readyState !== "complete") {
      this.settledAt = Infinity;
      addEventListener("load", () => this.settledAt === Infinity && this.settle(), { once: true });
    }
  }

  get isNarrow() {
    return getComputedStyle(this.root.querySelector(".reader-switch")).display !== "none";
  }

  settle() {
    this.settledAt = performance.now() + SETTLE_MS;
  }

  onHand(target) {
    if (target.nodeType === 1) this.hand = this.leaves.box.contains(target) ? "page" : "text";
    if (!this.root.querySelector(".reader-bar").contains(target)) this.settledAt = 0;
  }

  onTextScroll() {
    if (this.hand !== "text" || performance.now() < this.settledAt || !this.root.isConnected || !this.text.offsetParent) return;
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      const page = this.pageInText();
      if (page && page !== this.number) this.turn(page);
    });
  }

  onPageScroll() {
    if (this.hand !== "page" || performance.now() < this.settledAt) return;
    const page = this.leaves.current;
    if (page === this.number) return;
    this.note(page);
    clearTimeout(this.wait);
    this.wait = setTimeout(() => this.isNarrow || this.showText(this.number), PAUSE_MS);
  }

  onTurn(event) {
    const link = event.target.closest("[data-turn]");
    if (!link || isForBrowser(event)) return;
    event.preventDefault();
    this.goTo(this.number + Number(link.dataset.turn));
  }

  onView(event) {
    const link = event.target.closest("[data-view-of]");
    if (!link || isForBrowser(event)) return;
    event.preventDefault();
    this.view(link.dataset.viewOf);
  }

  view(view) {
    this.root.dataset.view = view;
    for (const link of this.root.querySelectorAll("[data-view-of]")) {
      if (link.dataset.viewOf === view) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    this.settle();
    if (view === "page") this.leaves.show(this.number);
    else this.showText(this.number);
  }

  goTo(page) {
    this.turn(Math.min(this.last, Math.max(1, page)));
    this.showText(this.number);
  }

  // Shows the picture of a page.
  turn(page) {
    this.settle();
    this.leaves.show(page);
    this.note(page);
  }

  // Shows the text of a page, or an element of it.
  read(page, element) {
    this.note(page);
    if (this.isNarrow) this.view("text");
    this.settle();
    if (element) element.scrollIntoView({ block: "center" });
    else this.showText(page);
  }

  note(page) {
    this.number = page;
    const input = this.root.querySelector("[data-go]");
    if (input) input.value = page;
    for (const link of this.root.querySelectorAll("[data-turn], [data-view-of]")) {
      const to = page + Number(link.dataset.turn ?? 0);
      const url = new URL(link.href, location.href);
      url.searchParams.set("page", to);
      if (url.hash) url.hash = `page-${to}`;
      link.href = url;
      link.hidden = to < 1 || to > this.last;
    }
    if (this.isText) keepPlace(this.root.dataset.document, page);
    this.marks?.draw(page);
  }

  // The marks of the pages whose text is there, in their order.
  get places() {
    return [...this.text.querySelectorAll("[data-page]")];
  }

  pageInText() {
    const line = innerHeight * READ_AT;
    const places = this.places;
    let low = -1;
    let high = places.length - 1;
    while (low < high) {
      const at = (low + high + 1) >> 1;
      if (places[at].getBoundingClientRect().top <= line) low = at;
      else high = at - 1;
    }
    return Number(places[Math.max(0, low)]?.dataset.page ?? 0);
  }

  async showText(page) {
    if (this.isText && !this.isLoaded(page)) await this.load(page);
    const place = this.places.findLast((each) => Number(each.dataset.page) <= page);
    this.settle();
    if (place && this.text.offsetParent) place.scrollIntoView({ block: "start" });
  }

  isLoaded(page) {
    const pages = this.places.map((each) => Number(each.dataset.page));
    const isBefore = page < pages[0] && document.getElementById("text-before");
    const isAfter = page > pages.at(-1) && document.getElementById("text-after");
    return !isBefore && !isAfter;
  }

  async load(page) {
    await window.htmxSettled;
    const url = `${location.pathname}?page=${page}`;
    if (!window.htmx) return location.assign(`${url}#page-${page}`);
    return window.htmx.ajax("GET", url, { target: "#text-parts", swap: "outerHTML show:none", select: "#text-parts" });
  }
}

function isForBrowser(event) {
  return event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
}

// What comes above the text that is read pushes it down: the window follows. Who scrolls up to its beginning gets it.
function keepPositionAbove() {
  let top = null;
  const part = () => document.querySelector(".text-part");
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    top = detail.target?.id === "text-before" ? { part: part(), at: part().getBoundingClientRect().top } : null;
  });
  document.addEventListener("htmx:afterSettle", () => {
    if (top?.part.isConnected) scrollBy(0, top.part.getBoundingClientRect().top - top.at);
    top = null;
  });
  document.addEventListener(
    "wheel",
    ({ deltaY }) => {
      const link = deltaY < 0 && document.getElementById("previous-pages");
      if (link && link.getBoundingClientRect().bottom > 0) link.click();
    },
    { passive: true },
  );
}
