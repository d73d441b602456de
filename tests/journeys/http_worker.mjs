// A small worker that takes notes of recordings: the stage "analyze", over HTTP, without any package.
//
// URL and TOKEN say where it works. It ends once nothing is due for QUIET_SECONDS. With DIE_AT it ends itself by
// SIGKILL at that call (claim, inputs, heartbeat, checkpoint, results, complete), at the moment that DIE says: "before"
// it is sent, when it is "sent", or when it is "answered", before the answer is looked at.
import http from "node:http";
import { randomUUID } from "node:crypto";

const { URL: BASE, TOKEN, WORKER = "notes", DIE_AT, DIE, QUIET_SECONDS = "3" } = process.env;
const die = () => process.kill(process.pid, "SIGKILL");

// One call; it resolves to status, body as text, and JSON where it is any.
function send(name, method, path, body) {
  const dies = (moment) => name === DIE_AT && moment === DIE && die();
  dies("before");
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${TOKEN}`, Accept: "application/json" };
    // A result is padded, so that it is larger than what a server takes in without a thread.
    const data = body === undefined ? "" : JSON.stringify(body) + (name === "results" ? " ".repeat(300_000) : "");
    if (data) headers["Content-Type"] = "application/json";
    headers["Content-Length"] = Buffer.byteLength(data);
    const request = http.request(new URL(path, BASE), { method, headers }, (answer) => {
      dies("answered");
      const parts = [];
      answer.on("data", (part) => parts.push(part));
      answer.on("end", () => resolve({ status: answer.statusCode, text: Buffer.concat(parts).toString() }));
      answer.on("error", reject);
    });
    request.on("error", reject);
    request.end(data, () => dies("sent"));
  });
}

// A call that is repeated while no answer comes, or the server is busy. Each call may be repeated.
async function call(name, method, path, body) {
  for (;;) {
    try {
      const answer = await send(name, method, path, body);
      if (answer.status < 500) return answer;
    } catch (error) {
      if (!error.code) throw error;
    }
    await new Promise((done) => setTimeout(done, 200));
  }
}

class LeaseLost extends Error {}

async function under(job, name, method, path, body) {
  const answer = await call(name, method, path, body);
  if (answer.status === 409) throw new LeaseLost(answer.text);
  if (answer.status !== 200) throw new Error(`${name}: ${answer.status} ${answer.text}`);
  return JSON.parse(answer.text);
}

function takeNotes(transcript) {
  const texts = transcript.segments.map((segment) => segment.text);
  const questions = texts.flatMap((text, segment) => (text.endsWith("?") ? [{ text, segment }] : []));
  return { analyst: "node", version: "1", summary: `Node counted ${texts.length} sentences.`, topics: ["counting"], questions };
}

async function work(job) {
  const transcript = await under(job, "inputs", "GET", job.inputs.transcript);
  const { stop } = await under(job, "heartbeat", "POST", job.calls.heartbeat, { progress: 0.5 });
  if (stop) return;
  await under(job, "checkpoint", "PUT", job.calls.checkpoint, { segments: transcript.segments.length });
  // What an earlier attempt has stored is not made again.
  if (!job.result.sha256) await under(job, "results", "PUT", job.result.url, takeNotes(transcript));
  await under(job, "complete", "POST", job.calls.complete);
}

let quietSince = Date.now();
while (Date.now() - quietSince < 1000 * Number(QUIET_SECONDS)) {
  // The same id until an answer has come: a lost answer costs nothing.
  const claim = { worker: WORKER, stages: ["analyze"], wait_seconds: 1, claim_id: randomUUID() };
  const answer = await call("claim", "POST", "/worker/claim", claim);
  if (answer.status !== 200) throw new Error(`claim: ${answer.status} ${answer.text}`);
  for (const job of JSON.parse(answer.text).jobs) {
    quietSince = Date.now();
    try {
      await work(job);
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error;
    }
  }
}
