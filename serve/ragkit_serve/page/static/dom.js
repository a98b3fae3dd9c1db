// Elements made from JavaScript. Strings become text, never markup.

import { say } from "./server.js";

export const $ = (selector, root = document) => root.querySelector(selector);

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// Do work; a failure is written at the end of `place` until the next work there succeeds.
export async function guarded(place, work) {
  try {
    await work();
    $(":scope > .rk-guarded", place)?.remove();
  } catch (error) {
    if (error.name === "AbortError") return;
    $(":scope > .rk-guarded", place)?.remove();
    place.append(make("p", { class: "rk-failed rk-guarded", role: "alert" }, say("failed", { reason: error.message })));
  }
}

// A table that scrolls; `rows` are arrays of cells, each a string or an element.
export function table(id, label, columns, rows) {
  const head = make("thead", {}, make("tr", {}, ...columns.map((column) => make("th", { scope: "col" }, column))));
  const body = make("tbody", {}, ...rows.map((cells) => make("tr", {}, ...cells.map((cell) => make("td", {}, cell)))));
  return make("div", { id, class: "rk-table", role: "region", tabindex: "0", "aria-label": label },
    make("table", {}, head, body));
}

// Control characters are shown, not obeyed.
export const printable = (text) => text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "\ufffd");

export const nameOf = (title, uri) => printable(title || uri.split("/").pop() || uri);

export const count = (number) => number.toLocaleString("en");
