// One line for many files that are uploaded together, instead of one for each: how many are stored, how many are left,
// and about how long that takes. Files that were refused keep a line of their own.
const RATE_AFTER_MS = 3_000;

export class Batch {
  constructor(count, words, stop) {
    this.count = count;
    this.words = words;
    this.stored = 0;
    this.known = 0;
    this.failed = 0;
    this.isStopped = false;
    this.began = performance.now();
    this.row = document.getElementById("batch-template").content.firstElementChild.cloneNode(true);
    this.row.querySelector("[data-cancel]").addEventListener("click", () => {
      if (!this.isOver()) stop(this);
      this.row.remove();
    });
    document.getElementById("uploads").prepend(this.row);
    this.show();
  }

  isOver() {
    return this.stored + this.known + this.failed >= this.count;
  }

  onStored(isKnown) {
    if (isKnown) this.known += 1;
    else this.stored += 1;
    this.show();
  }

  onFailed() {
    this.failed += 1;
    this.show();
  }

  // It is sent once more.
  onAgain() {
    this.failed -= 1;
    this.show();
  }

  // No more of its files are sent; so many were in the queue.
  onStopped(left) {
    this.isStopped = true;
    this.count -= left;
    this.show();
  }

  show() {
    const ended = this.stored + this.known + this.failed;
    const parts = [this.fill(this.isOver() ? this.words.batchDone : this.words.batchNow, this.stored + this.known)];
    if (!this.isOver() && ended > 0) parts.push(this.remaining(ended));
    if (this.known > 0) parts.push(this.fill(this.words.batchKnown, this.known));
    if (this.failed > 0) parts.push(this.fill(this.words.batchFailed, this.failed));
    this.row.querySelector("[data-message]").textContent = parts.filter(Boolean).join(" ");
    this.row.querySelector("[data-progress]").value = ended / this.count;
    this.row.dataset.state = this.isOver() ? "done" : "sending";
    const [stop, dismiss] = [this.words.batchStop, this.words.batchDismiss];
    this.row.querySelector("[data-cancel]").setAttribute("aria-label", this.isOver() ? dismiss : stop);
  }

  remaining(ended) {
    const passed = performance.now() - this.began;
    if (passed < RATE_AFTER_MS) return "";
    const minutes = ((this.count - ended) * passed) / ended / 60_000;
    return minutes < 1 ? this.words.batchSoon : this.words.batchMinutes.replace("{minutes}", Math.ceil(minutes));
  }

  fill(text, number) {
    const shown = (value) => value.toLocaleString(document.documentElement.lang);
    return text.replace("{number}", shown(number)).replace("{count}", shown(this.count));
  }
}
