// What BullMQ's own package for Node and bull-board see of Docmill's queues, and what they can change there.
//
// REDIS_URL, PREFIX and QUEUES (names, with commas) say where. "read" prints what is there as JSON; "meddle" does to each
// queue what a person could do with it; "serve" shows bull-board, in read-only mode, and prints its port.
import { createBullBoard } from "@bull-board/api";
import { BullMQAdapter } from "@bull-board/api/bullMQAdapter";
import { ExpressAdapter } from "@bull-board/express";
import { Queue } from "bullmq";
import express from "express";
import Redis from "ioredis";

const { REDIS_URL, PREFIX, QUEUES } = process.env;
const connection = new Redis(REDIS_URL, { maxRetriesPerRequest: null });
const queues = QUEUES.split(",").map((name) => new Queue(name, { connection, prefix: PREFIX }));

async function read() {
  const found = {};
  for (const queue of queues) {
    const jobs = await queue.getJobs(["waiting", "active"]);
    const shown = await Promise.all(jobs.map(async (job) => ({ id: job.id, name: job.name, data: job.data, state: await job.getState() })));
    found[queue.name] = { ...(await queue.getJobCounts("waiting", "active", "completed", "failed")), jobs: shown };
  }
  console.log(JSON.stringify(found));
}

async function meddle() {
  for (const queue of queues) {
    await queue.add("nonsense", { job_id: "01234567-0000-7000-8000-000000000000", stage: "nonsense" });
    await queue.add(queue.name, { job_id: null }, { jobId: "not-a-job" });
    for (const job of await queue.getJobs(["waiting"])) await job.remove().catch(() => {});
    await queue.add(queue.name, {}, { delay: 1, priority: 1 });
    await queue.pause();
    await queue.obliterate({ force: true });
  }
  console.log("done");
}

async function serve() {
  const adapter = new ExpressAdapter();
  createBullBoard({ queues: queues.map((queue) => new BullMQAdapter(queue, { readOnlyMode: true })), serverAdapter: adapter });
  const server = express().use("/", adapter.getRouter()).listen(0, "127.0.0.1", () => console.log(server.address().port));
}

const todo = { read, meddle, serve }[process.argv[2]];
await todo();
if (todo !== serve) {
  await Promise.all(queues.map((queue) => queue.close()));
  connection.disconnect();
}
