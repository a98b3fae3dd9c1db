// The Documents tab: a collection's documents, listed, read and deleted.

import { $, count, guarded, make, printable, table } from "./dom.js";
import { call, say, words } from "./server.js";
import { chosen, counted, findDocuments, loadSettings, me, showNotice } from "./settings.js";
import { drawUploads } from "./uploads.js";

const MAX_SHOWN = 500;
const shown = { document: null, listing: null };

export function drawDocuments(place) {
  const part = make("input", { type: "search", id: "rk-part", maxlength: "200", "aria-label": words.find_document, placeholder: words.find_document });
  const refresh = make("button", { type: "submit", id: "rk-refresh", class: "rk-button" }, words.refresh);
  const form = make("form", { class: "rk-row", role: "search" }, part, refresh);
  const remove = make("button", { type: "button", id: "rk-delete", class: "rk-button", hidden: "" }, words.delete_document);
  place.append(form, make("div", { id: "rk-listed" }),
    make("p", { id: "rk-counted", class: "rk-hint", role: "status" }), make("div", { id: "rk-uploads" }),
    make("label", { class: "rk-field" }, make("span", { id: "rk-document-name" }, words.document_text),
      make("textarea", { id: "rk-document-text", readonly: "", rows: "14", placeholder: words.choose_document })),
    make("p", { id: "rk-cut", class: "rk-hint" }), remove);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    refreshDocuments();
  });
  remove.addEventListener("click", () => guarded(place, deleteDocument));
  place.addEventListener("click", (event) => {
    const row = event.target.closest?.("#rk-listed tbody tr");
    if (row) guarded(place, () => read($("button", row)));
  });
  document.addEventListener("rk-collection", () => {
    close();
    refreshDocuments();
  });
  // Gradio hides a tab that is not chosen; whenever this one comes to be seen, it is up to date.
  let visible = false;
  new ResizeObserver(([{ contentRect }]) => {
    if (contentRect.height > 0 && !visible) refreshDocuments();
    visible = contentRect.height > 0;
  }).observe(place);
}

export const refreshDocuments = (note = "") => guarded($("#rk-documents"), () => list(note));

async function list(note) {
  // Settings that could not be loaded, as when the server was away, are loaded now.
  if (!chosen().collection) await loadSettings();
  drawUploads($("#rk-uploads"), refreshDocuments);
  const { collection } = chosen();
  shown.listing?.abort();
  shown.listing = new AbortController();
  const listed = collection
    ? await findDocuments(collection, $("#rk-part").value, MAX_SHOWN, shown.listing.signal)
    : { documents: [], matched: 0, all: 0 };
  const columns = ["number", "document", "language", "passages", "characters", "version"].map((name) => words[`column_${name}`]);
  const rows = listed.documents.map((one) => [
    String(one.id),
    make("button", { type: "button", class: "rk-link", "data-document": one.id, "data-collection": collection }, printable(one.name)),
    one.language, count(one.chunks), count(one.chars), String(one.version), printable(one.uri),
  ]);
  $("#rk-listed").replaceChildren(table("rk-table", words.documents, [...columns, "URI"], rows));
  $("#rk-counted").textContent = `${note} ${counted(listed)}`.trim();
  await showNotice();
}

async function read(button) {
  const { document: id } = button.dataset;
  const told = await (await call(`/v1/documents/${id}/text`)).json();
  shown.document = { id, name: button.textContent };
  $("#rk-document-name").textContent = button.textContent;
  $("#rk-document-text").value = printable(withPages(told));
  $("#rk-document-text").scrollTop = 0;
  $("#rk-cut").textContent = told.end < told.chars ? say("text_cut", { shown: count(told.end), all: count(told.chars) }) : "";
  $("#rk-delete").hidden = !me.writes;
}

// The text with a line where each page begins. Places are counted in code points.
function withPages({ text, pages }) {
  const points = [...text];
  let at = 0;
  const parts = pages.flatMap(({ page, start }) => {
    const before = points.slice(at, start).join("");
    at = start;
    return [before, `\n—— ${say("page", { page })} ——\n`];
  });
  return [...parts, points.slice(at).join("")].join("").replace(/^\n/, "");
}

function close() {
  shown.document = null;
  $("#rk-document-name").textContent = words.document_text;
  $("#rk-document-text").value = $("#rk-cut").textContent = "";
  $("#rk-delete").hidden = true;
}

async function deleteDocument() {
  const { id, name } = shown.document;
  if (!confirm(`${words.delete_document}?\n${name}`)) return;
  await call(`/v1/documents/${id}`, "DELETE");
  close();
  await list(say("document_deleted", { title: name }));
}
