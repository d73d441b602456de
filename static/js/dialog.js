// A link whose question fits into a dialog opens it; without a script the link leads to a page with the same question.
export function watchDialogs() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-dialog]");
    const dialog = link && document.getElementById(link.dataset.dialog);
    if (!dialog?.showModal || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    dialog.showModal();
  });
  document.addEventListener("click", (event) => {
    // Only the backdrop is outside of the form that fills the dialog.
    if (event.target.nodeName === "DIALOG" && isOutside(event)) event.target.close();
  });
}

function isOutside(event) {
  const box = event.target.getBoundingClientRect();
  return (
    event.clientX < box.left || event.clientX > box.right || event.clientY < box.top || event.clientY > box.bottom
  );
}
