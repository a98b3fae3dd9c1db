// The side bar's choices: the collection, and how it is searched.

import { drawCollections, loadCollections } from "./collections.js";
import { $, guarded, make, printable } from "./dom.js";
import { call, say, words } from "./server.js";

const MODES = ["hybrid", "dense", "lexical"];
const MAX_LISTED = 100; // of the documents to choose from; the others are found by name
const picked = new Map(); // documents by number, with their names
let listing = null;

export const me = { collection: null, writes: false, manages: false, model: null, passages: 5, max_upload_mb: null, logged_in: false };

// What a question or a search goes along with.
export function chosen() {
  return {
    collection: $("#rk-collection")?.value || null,
    documents: [...picked.keys()],
    mode: $("#rk-settings input[type=radio]:checked")?.value ?? "hybrid",
    passages: Number($("#rk-passages")?.value || me.passages),
  };
}

export function drawSettings(place) {
  const mode = (name, n) => make("label", {}, make("input", { type: "radio", name: "rk-mode", value: name, ...(n ? {} : { checked: "" }) }), words[`mode_${name}`]);
  const passages = make("input", { type: "range", id: "rk-passages", min: "1", max: "50" });
  const shown = make("output", { for: "rk-passages" });
  const part = make("input", { type: "search", id: "rk-only-part", placeholder: words.find_document, "aria-label": words.find_document, maxlength: "200" });
  passages.addEventListener("input", () => { shown.value = passages.value; });
  part.addEventListener("input", () => guarded(place, listDocuments));
  drawCollections(place, me, () => collectionChanged(place));
  place.append(
    make("p", { id: "rk-notice", class: "rk-hint", role: "status" }),
    make("details", { id: "rk-settings" }, make("summary", {}, words.settings),
      make("fieldset", { id: "rk-only" }, make("legend", {}, words.only), make("p", { class: "rk-hint" }), part, make("div", { class: "rk-options" })),
      make("fieldset", {}, make("legend", {}, words.mode), ...MODES.map(mode)),
      make("label", { class: "rk-field" }, words.passages, make("span", { class: "rk-range" }, passages, shown))),
  );
  $("#rk-settings").addEventListener("toggle", () => guarded(place, listDocuments));
}

function collectionChanged(place) {
  picked.clear();
  $("#rk-only-part").value = "";
  document.dispatchEvent(new Event("rk-collection"));
  guarded(place, listDocuments);
  guarded(place, showNotice);
}

// Learn who asks and what is there for him. What was chosen stays, if it still is there.
export async function loadSettings() {
  Object.assign(me, await (await call("/ui/me")).json());
  await loadCollections(me.collection);
  $("#rk-collection-more").hidden = !me.writes && !me.manages;
  const shown = $(".rk-range output");
  if (!shown.value) shown.value = $("#rk-passages").value = me.passages;
  await listDocuments();
  await showNotice();
}

// Say beneath the collection which languages it can be asked in, or which documents are hard to find.
export async function showNotice() {
  const { collection } = chosen();
  const { notice } = collection
    ? await (await call(`/ui/notice/${encodeURIComponent(collection)}`)).json()
    : { notice: "" };
  if (collection === chosen().collection) $("#rk-notice").textContent = notice;
}

export async function findDocuments(collection, part, limit, signal) {
  const query = new URLSearchParams({ part, limit });
  return (await call(`/ui/documents/${encodeURIComponent(collection)}?${query}`, "GET", undefined, signal)).json();
}

async function listDocuments() {
  const { collection } = chosen();
  hint();
  if (!collection || !$("#rk-settings").open) return;
  listing?.abort();
  listing = new AbortController();
  const listed = await findDocuments(collection, $("#rk-only-part").value, MAX_LISTED, listing.signal);
  const options = new Map([...picked, ...listed.documents.map(({ id, name }) => [id, name])]);
  $("#rk-only .rk-options").replaceChildren(...[...options].map(([id, name]) => option(id, printable(name))));
}

function option(id, name) {
  const box = make("input", { type: "checkbox", value: id, ...(picked.has(id) ? { checked: "" } : {}) });
  box.addEventListener("change", () => {
    if (box.checked) picked.set(id, name);
    else picked.delete(id);
    hint();
  });
  return make("label", { title: name }, box, make("span", {}, name));
}

function hint() {
  $("#rk-only .rk-hint").textContent = picked.size ? say("only_some", { count: picked.size }) : words.only_hint;
}
