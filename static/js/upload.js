// Sends each file by itself, a few at a time, with progress, a way to cancel and a way to try again.
// The words are in templates/upload/_templates.html.
import { Batch } from "./batch.js";
import { filesOf, folderOf, isFileDrag } from "./drop.js";

const AT_ONCE = 3;
const queue = [];
let running = 0;
let sent = 0;
let failed = 0;
let form;
let words;

export function watchUploads() {
  form = document.querySelector("[data-upload]");
  if (!form) return;
  words = document.getElementById("upload-words").dataset;
  for (const input of form.querySelectorAll("input[type=file]")) {
    input.addEventListener("change", () => {
      const files = [...input.files].map((file) => ({ file, folder: folderOf(file.webkitRelativePath ?? "") }));
      // Choosing the same file once more must be a change again.
      input.value = "";
      add(files);
    });
  }
  watchDrops();
  window.addEventListener("beforeunload", (event) => {
    if (running + queue.length > 0) event.preventDefault();
  });
}

function watchDrops() {
  const root = document.documentElement;
  let depth = 0;
  const drag = (isOver) => {
    depth = isOver ? depth + 1 : Math.max(0, depth - 1);
    root.classList.toggle("is-dragging", depth > 0);
  };
  document.addEventListener("dragenter", (event) => isFileDrag(event) && drag(true));
  document.addEventListener("dragleave", (event) => isFileDrag(event) && drag(false));
  document.addEventListener("dragover", (event) => isFileDrag(event) && event.preventDefault());
  document.addEventListener("drop", async (event) => {
    if (!isFileDrag(event)) return;
    event.preventDefault();
    depth = 0;
    root.classList.remove("is-dragging");
    add(await filesOf(event.dataTransfer));
  });
}

function add(files) {
  // Files travel one by one, so each has to say that it is one of many: those wait behind single ones.
  const isBulk = files.length > Number(form.dataset.bulkFiles);
  const batch = isBulk ? new Batch(files.length, words, stop) : null;
  for (const { file, folder } of files) enqueue(new Upload(file, folder, batch));
  next();
}

// Files that are on their way arrive; the others of the batch are not sent.
function stop(batch) {
  const left = queue.filter((upload) => upload.batch === batch);
  for (const upload of left) queue.splice(queue.indexOf(upload), 1);
  batch.onStopped(left.length);
}

function enqueue(upload) {
  const refusal = refusalOf(upload.file);
  if (refusal) {
    failed += 1;
    upload.fail(refusal, false);
  } else {
    queue.push(upload);
  }
}

// What the server would refuse anyway is said before a gigabyte has travelled.
function refusalOf(file) {
  if (file.size === 0) return words.empty;
  if (file.size > Number(form.dataset.bytesMax)) return words.tooLarge;
  return null;
}

function next() {
  while (running < AT_ONCE && queue.length > 0) {
    running += 1;
    queue.shift().send();
  }
  if (running === 0) tellSummary();
}

function finished(isStored) {
  running -= 1;
  if (isStored) {
    sent += 1;
    refresh();
  }
  next();
}

let refreshing;

function refresh() {
  clearTimeout(refreshing);
  refreshing = setTimeout(async () => {
    await window.htmxSettled;
    if (window.htmx) window.htmx.trigger(document.body, "library-changed");
    else if (running === 0) location.reload();
  }, 250);
}

function tellSummary() {
  const parts = [];
  if (sent === 1) parts.push(words.summaryOne);
  if (sent > 1) parts.push(words.summaryMany.replace("{count}", sent));
  if (failed > 0) parts.push(words.summaryFailed.replace("{count}", failed));
  if (parts.length > 0) document.getElementById("announcer").textContent = parts.join(" ");
  sent = 0;
  failed = 0;
}

class Upload {
  constructor(file, folder, batch) {
    this.file = file;
    this.folder = folder;
    this.batch = batch;
    this.row = document.getElementById("upload-template").content.firstElementChild.cloneNode(true);
    this.find("name").textContent = file.name;
    this.find("size").textContent = sizeText(file.size);
    this.find("progress").setAttribute("aria-label", file.name);
    this.cancel = this.find("cancel");
    this.cancel.setAttribute("aria-label", words.cancel.replace("{name}", file.name));
    this.cancel.addEventListener("click", () => this.remove());
    this.find("retry").addEventListener("click", () => this.again());
    this.say(words.waiting);
    if (!batch) this.list();
  }

  // Give it a line of its own.
  list() {
    document.getElementById("uploads").append(this.row);
  }

  find(name) {
    return this.row.querySelector(`[data-${name}]`);
  }

  say(text) {
    this.find("message").textContent = text;
  }

  send() {
    const body = new FormData();
    body.append("csrf_token", form.elements.csrf_token.value);
    body.append("file", this.file);
    if (this.folder) body.append("folder", this.folder);
    if (this.folder && document.getElementById("folder-tags")?.checked) body.append("folder_tags", "1");
    const request = new XMLHttpRequest();
    this.request = request;
    request.open("POST", this.batch ? `${form.action}?bulk=1` : form.action);
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("X-CSRFToken", form.elements.csrf_token.value);
    request.upload.addEventListener("progress", (event) => this.progress(event));
    request.addEventListener("load", () => this.onAnswer(request));
    request.addEventListener("error", () => this.onFailure(words.offline));
    request.addEventListener("abort", () => finished(false));
    this.row.dataset.state = "sending";
    this.say("");
    request.send(body);
  }

  progress(event) {
    if (!event.lengthComputable) return;
    this.find("progress").value = event.loaded / event.total;
    if (event.loaded === event.total) this.say(words.saving);
  }

  onAnswer(request) {
    const answer = parse(request.responseText);
    const refused = answer?.rejected?.[0];
    if (request.status === 200 && answer?.documents?.length) this.onStored(answer.documents[0]);
    else if (request.status === 401) this.onFailure(words.signedOut);
    else if (request.status === 429) this.later(request, answer?.detail);
    else if (request.status === 413) this.onFailure(answer?.detail ?? words.tooLarge, false);
    else if (refused) this.onFailure(refused.detail, false);
    else if (request.status >= 400 && request.status < 500) this.onFailure(answer?.detail ?? words.refused, false);
    // What the server lacks, room or a database, its own words say best.
    else this.onFailure((request.status > 500 && answer?.detail) || words.broken);
  }

  // Nothing is wrong with the file: its turn comes again by itself.
  later(request, why) {
    const seconds = Number(request.getResponseHeader("Retry-After")) || 5;
    this.request = null;
    this.row.dataset.state = "waiting";
    this.say(why ?? words.waiting);
    setTimeout(() => this.isWanted() && this.again(), 1000 * seconds);
    running -= 1;
    next();
  }

  // Nobody has removed its line, or stopped the batch whose files have none.
  isWanted() {
    return this.row.isConnected || (this.batch && !this.batch.isStopped);
  }

  onStored(stored) {
    this.row.dataset.state = "done";
    if (this.batch) {
      this.batch.onStored(Boolean(stored.duplicate_of));
      this.row.remove();
      finished(true);
      return;
    }
    this.say(stored.duplicate_of ? `${stored.restored ? words.restored : words.duplicate} ` : words.done);
    if (stored.duplicate_of) {
      const link = document.createElement("a");
      link.href = `/documents/${stored.id}`;
      link.textContent = stored.filename;
      this.find("message").append(link);
      this.dismissable();
    } else this.remove();
    finished(true);
  }

  onFailure(message, isWorthRetrying = true) {
    failed += 1;
    this.fail(message, isWorthRetrying);
    finished(false);
  }

  fail(message, isWorthRetrying) {
    this.request = null;
    this.row.dataset.state = "failed";
    this.say(message);
    this.find("retry").hidden = !isWorthRetrying;
    if (this.batch) {
      this.isCountedAsFailed = true;
      this.batch.onFailed();
      this.list();
    }
    this.dismissable();
  }

  dismissable() {
    this.request = null;
    this.cancel.setAttribute("aria-label", words.dismiss.replace("{name}", this.file.name));
  }

  again() {
    if (this.isCountedAsFailed) {
      this.isCountedAsFailed = false;
      this.batch.onAgain();
    }
    this.find("retry").hidden = true;
    this.find("progress").removeAttribute("value");
    this.row.dataset.state = "waiting";
    this.say(words.waiting);
    queue.push(this);
    next();
  }

  remove() {
    const held = this.row.contains(document.activeElement);
    const place = queue.indexOf(this);
    if (place >= 0) queue.splice(place, 1);
    if (this.row.dataset.state === "sending") this.request?.abort();
    this.row.remove();
    if (held) document.getElementById("upload-files").focus();
  }
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function sizeText(bytes) {
  let [size, unit] = [bytes, "byte"];
  if (bytes >= 1024) [size, unit] = [bytes / 1024, "kilobyte"];
  if (bytes >= 1e6) [size, unit] = [bytes / 1024 / 1024, "megabyte"];
  return new Intl.NumberFormat(document.documentElement.lang, {
    style: "unit",
    unit,
    unitDisplay: unit === "byte" ? "long" : "short",
    maximumFractionDigits: size < 10 ? 1 : 0,
  }).format(size);
}
