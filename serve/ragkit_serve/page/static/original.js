// The original page of a cited PDF, beside its text: a picture with the cited lines marked over it.
// The server's panel has a figure that names document, version, page and places; the rest is here.

import { $, make } from "./dom.js";
import { call, say, words } from "./server.js";

const BESIDE = "(min-width: 901px)"; // as in original.css; below, the page stands above the text

export function drawOriginal(panel) {
  const figure = $(".rk-original", panel);
  document.body.classList.toggle("rk-paged", Boolean(figure));
  if (!figure) return;
  figure.append(sheet(), make("figcaption"));
  if (!matchMedia(BESIDE).matches) panel.parentElement.scrollTop = 0; // not to the text below
  showPage(figure, Number(figure.dataset.page));
}

// White paper of an ordinary page's shape, until the page's own is known.
function sheet() {
  const paper = make("span", { class: "rk-sheet rk-waiting" });
  const open = make("button", { type: "button", class: "rk-page", title: words.original_larger, "aria-label": words.original_larger }, paper);
  open.addEventListener("click", () => enlarge(open));
  return open;
}

const turning = new WeakMap(); // of each figure, the page that is on its way

async function showPage(figure, number) {
  turning.get(figure)?.abort();
  const control = new AbortController();
  turning.set(figure, control);
  const { document: id, version, marks } = figure.dataset;
  const asked = [["version", version], ["picture", "true"], ...marks.split(" ").map((place) => ["mark", place])];
  const address = `/v1/documents/${id}/pages/${number}?${new URLSearchParams(asked)}`;
  try {
    fill(figure, await (await call(address, "GET", undefined, control.signal)).json());
  } catch (error) {
    if (error.name !== "AbortError") fail(figure, error);
  }
}

function fill(figure, page) {
  const paper = $(".rk-sheet", figure);
  const alt = say("original_alt", { page: page.page, title: figure.dataset.title });
  const picture = make("img", { src: `data:image/png;base64,${page.picture}`, alt, decoding: "async", draggable: "false" });
  paper.classList.add("rk-waiting");
  picture.decode().then(
    () => figure.contains(picture) && paper.classList.remove("rk-waiting"),
    () => figure.contains(picture) && fail(figure, new Error(words.original_none)),
  );
  paper.style.setProperty("--rk-shape", String(page.width / page.height));
  paper.replaceChildren(picture, ...page.marks.map(marked));
  $("figcaption", figure).replaceChildren(...caption(figure, page));
}

function marked({ left, top, width, height }) {
  const mark = make("span", { class: "rk-mark" });
  const percent = (share) => `${share * 100}%`;
  Object.assign(mark.style, { left: percent(left), top: percent(top), width: percent(width), height: percent(height) });
  return mark;
}

function caption(figure, { page, pages, marks }) {
  const turn = (number, word, sign) => {
    const button = make("button", { type: "button", class: "rk-turn-page", title: words[word], "aria-label": words[word] }, sign);
    button.disabled = number < 1 || number > pages;
    button.addEventListener("click", async () => {
      await showPage(figure, number);
      const again = $(`[aria-label="${words[word]}"]`, figure); // the caption is a new one
      if (again && document.activeElement === document.body) again.focus();
    });
    return button;
  };
  const cited = page === Number(figure.dataset.page);
  const told = marks.length ? words.original_marked : cited ? words.original_unmarked : "";
  return [
    make("span", { class: "rk-pages" }, turn(page - 1, "original_previous", "‹"),
      make("span", {}, say("original_page", { page, pages })), turn(page + 1, "original_next", "›")),
    make("span", { class: "rk-told", role: "status" }, told),
  ];
}

// Without the page the panel is what it is for other formats: the text.
function fail(figure, error) {
  const gone = error.status === undefined || error.status === 404;
  figure.replaceWith(make("p", { class: "rk-note rk-no-original" }, gone ? words.original_none : say("failed", { reason: error.message })));
  document.body.classList.remove("rk-paged");
}

function enlarge(opened) {
  const close = make("button", { type: "button", class: "rk-shut", "aria-label": words.close, title: words.close }, "✕");
  const dialog = make("dialog", { class: "rk-large", "aria-label": $("img", opened)?.alt }, close, $(".rk-sheet", opened).cloneNode(true));
  const end = () => dialog.close();
  close.addEventListener("click", end);
  dialog.addEventListener("click", (event) => event.target === dialog && end());
  dialog.addEventListener("close", () => {
    dialog.remove();
    opened.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
  $(".rk-mark", dialog)?.scrollIntoView({ block: "center" });
}

// Escape closes the large page, and not the panel behind it as well.
document.addEventListener("keydown", (event) => {
  const dialog = $("dialog.rk-large");
  if (event.key !== "Escape" || !dialog) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  dialog.close();
}, true);
