// The Documents tab: a collection's files in a table that is searched, sorted, and deleted from.
// The server sorts and counts, because the table shows only the first pages.

import { closeDocument, drawDocument, showDocument } from "./document.js";
import { $, count, guarded, make, printable } from "./dom.js";
import { dayText, fileSize, timeText } from "./format.js";
import { call, patiently, say, words } from "./server.js";
import { chosen, loadSettings, me, showNotice } from "./settings.js";
import { drawUploads, sendAgain } from "./uploads.js";

const PAGE = 500; // what the server sends at once
const POLL_MS = 2000; // between two looks at files on their way
const COLUMNS = ["name", "type", "size", "date", "state"];
const LATEST_FIRST = new Set(["size", "date"]); // the columns that first fall
const UNDER_WAY = new Set(["queued", "running"]);
// `note` is what was deleted last; it stands beside the count until something else is done.
const list = { sort: "date", descending: true, pages: 1, files: [], matched: 0, all: 0, drawn: "", note: "", request: null, timer: 0 };
const selected = new Map(); // files by key

const keyOf = ({ id, job }) => (id === null ? `job-${job}` : `document-${id}`);
const canDelete = (file) => me.writes && !UNDER_WAY.has(file.state);
const place = () => $("#rk-documents");

export function drawDocuments(root) {
  const part = make("input", { type: "search", id: "rk-part", maxlength: "200", "aria-label": words.find_document, placeholder: words.find_document });
  const form = make("form", { class: "rk-find", role: "search" }, part);
  const more = make("button", { type: "button", id: "rk-more", class: "rk-button", hidden: "" }, words.show_more);
  const view = make("section", { id: "rk-document", hidden: "" });
  root.append(
    make("div", { id: "rk-files" }, make("div", { id: "rk-uploads" }), form,
      make("div", { id: "rk-selected", hidden: "" }), make("div", { id: "rk-listed" }), more,
      make("p", { id: "rk-counted", class: "rk-hint", role: "status" })), view);
  drawDocument(view, { remove: (file) => removeFiles([file]), closed: showList });
  form.addEventListener("submit", (event) => event.preventDefault());
  part.addEventListener("input", () => begin());
  more.addEventListener("click", () => guarded(root, () => load(list.pages + 1)));
  $("#rk-listed").addEventListener("click", onRow);
  document.addEventListener("rk-collection", () => {
    part.value = "";
    closeDocument();
    begin();
  });
  // Gradio hides a tab that is not chosen; whenever this one comes to be seen, it is up to date.
  let visible = false;
  new ResizeObserver(([{ contentRect }]) => {
    if (contentRect.height > 0 && !visible) refreshDocuments();
    visible = contentRect.height > 0;
  }).observe(root);
}

export const refreshDocuments = () => guarded(place(), () => load(list.pages));

function begin() {
  selected.clear();
  return guarded(place(), () => load(1));
}

// The list

async function load(pages) {
  // Settings that could not be loaded, as when the server was away, are loaded now.
  if (!chosen().collection) await loadSettings();
  drawUploads($("#rk-uploads"), refreshDocuments);
  clearTimeout(list.timer);
  list.request?.abort();
  list.request = new AbortController();
  const started = performance.now();
  const found = await fetchFiles(pages, list.request.signal);
  Object.assign(list, found, { pages });
  for (const key of selected.keys()) if (!list.files.some((file) => keyOf(file) === key)) selected.delete(key);
  draw();
  await showNotice();
  if (list.files.some((file) => UNDER_WAY.has(file.state))) {
    list.timer = setTimeout(watch, Math.max(POLL_MS, 4 * (performance.now() - started)));
  }
}

// Look again, unless nobody sees it.
function watch() {
  if (place().offsetParent && !document.hidden) refreshDocuments();
  else list.timer = setTimeout(watch, POLL_MS);
}

async function fetchFiles(pages, signal) {
  const { collection } = chosen();
  const files = new Map(); // a file that moves while pages are read comes once
  let [matched, all] = [0, 0];
  for (let page = 0; collection && page < pages; page += 1) {
    const query = new URLSearchParams({
      part: $("#rk-part").value, sort: list.sort, descending: list.descending, uploads: true, limit: PAGE, offset: page * PAGE,
    });
    const answer = await (await call(`/ui/documents/${encodeURIComponent(collection)}?${query}`, "GET", undefined, signal)).json();
    for (const file of answer.documents) files.set(keyOf(file), file);
    [matched, all] = [answer.matched, answer.all];
  }
  return { files: [...files.values()], matched, all };
}

function draw() {
  const state = JSON.stringify([list.files, list.matched, list.all, list.sort, list.descending, list.note, $("#rk-part").value, [...selected.keys()]]);
  if (state === list.drawn) return; // what is focused and marked stays
  list.drawn = state;
  const focused = document.activeElement?.dataset.focus;
  $("#rk-listed").replaceChildren(list.files.length ? filesTable() : nothing());
  $("#rk-counted").textContent = [list.note, list.all ? counted() : ""].filter(Boolean).join(" ");
  $(".rk-find", place()).hidden = !list.all;
  $("#rk-more").hidden = list.files.length >= list.matched;
  drawSelected();
  if (focused) $(`#rk-files [data-focus="${CSS.escape(focused)}"]`)?.focus();
}

function counted() {
  const { files, matched, all } = list;
  const fits = matched < all ? "documents_first" : "documents_shown";
  return say(fits, { shown: count(files.length), matched: count(matched), all: count(all) });
}

function nothing() {
  const part = $("#rk-part").value.trim();
  if (part && list.all) return make("p", { class: "rk-none" }, say("none_named", { part }));
  return make("p", { class: "rk-none" }, me.writes ? words.list_empty : words.no_documents_here);
}

// Roles are written out: the phone's layout takes them from the elements.
function filesTable() {
  const cell = (tag, role, attributes, ...content) => make(tag, { role, ...attributes }, ...content);
  const heads = COLUMNS.map((name) => {
    const active = name === list.sort;
    const order = active ? (list.descending ? "descending" : "ascending") : "none";
    const button = make("button", { type: "button", class: "rk-sort", "data-sort": name, "data-focus": `sort-${name}` }, words[`column_${name}`],
      make("span", { "aria-hidden": "true" }, active ? (list.descending ? "↓" : "↑") : "↕"));
    return cell("th", "columnheader", { scope: "col", "aria-sort": order }, button);
  });
  const checks = me.writes ? [cell("th", "columnheader", { class: "rk-check" }, checkAll())] : [];
  const head = make("thead", { role: "rowgroup" }, cell("tr", "row", {}, ...checks, ...heads));
  const body = make("tbody", { role: "rowgroup" }, ...list.files.map(fileRow));
  return make("table", { id: "rk-table", role: "table", "aria-label": words.documents }, head, body);
}

function checkAll() {
  const files = list.files.filter(canDelete);
  const box = make("input", { type: "checkbox", "data-focus": "all", "data-all": "", "aria-label": words.select_all });
  const marked = files.filter((file) => selected.has(keyOf(file))).length;
  box.checked = files.length > 0 && marked === files.length;
  box.indeterminate = marked > 0 && marked < files.length;
  return box;
}

function fileRow(file) {
  const key = keyOf(file);
  const name = printable(file.name);
  const cell = (kind, ...content) => make("td", { role: "cell", class: `rk-${kind}` }, ...content);
  const title = file.id === null ? make("span", {}, name) : make("button", { type: "button", class: "rk-link", "data-open": key, "data-focus": `open-${key}` }, name);
  const beside = file.file === file.name ? [] : [make("span", { class: "rk-file" }, printable(file.file))];
  const box = make("input", { type: "checkbox", "data-select": key, "data-focus": `select-${key}`, "aria-label": say("select_file", { name }) });
  box.checked = selected.has(key);
  box.disabled = !canDelete(file);
  return make("tr", { role: "row", "data-key": key, "data-id": file.id }, ...(me.writes ? [cell("check", box)] : []),
    cell("name", title, ...beside), cell("type", file.type), sizeCell(file, cell),
    cell("date", make("time", { datetime: file.date, title: timeText(file.date) }, dayText(file.date))),
    cell("state", ...stateOf(file, key)));
}

function sizeCell(file, cell) {
  const made = cell("size", fileSize(file));
  made.title = words[file.is_text_size ? "size_is_text" : "size_is_file"];
  return made;
}

function stateOf(file, key) {
  const badge = make("span", { class: "rk-badge", "data-state": file.state }, words[`state_${file.state}`]);
  if (file.state === "running" && file.total) return [badge, make("span", { class: "rk-reason" }, say("progress", file))];
  if (file.state !== "failed") return [badge];
  const act = (name) => make("button", { type: "button", class: "rk-link", [`data-${name}`]: key, "data-focus": `${name}-${key}` }, words[name]);
  return [badge, make("span", { class: "rk-reason" }, printable(file.reason)), ...(me.writes ? [act("retry"), act("forget")] : [])];
}

// What is clicked in the table

function onRow(event) {
  const hit = (name) => event.target.closest(`[data-${name}]`)?.dataset[name];
  const fileOf = (key) => list.files.find((file) => keyOf(file) === key);
  const act = event.target.closest("[data-sort], [data-all], [data-select], [data-retry], [data-forget]");
  if (act === null) {
    const file = event.target.closest("td.rk-check") ? null : fileOf(hit("key"));
    if (file && file.id !== null) guarded(place(), () => open(file));
  } else if (hit("sort")) sortBy(hit("sort"));
  else if (hit("retry")) sendAgain(fileOf(hit("retry")));
  else if (hit("forget")) guarded(place(), () => deleteAll([fileOf(hit("forget"))]));
  else select(hit("select") ? [fileOf(hit("select"))] : list.files.filter(canDelete), event.target.checked);
}

function sortBy(column) {
  list.descending = column === list.sort ? !list.descending : LATEST_FIRST.has(column);
  list.sort = column;
  list.note = "";
  return guarded(place(), () => load(1));
}

async function open(file) {
  await showDocument(file);
  $("#rk-files").hidden = true;
}

function showList(file) {
  $("#rk-files").hidden = false;
  if (file) $(`#rk-files [data-open="${keyOf(file)}"]`)?.focus();
}

// Selecting and deleting

function select(files, on) {
  list.note = "";
  for (const file of files) {
    if (on) selected.set(keyOf(file), file);
    else selected.delete(keyOf(file));
  }
  draw();
}

function drawSelected() {
  const remove = make("button", { type: "button", id: "rk-delete-selected", class: "rk-button rk-danger", "data-focus": "remove" }, words.delete_selected);
  const none = make("button", { type: "button", class: "rk-button", "data-focus": "none" }, words.select_none);
  remove.addEventListener("click", () => guarded(place(), () => removeFiles([...selected.values()])));
  none.addEventListener("click", () => {
    selected.clear();
    draw();
  });
  $("#rk-selected").hidden = !selected.size;
  $("#rk-selected").replaceChildren(make("span", { role: "status" }, say("selected", { count: count(selected.size) })), remove, none);
}

async function removeFiles(files) {
  const sure = files.length === 1 ? say("delete_file_sure", { name: printable(files[0].name) }) : say("delete_files_sure", { count: count(files.length) });
  if (!confirm(sure)) return;
  await deleteAll(files);
}

async function deleteAll(files) {
  const failures = [];
  list.note = "";
  for (const [n, file] of files.entries()) {
    if (files.length > 1) $("#rk-counted").textContent = say("deleting", { n: count(n + 1), count: count(files.length) });
    const path = file.id === null ? `/v1/jobs/${file.job}` : `/v1/documents/${file.id}`;
    try {
      await patiently(() => call(path, "DELETE"));
      selected.delete(keyOf(file));
    } catch (error) {
      if (error.status === 404) selected.delete(keyOf(file)); // somebody else was quicker
      else failures.push(say("not_deleted", { name: printable(file.name), reason: error.message }));
    }
  }
  closeDocument();
  list.drawn = "";
  if (!failures.length && files.every((file) => file.id !== null)) list.note = say("files_deleted", { count: count(files.length) });
  await load(list.pages).catch((error) => { if (error.name !== "AbortError") throw error; }); // another one draws the list
  if (failures.length) throw new Error(failures.join("\n"));
}
