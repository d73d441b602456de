// Loads HTMX from its CDN, or this server's own copy where the CDN has not delivered in time. Exactly one of them runs.
// Meanwhile the page is painted, and its links and forms work. Scripts that need HTMX await window.htmxSettled and then
// look for window.htmx: where neither could be loaded, it is missing.
(() => {
  const WAIT_MS = 700;
  // After one failure the other pages of this tab don't wait for the CDN again.
  const FAILED = "htmx-url-failed";
  const { nonce, dataset } = document.currentScript;
  const { url, integrity, copy } = dataset;
  let isParsed = false;
  document.addEventListener("DOMContentLoaded", () => (isParsed = true), { once: true });

  window.htmxSettled = load();

  async function load() {
    if (!copy) return Promise.race([run(url, integrity), patience()]);
    if (url && !hasFailed()) {
      if ((await isFetched()) && (await run(url, integrity))) return;
      rememberFailure();
    }
    await run(copy);
  }

  function patience() {
    return new Promise((resolve) => setTimeout(() => resolve(false), WAIT_MS));
  }

  // A preload only fetches. So a file that comes too late, when the copy runs already, is not run as well.
  function isFetched() {
    const link = element("link", { rel: "preload", as: "script", href: url }, integrity);
    return Promise.race([added(link), patience()]);
  }

  async function run(src, hash) {
    if (!src) return false;
    const script = element("script", { src }, hash);
    script.addEventListener("load", () => {
      // HTMX starts at DOMContentLoaded. Where it arrived after that event, and before the page's last picture,
      // it would wait for it for ever.
      if (isParsed && document.readyState !== "complete") document.dispatchEvent(new Event("DOMContentLoaded"));
    });
    return added(script);
  }

  function added(made) {
    return new Promise((resolve) => {
      made.addEventListener("load", () => resolve(true));
      made.addEventListener("error", () => resolve(false));
      document.head.append(made);
    });
  }

  function element(name, properties, hash) {
    const made = Object.assign(document.createElement(name), properties, { nonce });
    if (hash) Object.assign(made, { integrity: hash, crossOrigin: "anonymous" });
    return made;
  }

  // A browser that keeps nothing for pages throws.
  function hasFailed() {
    try {
      return sessionStorage.getItem(FAILED) !== null;
    } catch {
      return false;
    }
  }

  function rememberFailure() {
    try {
      sessionStorage.setItem(FAILED, "1");
    } catch {
      // The next page waits for the CDN again.
    }
  }
})();
