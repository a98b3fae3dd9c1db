// The Search tab: the passages that a query finds, the best first. Scores and times are folded.

import { $, guarded, make, nameOf, printable, table } from "./dom.js";
import { markWords } from "./marks.js";
import { openPassage } from "./panel.js";
import { readable } from "./reading.js";
import { call, say, words } from "./server.js";
import { chosen } from "./settings.js";

const SCORES = ["rank", "document", "fused", "dense", "dense_rank", "lexical", "lexical_rank"];
let searching = null;

export function drawSearch(place) {
  const query = make("input", { type: "search", id: "rk-query", maxlength: "32000", required: "", "aria-label": words.query, placeholder: words.query_hint });
  const form = make("form", { class: "rk-row", role: "search" }, query,
    make("button", { type: "submit", id: "rk-search", class: "rk-button rk-primary" }, words.search));
  place.append(form, make("p", { id: "rk-said", class: "rk-hint", role: "status" }, words.search_hint),
    make("div", { id: "rk-hits" }), make("div", { id: "rk-search-details" }));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    guarded(place, () => search(query.value));
  });
  document.addEventListener("rk-collection", () => {
    searching?.abort();
    show(words.search_hint);
  });
}

function show(status, hits = [], details = []) {
  $("#rk-said").textContent = status;
  $("#rk-hits").replaceChildren(...hits);
  $("#rk-search-details").replaceChildren(...details);
}

async function search(query) {
  searching?.abort(); // the server gives up what nobody waits for
  searching = new AbortController();
  const { collection, documents, mode, passages } = chosen();
  const filter = documents.length ? { in: { document: documents } } : null;
  show(words.working);
  let found;
  try {
    const answer = await call("/v1/search", "POST", { query, collection, mode, k: passages, filter }, searching.signal);
    found = await answer.json();
  } catch (error) {
    if (error.name !== "AbortError") show("");
    throw error;
  }
  const { data, timings } = found;
  if (!data.length) return show(words.found_nothing);
  const results = make("ol", { class: "rk-results", "aria-label": words.retrieval }, ...data.map((hit) => result(hit, query)));
  const hasWords = mode === "dense" || data.some(({ scores }) => "lexical" in scores);
  const counted = data.length === 1 ? words.found_one : say("found", { count: data.length });
  show(hasWords ? counted : words.found_nearest, [results], [details(data, timings)]);
  for (const passage of results.querySelectorAll(".rk-found")) offerWhole(passage);
}

function result(hit, query) {
  const name = nameOf(hit.title, hit.uri);
  const headings = hit.headings.map(printable).filter((heading) => heading !== name);
  const place = [hit.page === null ? "" : say("page", { page: hit.page }), headings.join(" › ")];
  const text = printable(hit.text.trim()).replace(/\n\s*\n/g, "\n"); // without empty lines
  const passage = readable(make("div", { class: "rk-found" }, ...markWords(text, query)), hit.uri);
  const open = make("button", { type: "button", class: "rk-link", title: words.open_passage }, name);
  const item = make("li", { class: "rk-result" }, passage,
    make("p", { class: "rk-from" }, open, ...place.filter(Boolean).map((part) => make("span", {}, part))));
  open.addEventListener("click", () => guarded(item, () => openPassage(open, hit)));
  passage.addEventListener("click", () => { if (getSelection().isCollapsed) open.click(); });
  return item;
}

// A long passage is cut by the style; a button shows all of it.
function offerWhole(passage) {
  if (passage.scrollHeight <= passage.clientHeight + 4) return;
  const button = make("button", { type: "button", class: "rk-link rk-whole", "aria-expanded": "false" }, words.show_whole);
  button.addEventListener("click", () => {
    const whole = passage.classList.toggle("rk-shown");
    button.setAttribute("aria-expanded", String(whole));
    button.textContent = whole ? words.show_less : words.show_whole;
  });
  passage.after(button);
}

function details(hits, timings) {
  const ms = Object.entries(timings).map(([stage, seconds]) => [stage, 1000 * seconds]);
  const whole = ms.reduce((sum, [, time]) => sum + time, 0);
  const stages = [...ms.map(([stage, time]) => [words[`stage_${stage}`] ?? stage, time.toFixed(1)]), [words.all_stages, whole.toFixed(1)]];
  return make("details", { id: "rk-stages" }, make("summary", {}, words.details),
    table("rk-scores", words.scores, SCORES.map((name) => words[`column_${name}`]), scoreRows(hits)),
    table("rk-times-of-stages", words.timings, [words.column_stage, words.column_ms], stages));
}

// Rank, document, score, each leg's score and rank in it.
function scoreRows(hits) {
  const leg = (hit, name) => {
    const score = hit.scores[name];
    if (score === undefined) return ["–", "–"];
    const better = hits.filter((other) => other.scores[name] > score).length; // equal scores share a rank
    return [score.toFixed(3), String(better + 1)];
  };
  return hits.map((hit, n) => [
    String(n + 1), nameOf(hit.title, hit.uri), hit.score.toFixed(3), ...leg(hit, "dense"), ...leg(hit, "lexical"),
  ]);
}
