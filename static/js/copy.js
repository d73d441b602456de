// Puts a table on the clipboard, as text with tabs and as HTML. No spreadsheet takes a cell of it for a formula.
const formula = /^[=+\-@\t\r]/;
const number = /^[-+]?\d+(\.\d+)?$/;

export function watchCopies() {
  document.addEventListener("click", ({ target }) => {
    const button = target.closest?.("[data-copy]");
    const table = button?.closest(".figure")?.querySelector("table");
    if (!table) return;
    const rows = [...table.rows].map((row) => [...row.cells].map(textOf));
    document.addEventListener("copy", (event) => put(event, rows), { once: true });
    // The newer way is closed to pages that come by plain HTTP, as inside of a house.
    const isDone = document.execCommand("copy");
    button.textContent = isDone ? "Copied" : "Could not copy";
    setTimeout(() => (button.textContent = "Copy"), 2000);
    const announcer = document.getElementById("announcer");
    if (announcer) announcer.textContent = isDone ? "The table is on the clipboard." : "The table could not be copied.";
  });
}

function textOf(cell) {
  const text = (cell.querySelector("bdi") ?? cell).textContent.trim().replace(/\s+/g, " ");
  return formula.test(text) && !number.test(text) ? `'${text}` : text;
}

function put(event, rows) {
  const table = document.createElement("table");
  for (const cells of rows) {
    const row = table.insertRow();
    for (const text of cells) row.insertCell().textContent = text;
  }
  event.clipboardData.setData("text/plain", rows.map((cells) => cells.join("\t")).join("\n"));
  event.clipboardData.setData("text/html", table.outerHTML);
  event.preventDefault();
}
