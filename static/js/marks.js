// Marks on the pictures of pages: what is under the pointer or has the focus on one side is marked on the other.
const SVG = "http://www.w3.org/2000/svg";
// A pointer that only passes asks for nothing.
const PAUSE_MS = 80;

export class Marks {
  // `turn` shows a page; `read` shows an element of the text.
  constructor(root, text, leaves, { turn, read }) {
    Object.assign(this, { root, text, leaves, turn, read });
    this.known = new Map();
    // What comes under a pointer that rests, or goes from there, was not pointed at.
    let rests = "";
    const place = ({ clientX, clientY }) => `${clientX} ${clientY}`;
    for (const name of ["pointermove", "pointerdown"]) {
      document.addEventListener(name, (event) => event.pointerType === "mouse" && (rests = place(event)), true);
    }
    const moved = (act) => (event) => place(event) !== rests && act(event);
    text.addEventListener("pointerover", moved((event) => event.pointerType === "mouse" && this.soon(event.target, false)));
    text.addEventListener("pointerleave", moved(() => this.clear()));
    text.addEventListener("focusin", ({ target }) => this.select(target, true));
    text.addEventListener("click", ({ target }) => target.closest("a, button, summary") || this.select(target, true));
    leaves.box.addEventListener("pointerover", moved(({ target }) => this.onBox(target)));
    leaves.box.addEventListener("pointerleave", moved(() => this.clear()));
    leaves.box.addEventListener("click", ({ target }) => this.onLeaf(target));
  }

  soon(target, isAsked) {
    clearTimeout(this.wait);
    this.wait = setTimeout(() => this.select(target, isAsked), PAUSE_MS);
  }

  // Marks the thing around an element. Text that is only passed turns no page; everything else does.
  async select(target, isAsked) {
    const found = this.keyOf(target);
    if (!found || this.chosen === found.element) return;
    this.clear();
    this.chosen = found.element;
    if (isAsked || found.element.dataset.mark) this.turn(found.page);
    const boxes = await this.draw(found.page, found.key);
    if (this.chosen !== found.element || !boxes.length) return;
    found.element.classList.add("is-marked");
    for (const box of boxes) box.classList.add("is-marked");
    if (isAsked || found.element.dataset.mark) this.leaves.bringIntoView(boxes[0]);
  }

  clear() {
    clearTimeout(this.wait);
    this.chosen = null;
    for (const each of this.root.querySelectorAll(".is-marked")) each.classList.remove("is-marked");
  }

  onBox(target) {
    if (!target.dataset.key || target.classList.contains("is-marked")) return;
    this.clear();
    for (const box of target.parentNode.querySelectorAll("[data-key]")) {
      if (box.dataset.key === target.dataset.key) box.classList.add("is-marked");
    }
    this.elementOf(target.dataset.key, pageOf(target))?.classList.add("is-marked");
  }

  onLeaf(target) {
    const page = pageOf(target);
    if (!page) return;
    const element = target.dataset.key ? this.elementOf(target.dataset.key, page) : null;
    this.read(page, element);
    element?.classList.add("is-marked");
  }

  // The boxes of a key on a page, once they are drawn. Without a key: draws them.
  async draw(page, key) {
    const figure = this.leaves.figure(page);
    if (!figure) return [];
    const { size, marks } = await this.ask(page);
    let layer = figure.querySelector("[data-boxes]");
    if (!layer && size) {
      layer = svg("svg", { class: "leaf-marks leaf-boxes", viewBox: `0 0 ${size.join(" ")}`, preserveAspectRatio: "none", "aria-hidden": "true" });
      layer.dataset.boxes = "";
      for (const [name, boxes] of Object.entries(marks)) {
        for (const [x, y, width, height] of boxes) {
          const box = svg("rect", { x, y, width, height });
          box.dataset.key = name;
          layer.append(box);
        }
      }
      figure.querySelector(".leaf-turn").append(layer);
    }
    return [...(layer?.children ?? [])].filter((box) => box.dataset.key === key);
  }

  ask(page) {
    if (!this.known.has(page)) this.known.set(page, this.fetch(page).catch(() => ({ marks: {} })));
    return this.known.get(page);
  }

  // Boxes of another result than the one that is shown would mark the wrong things.
  async fetch(page) {
    const { document: id, marked, run } = this.root.dataset;
    const answer = await fetch(`/documents/${id}/pages/${page}/marks?of=${marked}`, { headers: { Accept: "application/json" } });
    const found = answer.ok ? await answer.json() : {};
    return (found.run_id ?? "") === run && found.marks ? found : { marks: {} };
  }

  keyOf(target) {
    const named = target.closest("[data-mark]");
    if (named) return named.dataset.page ? { key: named.dataset.mark, page: Number(named.dataset.page), element: named } : null;
    const element = target.closest(".prose > *");
    let index = 0;
    let before = element?.previousElementSibling;
    if (!element || element.matches(".page-mark, .page-note")) return null;
    for (; before && !before.matches(".page-mark"); before = before.previousElementSibling) index += !before.matches(".page-note");
    return before ? { key: `block-${index}`, page: Number(before.dataset.page), element } : null;
  }

  elementOf(key, page) {
    const [, index] = /^block-(\d+)$/.exec(key) ?? [];
    if (index === undefined) return this.text.querySelector(`[data-mark="${CSS.escape(key)}"]`);
    let left = Number(index);
    let element = this.text.querySelector(`.page-mark[data-page="${page}"]`)?.nextElementSibling;
    while (element && !element.matches(".page-mark")) {
      if (!element.matches(".page-note") && left-- === 0) return element;
      element = element.nextElementSibling;
    }
    return null;
  }
}

function pageOf(target) {
  return Number(target.closest("[data-leaf]")?.dataset.leaf ?? 0);
}

function svg(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  return made;
}
