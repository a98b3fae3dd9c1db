// Files that are dropped or chosen, sent one by one to the API, and what becomes of them.

import { $, make, printable, table } from "./dom.js";
import { call, say, words } from "./server.js";
import { chosen, loadSettings, me } from "./settings.js";

const POLL_MS = 1000; // between two looks at the files on their way
const LONGEST_WAIT_S = 60;
const MAX_ROWS = 100;
const GOING = new Set(["sending", "queued", "running"]);
let files = []; // the latest first: { name, state, note, job, collection }
let polling = false;
let sending = Promise.resolve();

const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

// Draw the drop zone, or say why there is none; once. `finished` is called when documents changed.
export function drawUploads(place, finished) {
  if (place.children.length) return;
  if (!me.writes) {
    place.append(make("p", { id: "rk-no-upload", class: "rk-hint" }, words.no_write));
    return;
  }
  const input = make("input", { type: "file", multiple: "" });
  const zone = make("label", { id: "rk-upload" }, input, make("strong", {}, words.upload),
    make("span", { class: "rk-hint" }, say("upload_limit", { mb: me.max_upload_mb })));
  place.append(zone, make("div", { id: "rk-ways", role: "status" }));
  const add = (chosenFiles) => addFiles([...chosenFiles], finished);
  input.addEventListener("change", () => {
    add(input.files);
    input.value = ""; // so that the same file can be chosen again
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") input.click(); // as a button; browsers open the files by the space bar alone
  });
  const over = (event) => zone.classList.toggle("rk-over", event.type === "dragover");
  for (const type of ["dragover", "dragleave", "drop"]) zone.addEventListener(type, over);
  zone.addEventListener("drop", (event) => add(event.dataTransfer.files));
}

// A file that is dropped beside the zone does not take the page's place.
export function keepPage() {
  for (const type of ["dragover", "drop"]) {
    document.addEventListener(type, (event) => {
      if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
    });
  }
}

export function addFiles(added, finished) {
  const { collection } = chosen();
  const rows = added.map((file) => ({ file, name: file.name, state: "sending", note: "", collection: collection ?? me.collection }));
  files = [...rows.toReversed(), ...files].slice(0, Math.max(MAX_ROWS, rows.length));
  draw();
  sending = sending.then(async () => {
    for (const row of rows) {
      await send(row);
      poll(finished);
    }
    if (!collection) await loadSettings().catch(() => {}); // its first upload has made it
  });
}

async function send(row) {
  const { file, collection } = row;
  delete row.file; // its bytes are needed no longer than this
  try {
    if (file.size > me.max_upload_mb * 2 ** 20) throw new Error(words.error_too_large);
    // A folder, or a file that has gone: the browser would only say that sending has failed.
    await file.slice(0, 1).arrayBuffer().catch(() => { throw new Error(words.unreadable); });
    const form = new FormData();
    form.append("file", file);
    const answer = await patiently(row, () => call(`/v1/collections/${encodeURIComponent(collection)}/documents`, "POST", form));
    learn(row, (await answer.json()).data[0]);
  } catch (error) {
    Object.assign(row, { state: "failed", note: error.message });
  }
  draw();
}

// Wait and try again where the server says when: a limit of the key, or a restart.
async function patiently(row, work) {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!error.retryAfter) throw error;
      row.note = error.message;
      draw();
      await pause(1000 * Math.min(error.retryAfter, LONGEST_WAIT_S));
    }
  }
}

function learn(row, job) {
  const failed = job.stage ? `${job.stage}: ${job.reason}` : job.reason;
  const progress = job.total ? say("progress", job) : "";
  const notes = { failed, running: progress, done: job.reason }; // such as what was in a mail
  Object.assign(row, { job: job.id, state: job.state, note: notes[job.state] ?? "" });
}

// Look at the jobs until all have come to their end.
async function poll(finished) {
  if (polling) return;
  polling = true;
  for (;;) {
    const waiting = files.filter((row) => row.job && GOING.has(row.state));
    if (!waiting.length) break;
    await pause(POLL_MS);
    // The latest first, from the latest of ours on: those below come up when it has ended.
    const after = Math.max(...waiting.map((row) => row.job)) + 1;
    const answer = await call(`/v1/jobs?limit=100&after=${after}`).catch((error) => error);
    if (answer instanceof Error) {
      await pause(1000 * Math.min(answer.retryAfter ?? 5, LONGEST_WAIT_S));
      continue;
    }
    const jobs = new Map((await answer.json()).data.map((job) => [job.id, job]));
    for (const row of waiting) {
      if (jobs.has(row.job)) learn(row, jobs.get(row.job));
      else if (row.job === after - 1) row.state = "cancelled"; // nobody knows it any more
    }
    draw();
    if (waiting.some((row) => row.state === "done")) finished();
  }
  polling = false;
}

function draw() {
  document.dispatchEvent(new CustomEvent("rk-uploads", { detail: [...files] })); // for the chat
  if (!$("#rk-ways")) return;
  const columns = ["file", "state", "note"].map((name) => words[`column_${name}`]);
  const rows = files.map((row) => [printable(row.name), words[`state_${row.state}`], printable(row.note)]);
  $("#rk-ways").replaceChildren(table("rk-sent", words.uploads, columns, rows));
}
