// The collections: listed in the side bar's picker, made, renamed and deleted.

import { $, count, guarded, make } from "./dom.js";
import { openMenu } from "./menu.js";
import { call, say, words } from "./server.js";

const EVERY_MS = 20_000; // between two looks for collections that were made elsewhere
let known = new Map(); // how many documents are in each collection, by its name
let begun = 0; // lists that were asked for
let shown = 0; // the latest of them that has come

// How many documents the collection has that is chosen.
export const documentsIn = (collection) => known.get(collection) ?? 0;

// `me` says what the page's user may do; `changed()` is called when another collection is chosen.
export function drawCollections(place, me, changed) {
  const select = make("select", { id: "rk-collection" });
  const more = make("button", { type: "button", id: "rk-collection-more", class: "rk-more", "aria-haspopup": "menu",
    "aria-expanded": "false", "aria-label": words.collection_more, title: words.collection_more, hidden: "" }, "⋯");
  place.append(
    make("div", { class: "rk-field" }, make("label", { for: "rk-collection" }, words.collection),
      make("div", { class: "rk-picker" }, select, more)),
  );
  select.addEventListener("change", changed);
  more.addEventListener("click", () => openMenu(more, words.collection_more, choices(place, me, changed)));
  // One that was made elsewhere comes up by itself.
  const look = () => { if (!document.hidden) loadCollections(select.value, changed).catch(() => {}); };
  setInterval(look, EVERY_MS);
  document.addEventListener("visibilitychange", look);
}

// List the collections; choose the first of the `usual` ones that is there, unless one is chosen already.
export async function loadCollections(usual, changed = () => {}) {
  const turn = begun += 1;
  const listed = await all();
  if (turn < shown) return; // one that was asked for later has come before
  shown = turn;
  const select = $("#rk-collection");
  const before = select.value;
  const had = documentsIn(before);
  const names = listed.map(({ id }) => id);
  known = new Map(listed.map(({ id, documents }) => [id, documents]));
  const options = listed.map(({ id, documents }) =>
    make("option", { value: id }, say(documents === 1 ? "collection_one" : "collection_with", { name: id, count: count(documents) })));
  if (!options.length) options.push(make("option", { value: "" }, words.no_collections));
  const labels = (list) => JSON.stringify([...list].map((option) => [option.value, option.textContent]));
  if (labels(options) !== labels(select.options)) select.replaceChildren(...options); // else an open list would close
  select.value = [before, usual].find((name) => names.includes(name)) ?? names[0] ?? "";
  if (select.value !== before) changed();
  if (select.value !== before || documentsIn(select.value) !== had) document.dispatchEvent(new Event("rk-counted"));
}

async function all() {
  const listed = [];
  for (let after = ""; ;) {
    const page = await (await call(`/v1/collections?limit=100${after}`)).json();
    listed.push(...page.data);
    if (!page.has_more) return listed;
    after = `&after=${encodeURIComponent(page.last_id)}`;
  }
}

function choices(place, me, changed) {
  const name = $("#rk-collection").value;
  const act = (key, work) => {
    const button = make("button", { type: "button", "data-do": key }, words[key]);
    button.addEventListener("click", () => guarded(place, work));
    return button;
  };
  const items = [];
  if (me.writes) items.push(act("collection_new", () => create(changed)));
  if (me.manages && name) items.push(act("collection_rename", () => rename(name, changed)), act("collection_delete", () => remove(name, changed)));
  return items;
}

async function create(changed) {
  const name = prompt(words.collection_name)?.trim();
  if (!name) return;
  check(name);
  await call("/v1/collections", "POST", { id: name });
  await choose(name, changed);
}

async function rename(name, changed) {
  const other = prompt(words.collection_name, name)?.trim();
  if (!other || other === name) return;
  check(other);
  await call(`/v1/collections/${encodeURIComponent(name)}`, "PATCH", { id: other });
  await choose(other, changed);
}

// The server would take the name of one that is there as that one.
function check(name) {
  if (known.has(name)) throw new Error(say("collection_taken", { name }));
}

async function remove(name, changed) {
  const { documents } = await (await call(`/v1/collections/${encodeURIComponent(name)}`)).json();
  const sure = say(documents === 1 ? "collection_delete_one" : "collection_delete_sure", { name, count: count(documents) });
  if (!confirm(sure)) return;
  await call(`/v1/collections/${encodeURIComponent(name)}`, "DELETE");
  await loadCollections(null, changed);
}

async function choose(name, changed) {
  await loadCollections(null);
  $("#rk-collection").value = name;
  changed();
}
