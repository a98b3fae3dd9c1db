"use strict";
// Filters the items and sorts tables; the page is whole without it.
const $ = (id) => document.getElementById(id);
const items = Array.from(document.querySelectorAll("article.item"));
const words = new Map();
const selects = ["task", "group", "kind"];

function fits(item, wanted, said) {
  if (!selects.every((name) => !wanted[name] || item.dataset[name] === wanted[name])) return false;
  if (!words.has(item)) words.set(item, item.textContent.toLowerCase());
  return said.every((word) => words.get(item).includes(word));
}

function filter() {
  const wanted = {};
  for (const name of selects) wanted[name] = $("by-" + name) ? $("by-" + name).value : "";
  const said = $("by-text").value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const item of items) {
    item.hidden = !fits(item, wanted, said);
    if (!item.hidden) shown += 1;
  }
  $("found").textContent = shown + " of " + items.length + " items";
}

function sort(button) {
  const head = button.closest("th");
  const table = head.closest("table");
  const column = Array.from(head.parentNode.children).indexOf(head);
  const up = head.getAttribute("aria-sort") !== "ascending";
  for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  const value = (row) => {
    const cell = row.children[column];
    return cell.dataset.value === undefined ? cell.textContent.trim() : Number(cell.dataset.value);
  };
  const rows = Array.from(table.tBodies[0].rows).sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    const order = typeof x === "number" && typeof y === "number" ? x - y
      : String(x).localeCompare(String(y), undefined, { numeric: true });
    return up ? order : -order;
  });
  table.tBodies[0].append(...rows);
}

function open(all) {
  for (const item of items) {
    if (!item.hidden) item.querySelector("details").open = all;
  }
}

if ($("filters")) {
  $("filters").hidden = false;
  let waiting = 0;
  $("by-text").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(filter, 120);
  });
  for (const name of selects) if ($("by-" + name)) $("by-" + name).addEventListener("change", filter);
  $("open-all").addEventListener("click", () => open(true));
  $("close-all").addEventListener("click", () => open(false));
  filter();
}
for (const button of document.querySelectorAll("th button")) {
  button.disabled = false;
  button.addEventListener("click", () => sort(button));
}
function reveal() {
  const item = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (item && item.matches("article.item")) item.querySelector("details").open = true;
}
addEventListener("hashchange", reveal);
reveal();
