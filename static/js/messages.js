// HTMX drops the text of an error. Where the server addresses it to the page's messages, it is shown there.
export function watchMessages() {
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    // That nobody answers a poll is told by polling itself.
    const isPoll = detail.requestConfig?.elt?.matches("[data-poll]");
    if (detail.isError && !isPoll && detail.xhr.getResponseHeader("HX-Retarget")) detail.shouldSwap = true;
  });
}
