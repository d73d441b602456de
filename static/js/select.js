// Ticking rows of the library: with Shift a whole range; the bar below the filters shows and says how many there are.
let last = null;

const boxes = () => [...document.querySelectorAll("#rows input[name=id]")];

export function watchSelection() {
  document.addEventListener("click", (event) => {
    const box = event.target.closest?.("#rows input[name=id]");
    if (!box) return;
    if (event.shiftKey && last?.isConnected) tickRange(boxes(), last, box);
    last = box;
    show();
  });
  document.addEventListener("change", (event) => event.target.id === "bulk-all" && show());
  document.addEventListener("htmx:afterSettle", show);
}

function tickRange(all, one, other) {
  const [start, end] = [all.indexOf(one), all.indexOf(other)].sort((a, b) => a - b);
  if (start >= 0) for (const box of all.slice(start, end + 1)) box.checked = other.checked;
}

function show() {
  const [bar, count] = [document.getElementById("bulk-bar"), document.getElementById("bulk-count")];
  if (!bar || !count) return;
  const number = boxes().filter((box) => box.checked).length;
  bar.open = number > 0 || document.getElementById("bulk-all").checked;
  const text = number === 1 ? count.dataset.one : count.dataset.many.replace("{number}", number);
  count.textContent = number ? ` ${text}` : "";
}
