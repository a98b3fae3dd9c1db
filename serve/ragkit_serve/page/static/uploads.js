// Files that are dropped or chosen, sent one by one to the API. The list of documents shows what
// becomes of them there; here stands what has not reached the server, and what it noted of a file.

import { $, make, printable } from "./dom.js";
import { call, patiently, say, words } from "./server.js";
import { chosen, loadSettings, me } from "./settings.js";

const POLL_MS = 1000; // between two looks at the files on their way
const LONGEST_WAIT_S = 60;
const MAX_ROWS = 100;
const GOING = new Set(["queued", "running"]);
let files = []; // the latest first: { file, name, state, note, job, collection }
let refresh = () => {};
let polling = false;
let sending = Promise.resolve();

const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

// Draw the drop zone, or say why there is none; once. `changed` is called when a file's state changed.
export function drawUploads(place, changed) {
  if (place.children.length) return;
  refresh = changed;
  if (!me.writes) {
    place.append(make("p", { id: "rk-no-upload", class: "rk-hint" }, words.no_write));
    return;
  }
  const input = make("input", { type: "file", multiple: "" });
  const zone = make("label", { id: "rk-upload" }, input, make("strong", {}, words.upload),
    make("span", { class: "rk-hint" }, say("upload_limit", { mb: me.max_upload_mb })));
  place.append(zone, make("div", { id: "rk-ways", role: "status" }));
  input.addEventListener("change", () => {
    addFiles(input.files);
    input.value = ""; // so that the same file can be chosen again
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") input.click(); // as a button; browsers open the files by the space bar alone
  });
  const over = (event) => zone.classList.toggle("rk-over", event.type === "dragover");
  for (const type of ["dragover", "dragleave", "drop"]) zone.addEventListener(type, over);
  zone.addEventListener("drop", (event) => addFiles(event.dataTransfer.files));
}

// A file that is dropped beside the zone does not take the page's place.
export function keepPage() {
  for (const type of ["dragover", "drop"]) {
    document.addEventListener(type, (event) => {
      if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
    });
  }
}

// Send a file of the list again that failed: this page still has it, or asks for it.
export function sendAgain({ job }) {
  const before = files.find((row) => row.job === job && row.file);
  if (before) addFiles([before.file]);
  else $("#rk-upload input").click();
}

export function addFiles(added) {
  const { collection } = chosen();
  const rows = [...added].map((file) => ({ file, name: file.name, state: "sending", note: "", collection: collection ?? me.collection }));
  files = [...rows.toReversed(), ...files].slice(0, Math.max(MAX_ROWS, rows.length));
  draw();
  sending = sending.then(async () => {
    for (const row of rows) {
      await send(row);
      poll();
    }
    if (!collection) await loadSettings().catch(() => {}); // its first upload has made it
    refresh();
  });
}

async function send(row) {
  const { file, collection } = row;
  try {
    if (file.size > me.max_upload_mb * 2 ** 20) throw new Error(words.error_too_large);
    // A folder, or a file that has gone: the browser would only say that sending has failed.
    await file.slice(0, 1).arrayBuffer().catch(() => { throw new Error(words.unreadable); });
    const form = new FormData();
    form.append("file", file);
    const path = `/v1/collections/${encodeURIComponent(collection)}/documents`;
    const answer = await patiently(() => call(path, "POST", form), (reason) => {
      row.note = reason;
      draw();
    });
    learn(row, (await answer.json()).data[0]);
  } catch (error) {
    Object.assign(row, { state: "failed", note: error.message });
  }
  draw();
}

function learn(row, job) {
  const progress = job.total ? say("progress", job) : "";
  const notes = { failed: job.reason, running: progress, done: job.reason }; // such as what was in a mail
  const changed = row.state !== job.state;
  Object.assign(row, { job: job.id, state: job.state, note: notes[job.state] ?? "" });
  if (job.state === "done") row.file = null;
  return changed;
}

// Look at the jobs until all have come to their end.
async function poll() {
  if (polling) return;
  polling = true;
  refresh();
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
    let changed = false;
    for (const row of waiting) {
      if (jobs.has(row.job)) changed = learn(row, jobs.get(row.job)) || changed;
      else if (row.job === after - 1) row.state = "cancelled"; // nobody knows it any more
    }
    draw();
    if (changed) refresh();
  }
  polling = false;
}

function draw() {
  document.dispatchEvent(new CustomEvent("rk-uploads", { detail: [...files] })); // for the chat
  if (!$("#rk-ways")) return;
  const isOpen = (row) => row.state === "sending" || row.state === "cancelled" || (row.state === "failed" ? !row.job : row.state === "done" && row.note);
  const rows = files.filter(isOpen);
  const drop = (row) => {
    files = files.filter((other) => other !== row);
    draw();
  };
  const act = (row, name, work) => {
    const button = make("button", { type: "button", class: "rk-link", "aria-label": `${words[name]}: ${printable(row.name)}` }, words[name]);
    button.addEventListener("click", () => work(row));
    return button;
  };
  const again = (row) => {
    drop(row);
    addFiles([row.file]);
  };
  const items = rows.map((row) => make("li", { "data-state": row.state },
    make("span", { class: "rk-name" }, printable(row.name)),
    make("span", { class: "rk-badge", "data-state": row.state }, words[`state_${row.state}`]),
    make("span", { class: "rk-reason" }, printable(row.note)),
    ...(row.state === "failed" ? [act(row, "retry", again)] : []),
    ...(row.state === "sending" ? [] : [act(row, "forget", drop)])));
  $("#rk-ways").replaceChildren(...(items.length ? [make("ul", { "aria-label": words.uploads }, ...items)] : []));
}
