// The panel beside the chat and the search: a place in a document, with what is around it.

import { $, make } from "./dom.js";
import { drawOriginal } from "./original.js";
import { readable } from "./reading.js";
import { call, words } from "./server.js";

let opener = null; // what the focus goes back to

export function drawPanel() {
  document.body.append(
    make("aside", { id: "rk-panel", "aria-label": words.source, hidden: "" },
      make("button", { type: "button", id: "rk-close", "aria-label": words.close, title: words.close }, "✕"),
      make("div", { id: "rk-source" })),
  );
}

// The source of a citation of an answer.
export function openSource(button) {
  const article = button.closest(".rk-turn");
  return open(button, `/ui/sources/${article.dataset.answer}/${button.dataset.n}`);
}

// The place of a passage that a search found.
export function openPassage(button, { document: id, version, start, end }) {
  return open(button, `/ui/passages/${id}?${new URLSearchParams({ version, start, end })}`);
}

async function open(button, path) {
  const { html } = await (await call(path)).json();
  opener = button;
  $("#rk-source").innerHTML = html; // rendered and cleaned by the server
  const passage = $("#rk-source .rk-passage");
  readable(passage, passage.dataset.uri);
  $("#rk-panel").hidden = false;
  document.body.classList.add("rk-reading");
  $("#rk-source .rk-span")?.scrollIntoView({ block: "center" });
  drawOriginal($("#rk-source"));
  $("#rk-close").focus();
}

export const isPanelOpen = () => !$("#rk-panel").hidden;

export function closePanel() {
  if (!isPanelOpen()) return;
  $("#rk-panel").hidden = true;
  document.body.classList.remove("rk-reading", "rk-paged");
  opener?.focus();
}
