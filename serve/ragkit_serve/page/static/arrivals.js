// Files in the chat: dropped anywhere on it or chosen, with their progress above the question.

import { $, make, printable } from "./dom.js";
import { say, words } from "./server.js";
import { chosen, me } from "./settings.js";
import { addFiles } from "./uploads.js";

const MAX_SHOWN = 5; // files by name; of more, how many are in which state
const GOING = new Set(["sending", "queued", "running"]);
const chooser = make("input", { type: "file", multiple: "", hidden: "", tabindex: "-1" });
let dismissed = new Set(); // files that ended and are no longer shown
let searchable = 0; // files that are done
let files = [];

export const chooseFiles = () => chooser.click();

const isChat = () => Boolean($("#rk-transcript")?.offsetParent);

// Draw the button beside the question and listen for files; `arrived()` is called when one is searchable.
export function drawArrivals(composer, arrived) {
  document.body.append(chooser, make("div", { id: "rk-drop", "aria-hidden": "true" }));
  composer.before(make("div", { id: "rk-arriving", role: "status" }));
  chooser.addEventListener("change", () => {
    add([...chooser.files]);
    chooser.value = ""; // so that the same file can be chosen again
  });
  const button = make("button", { type: "button", id: "rk-add", "aria-label": words.add_documents, title: words.add_documents, hidden: "" });
  button.addEventListener("click", chooseFiles);
  composer.prepend(button);
  listen();
  document.addEventListener("rk-uploads", ({ detail }) => {
    files = detail;
    draw();
    const done = files.filter(({ state }) => state === "done").length;
    if (done > searchable) arrived();
    searchable = done;
  });
}

function listen() {
  const has = (event) => event.dataTransfer?.types.includes("Files") && isChat() && me.writes;
  document.addEventListener("dragover", (event) => {
    if (!has(event)) return;
    $("#rk-drop").textContent = say("drop_here", { collection: chosen().collection ?? me.collection ?? "" });
    document.body.classList.add("rk-dropping");
  });
  for (const type of ["dragleave", "dragend", "drop"]) {
    document.addEventListener(type, (event) => {
      if (type !== "dragleave" || !event.relatedTarget) document.body.classList.remove("rk-dropping");
    });
  }
  document.addEventListener("drop", (event) => {
    if (has(event)) add([...event.dataTransfer.files]);
  });
}

function add(added) {
  if (added.length) addFiles(added);
}

// Show the files that have ended no longer.
export function hideEnded() {
  dismissed = new Set(files.filter(({ state }) => !GOING.has(state)));
  draw();
}

function draw() {
  const shown = files.filter((file) => !dismissed.has(file));
  const rows = shown.length > MAX_SHOWN ? [counted(shown), ...shown.filter(({ state }) => state === "failed").map(row)] : shown.map(row);
  const close = make("button", { type: "button", class: "rk-dismiss", "aria-label": words.dismiss, title: words.dismiss }, "✕");
  close.addEventListener("click", hideEnded);
  const ended = shown.some(({ state }) => !GOING.has(state));
  $("#rk-arriving").replaceChildren(...(rows.length ? [make("ul", {}, ...rows), ...(ended ? [close] : [])] : []));
}

function row({ name, state, note }) {
  const said = make("span", { class: "rk-arrival-state" }, [words[`state_${state}`], note && printable(note)].filter(Boolean).join(": "));
  return make("li", { class: `rk-arrival rk-arrival-${state}` }, make("span", { class: "rk-arrival-name" }, printable(name)), said);
}

function counted(shown) {
  const numbers = new Map();
  for (const { state } of shown) numbers.set(state, (numbers.get(state) ?? 0) + 1);
  const states = [...numbers].map(([state, number]) => `${words[`state_${state}`]}: ${number}`);
  return make("li", { class: `rk-arrival rk-arrival-${numbers.has("running") || numbers.has("queued") || numbers.has("sending") ? "running" : "done"}` },
    make("span", { class: "rk-arrival-name" }, say("files_counted", { count: shown.length })), make("span", { class: "rk-arrival-state" }, states.join(", ")));
}
