// A passage of stored text as people read it: headings and table rows without their signs. Marks stay
// on the characters that they were on, because signs are left out and nothing else is changed.

import { make } from "./dom.js";

// Formats whose stored text is Markdown; in others, such as program code, # and * mean other things.
const MARKDOWN = /\.(?:md|markdown|x?html?|pdf|docx|pptx|xlsx|csv|tsv|epub|ipynb|od[tsp]|rst|adoc|asciidoc|org|eml|msg|png|jpe?g|tiff?|webp|bmp)$/i;
const HEADING = /^#{1,6}[ \t]+/;
const FENCE = /^\s*(?:`{3,}|~{3,})/;
const RULER = /^\s*\|(?:\s*:?-+:?\s*\|)+\s*$/;
const CUT = "… "; // what the server puts before a passage that begins inside a text
// Bold, code and links: what is shown of them is the group.
const INLINE = /\*\*(?<bold>[^\s*](?:[^*\n]{0,300}[^\s*])?)\*\*|`(?<code>[^`\n]{1,300})`|!?\[(?<link>[^\]\n]{1,300})\]\([^()\s]{1,500}\)/g;

// Redraw an element that holds text and marks, as a passage of the document at `uri`.
export function readable(element, uri) {
  if (!MARKDOWN.test(uri) && !/^https?:\/\/[^?#]*\/[^./?#]*(?:[?#]|$)/.test(uri)) return element;
  const marks = marksOf(element);
  const text = element.textContent;
  const parts = [];
  let run = null; // lines of text, or rows of a table
  for (const line of linesOf(text)) {
    const kind = line.row ? "table" : "text";
    if (run?.kind !== kind) parts.push(run = { kind, lines: [] });
    run.lines.push(line);
  }
  element.replaceChildren(...parts.flatMap(({ kind, lines }) => (kind === "table" ? [tableOf(text, lines, marks)] : linesText(text, lines, marks))));
  return element;
}

function marksOf(element) {
  let at = 0;
  return [...element.childNodes].flatMap((node) => {
    const start = at;
    at += node.textContent.length;
    return node.nodeName === "MARK" ? [{ start, end: at, node }] : [];
  });
}

// The lines with their places; fenced code has no rows and no headings.
function linesOf(text) {
  const lines = [];
  let start = 0;
  let isCode = false;
  for (const line of text.split("\n")) {
    const fence = FENCE.test(line);
    const isCutRow = start === 0 && line.startsWith(CUT) && /\|\s*$/.test(line);
    lines.push({ start, end: start + line.length, line, isCode: isCode || fence, isCutRow, row: !isCode && (/^\s*\|.*\|/.test(line) || isCutRow) });
    if (fence) isCode = !isCode;
    start += line.length + 1;
  }
  return lines;
}

function linesText(text, lines, marks) {
  const styles = [];
  for (const { start, end, line, isCode } of lines) {
    if (isCode) continue;
    const sign = HEADING.exec(line)?.[0].length ?? 0;
    if (sign) styles.push({ start, end: start + sign, tag: null }, { start: start + sign, end, tag: "strong" });
    styles.push(...inlineStyles(line, start));
  }
  return drawn(text, lines[0].start, Math.min(lines.at(-1).end + 1, text.length), styles, marks);
}

// What is bold or code, and the signs around it, which have no tag.
function inlineStyles(line, offset) {
  return [...line.matchAll(INLINE)].flatMap((match) => {
    const { bold, code, link } = match.groups;
    const shown = bold ?? code ?? link;
    const [start, end] = [offset + match.index, offset + match.index + match[0].length];
    const from = start + match[0].indexOf(shown, bold ? 2 : 1);
    const to = from + shown.length;
    const tag = bold ? "strong" : code ? "code" : "span";
    return [{ start, end: from, tag: null }, { start: from, end: to, tag }, { start: to, end, tag: null }];
  });
}

function tableOf(text, lines, marks) {
  const rows = lines.map((line) => ({ ...line, cells: cellsOf(line) }));
  const width = Math.max(...rows.map(({ cells }) => cells.length));
  const made = rows.flatMap(({ line, cells, isCutRow }, n) => {
    if (RULER.test(line)) return [];
    const tag = n === 0 && RULER.test(rows[1]?.line ?? "") ? "th" : "td";
    const shown = cells.map(([start, end]) => make(tag, {}, ...drawn(text, start, end, cellStyles(text, start, end), marks)));
    const missing = Array.from({ length: isCutRow ? width - cells.length : 0 }, () => make(tag)); // its first cells were cut off
    return [make("tr", {}, ...missing, ...shown)];
  });
  return make("div", { class: "rk-rows" }, make("table", {}, make("tbody", {}, ...made)));
}

// The places of a row's cells: what stands between bars that no backslash stands before.
function cellsOf({ line, start }) {
  const bars = [...line.matchAll(/\\.|\|/g)].filter(([sign]) => sign === "|").map(({ index }) => index);
  const edges = [-1, ...bars, line.length];
  const cells = edges.slice(1).map((end, n) => [edges[n] + 1, end]);
  return cells.filter(([from, to], n) => (n > 0 && n < cells.length - 1) || line.slice(from, to).trim())
    .map(([from, to]) => [start + from, start + to]);
}

function cellStyles(text, start, end) {
  const cell = text.slice(start, end);
  const escapes = [...cell.matchAll(/\\(?=\|)/g)].map(({ index }) => ({ start: start + index, end: start + index + 1, tag: null }));
  return [...escapes, ...inlineStyles(cell, start)];
}

// The characters from `start` to `end` as text nodes, in the tags and marks that they lie in.
function drawn(text, start, end, styles, marks) {
  const edges = [...styles, ...marks].flatMap((range) => [range.start, range.end]).filter((place) => place > start && place < end);
  const places = [...new Set([start, ...edges, end])].sort((one, other) => one - other);
  return places.slice(1).flatMap((to, n) => {
    const from = places[n];
    const covers = (range) => range.start <= from && to <= range.end;
    const over = styles.filter(covers);
    if (over.some(({ tag }) => tag === null)) return [];
    const node = over.reduce((inner, { tag }) => make(tag, {}, inner), text.slice(from, to));
    const mark = marks.find(covers)?.node.cloneNode(false);
    mark?.append(node);
    return [mark ?? node];
  });
}
