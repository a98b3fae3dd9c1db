// The Search tab: the passages that a query finds, what each leg gave them, and the times.

import { $, guarded, make, nameOf, printable, table } from "./dom.js";
import { call, say, words } from "./server.js";
import { chosen } from "./settings.js";

const COLUMNS = ["rank", "document", "text", "page", "fused", "dense", "dense_rank", "lexical", "lexical_rank"];
let searching = null;

export function drawSearch(place) {
  const query = make("input", { type: "search", id: "rk-query", maxlength: "32000", required: "", "aria-label": words.query, placeholder: words.query });
  const form = make("form", { class: "rk-row", role: "search" }, query,
    make("button", { type: "submit", id: "rk-search", class: "rk-button" }, words.search));
  place.append(form, make("p", { id: "rk-said", class: "rk-hint", role: "status" }),
    make("div", { id: "rk-hits" }), make("div", { id: "rk-stages" }));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    guarded(place, () => search(query.value));
  });
}

async function search(query) {
  searching?.abort(); // the server gives up what nobody waits for
  searching = new AbortController();
  const { collection, documents, mode, passages } = chosen();
  const filter = documents.length ? { in: { document: documents } } : null;
  $("#rk-said").textContent = words.working;
  for (const place of ["#rk-hits", "#rk-stages"]) $(place).replaceChildren();
  let told;
  try {
    const answer = await call("/v1/search", "POST", { query, collection, mode, k: passages, filter }, searching.signal);
    told = await answer.json();
  } catch (error) {
    if (error.name !== "AbortError") $("#rk-said").textContent = "";
    throw error;
  }
  const { data, timings } = told;
  const ms = (seconds) => 1000 * seconds;
  const whole = Object.values(timings).reduce((sum, seconds) => sum + ms(seconds), 0);
  $("#rk-said").textContent = say("found", { count: data.length, ms: whole.toFixed(0) });
  $("#rk-hits").replaceChildren(table("rk-passages-found", words.retrieval, COLUMNS.map((name) => words[`column_${name}`]), hitRows(data)));
  const stages = Object.entries(timings).map(([stage, seconds]) => [words[`stage_${stage}`] ?? stage, ms(seconds).toFixed(1)]);
  $("#rk-stages").replaceChildren(table("rk-times-of-stages", words.timings, [words.column_stage, words.column_ms], stages));
}

// Rank, document, text, page, score, each leg's score and rank in it.
function hitRows(hits) {
  const leg = (hit, name) => {
    const score = hit.scores[name];
    if (score === undefined) return ["–", "–"];
    const better = hits.filter((other) => other.scores[name] > score).length; // equal scores share a rank
    return [score.toFixed(3), String(better + 1)];
  };
  return hits.map((hit, n) => [
    String(n + 1), nameOf(hit.title, hit.uri), printable(hit.text.split(/\s+/).join(" ").trim()),
    hit.page === null ? "" : String(hit.page), hit.score.toFixed(3), ...leg(hit, "dense"), ...leg(hit, "lexical"),
  ]);
}
