// One document, opened from the list: its name, its facts and its text, page by page.

import { $, count, guarded, make, printable } from "./dom.js";
import { fileSize, languageText, timeText } from "./format.js";
import { readable } from "./reading.js";
import { call, say, words } from "./server.js";
import { me } from "./settings.js";

let opened = null; // the listed file, and where its text goes on
let root = null;
let onClose = null;
let onRemove = null;

export function drawDocument(place, { remove, closed }) {
  [root, onRemove, onClose] = [place, remove, closed];
}

export function closeDocument() {
  if (root.hidden) return;
  const { file } = opened;
  opened = null;
  root.hidden = true;
  root.replaceChildren();
  onClose(file);
}

export async function showDocument(file) {
  opened = { file, next: 0 };
  const first = await readText();
  const name = printable(file.name);
  const back = make("button", { type: "button", id: "rk-back", class: "rk-button" }, `← ${words.all_documents}`);
  const heading = make("h2", { id: "rk-document-name", tabindex: "-1" }, name);
  const text = make("div", { id: "rk-document-text", tabindex: "0", role: "region", "aria-label": name, lang: file.language });
  const more = make("button", { type: "button", id: "rk-text-more", class: "rk-button", hidden: "" }, words.more_text);
  back.addEventListener("click", closeDocument);
  more.addEventListener("click", () => guarded(root, async () => showText(await readText())));
  root.replaceChildren(make("div", { class: "rk-row" }, back, ...actions(file)), heading,
    make("p", { class: "rk-hint" }, [file.type, fileSize(file), timeText(file.date)].join(" · ")),
    facts(file), text, make("p", { id: "rk-cut", class: "rk-hint" }), more);
  showText(first);
  root.hidden = false;
  root.scrollIntoView({ block: "nearest" });
  heading.focus({ preventScroll: true });
}

function actions(file) {
  const made = [];
  if (file.has_file) made.push(make("a", { class: "rk-button", href: `/v1/documents/${file.id}/source`, download: "" }, words.save_file));
  if (me.writes) {
    const remove = make("button", { type: "button", id: "rk-delete", class: "rk-button rk-danger" }, words.delete_document);
    remove.addEventListener("click", () => guarded(root.parentElement, () => onRemove(file)));
    made.push(remove);
  }
  return made;
}

function facts(file) {
  const rows = [
    ["fact_file", file.file],
    ["column_language", file.language ? languageText(file.language) : ""],
    ["fact_pages", file.pages > 1 ? count(file.pages) : ""],
    ["column_characters", count(file.chars)],
    ["column_passages", count(file.chunks)],
    ["column_version", String(file.version)],
    ["column_number", String(file.id)],
    ["fact_address", file.uri],
  ].filter(([, value]) => value);
  const items = rows.flatMap(([name, value]) => [make("dt", {}, words[name]), make("dd", {}, printable(value))]);
  return make("details", { class: "rk-facts" }, make("summary", {}, words.details), make("dl", {}, ...items));
}

async function readText() {
  return (await call(`/v1/documents/${opened.file.id}/text?start=${opened.next}`)).json();
}

function showText(piece) {
  opened.next = piece.end;
  $("#rk-document-text").append(...pagesOf(piece));
  const isCut = piece.end < piece.chars;
  $("#rk-cut").textContent = isCut ? say("text_cut", { shown: count(piece.end), all: count(piece.chars) }) : "";
  $("#rk-text-more").hidden = !isCut;
}

// The text with a line where each page begins. Places are counted in code points.
function pagesOf({ text, pages, start }) {
  const points = [...text];
  let at = 0;
  const parts = pages.flatMap(({ page, start: begins }) => {
    if (begins < start) return []; // it was announced in the piece before
    const before = points.slice(at, begins - start).join("");
    at = begins - start;
    return [before, make("div", { class: "rk-page" }, say("page", { page }))];
  });
  return [...parts, points.slice(at).join("")].map((part) => (typeof part === "string" ? readable(make("span", {}, printable(part)), opened.file.uri) : part));
}
