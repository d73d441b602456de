// Puts a token that is shown once on the clipboard.
export function watchSecrets() {
  document.addEventListener("click", ({ target }) => {
    const button = target.closest?.("[data-copy-secret]");
    const secret = button?.closest("section").querySelector(".secret");
    if (!secret) return;
    getSelection().selectAllChildren(secret);
    // The newer way is closed to pages that come by plain HTTP, as inside of a house.
    const isDone = document.execCommand("copy");
    button.textContent = isDone ? button.dataset.done : button.dataset.failed;
  });
}
