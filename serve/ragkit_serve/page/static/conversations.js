// The side bar's list of conversations: by day, searched, renamed, saved and deleted.

import { $, guarded, make } from "./dom.js";
import { openMenu } from "./menu.js";
import { call, say, words } from "./server.js";

const PAGE = 50;
const DAY_MS = 24 * 60 * 60 * 1000;
const WAIT_MS = 200; // between the last key and the search
let shown = PAGE; // how many are listed
let listing = null;
let page = { current: () => null, open: () => {}, left: () => {} };

// `current()` is the open conversation's id; `open(id)` opens one; `left()` is called when it is deleted.
export function drawConversations(place, functions) {
  page = functions;
  const part = make("input", { type: "search", id: "rk-find-conversation", maxlength: "200",
    placeholder: words.find_conversation, "aria-label": words.find_conversation });
  let timer;
  part.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => { shown = PAGE; refreshList(); }, WAIT_MS);
  });
  place.append(part, make("nav", { id: "rk-conversations", "aria-label": words.conversations }));
}

export async function refreshList() {
  listing?.abort();
  listing = new AbortController();
  const nav = $("#rk-conversations");
  let listed;
  try {
    listed = await some(listing.signal);
  } catch (error) {
    if (error.name !== "AbortError") nav.replaceChildren(make("p", { class: "rk-empty" }, error.message));
    return;
  }
  const search = $("#rk-find-conversation").value.trim();
  $("#rk-find-conversation").hidden = !search && !listed.data.length;
  if (!listed.data.length) {
    nav.replaceChildren(make("p", { class: "rk-empty" }, search ? words.no_such_conversation : words.no_conversations));
    return;
  }
  const older = make("button", { type: "button", id: "rk-older" }, words.older);
  older.addEventListener("click", () => { shown += PAGE; refreshList(); });
  nav.replaceChildren(...groups(listed.data), ...(listed.has_more ? [older] : []));
}

async function some(signal) {
  const search = $("#rk-find-conversation").value.trim();
  const data = [];
  for (let after = null; ;) {
    const query = new URLSearchParams({ limit: Math.min(100, shown - data.length), ...(search && { search }), ...(after && { after }) });
    const listed = await (await call(`/v1/conversations?${query}`, "GET", undefined, signal)).json();
    data.push(...listed.data);
    if (!listed.has_more || data.length >= shown) return { data, has_more: listed.has_more };
    after = listed.last_id;
  }
}

// The conversations under the day of their last answer; equal titles are told apart by the time.
function groups(listed) {
  const titles = new Map();
  for (const { title } of listed) titles.set(title, (titles.get(title) ?? 0) + 1);
  const days = new Map();
  for (const one of listed) {
    const day = dayOf(new Date(one.updated_at));
    days.set(day, [...(days.get(day) ?? []), one]);
  }
  return [...days].map(([day, ones], n) => {
    const heading = make("h2", { id: `rk-day-${n}` }, day);
    const items = ones.map((one) => item(one, titles.get(one.title) > 1));
    return make("section", { "aria-labelledby": heading.id }, heading, make("ul", {}, ...items));
  });
}

function dayOf(date) {
  const midnight = (moment) => new Date(moment.getFullYear(), moment.getMonth(), moment.getDate());
  const days = Math.round((midnight(new Date()) - midnight(date)) / DAY_MS);
  if (days <= 0) return words.today;
  if (days === 1) return words.yesterday;
  if (days < 7) return words.last_days;
  return date.toLocaleDateString(document.documentElement.lang, { year: "numeric", month: "long" });
}

function item(one, isSame) {
  const date = new Date(one.updated_at);
  const { lang } = document.documentElement;
  const moment = date.toLocaleString(lang, { dateStyle: "medium", timeStyle: "short" });
  const open = make("button", { type: "button", class: "rk-open", "data-id": one.id, title: `${one.title}\n${moment}` },
    make("span", {}, one.title));
  if (isSame) {
    const isToday = date.toDateString() === new Date().toDateString();
    open.append(make("small", {}, isToday ? date.toLocaleTimeString(lang, { timeStyle: "short" }) : moment));
  }
  if (one.id === page.current()) open.setAttribute("aria-current", "true");
  const more = make("button", { type: "button", class: "rk-more", "data-id": one.id, "aria-haspopup": "menu",
    "aria-expanded": "false", "aria-label": say("more_of", { title: one.title }), title: words.more }, "⋯");
  more.addEventListener("click", () => openMenu(more, one.title, choices(one)));
  return make("li", {}, open, more);
}

function choices(one) {
  const act = (name, work) => {
    const button = make("button", { type: "button", "data-do": name }, words[name]);
    button.addEventListener("click", () => guarded($("#rk-conversations"), work));
    return button;
  };
  const save = (format) =>
    make("a", { href: `/v1/conversations/${one.id}/export?format=${format}`, download: "" }, words[`export_${format}`]);
  return [act("rename", () => rename(one)), save("markdown"), save("json"), act("delete", () => remove(one))];
}

async function rename({ id, title }) {
  const name = prompt(words.rename_to, title)?.trim();
  if (!name) return;
  await call(`/v1/conversations/${id}`, "PATCH", { title: name });
  await refreshList();
}

async function remove({ id, title }) {
  if (!confirm(say("delete_sure", { title }))) return;
  await call(`/v1/conversations/${id}`, "DELETE");
  if (id === page.current()) page.left();
  await refreshList();
}
