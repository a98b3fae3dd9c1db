// What stands in the chat before the first question: what this is, where files go, what can be asked.

import { $, count, make } from "./dom.js";
import { documentsIn } from "./collections.js";
import { call, say, words } from "./server.js";
import { chosen, me } from "./settings.js";
import { chooseFiles } from "./arrivals.js";

let suggesting = null;

// Draw the welcome into the empty chat; `ask(question)` asks one of the suggested questions.
export function drawWelcome(place, ask) {
  const { collection } = chosen();
  const documents = documentsIn(collection);
  suggesting?.abort();
  const welcome = make("div", { class: "rk-welcome" });
  if (documents) filled(welcome, collection, documents, ask);
  else if (me.writes) empty(welcome);
  else welcome.append(make("h1", {}, words.empty_title), make("p", {}, words.empty_reader));
  place.replaceChildren(welcome);
}

function empty(welcome) {
  const choose = make("button", { type: "button", class: "rk-choose" }, words.choose_files);
  choose.addEventListener("click", chooseFiles);
  welcome.append(
    make("h1", {}, words.empty_title),
    make("p", {}, words.about),
    make("div", { class: "rk-dropzone" }, make("strong", {}, words.drop_files), choose,
      make("span", { class: "rk-hint" }, say("drop_hint", { mb: me.max_upload_mb }))),
  );
}

function filled(welcome, collection, documents, ask) {
  const from = say(documents === 1 ? "welcome_one" : "welcome_more", { collection, count: count(documents) });
  const list = make("ul", { class: "rk-suggested", "aria-label": words.suggested });
  welcome.append(make("h1", {}, words.welcome), make("p", {}, from), list);
  suggest(collection, list, ask);
}

async function suggest(collection, list, ask) {
  suggesting = new AbortController();
  const path = `/ui/suggestions/${encodeURIComponent(collection)}`;
  const answer = await call(path, "GET", undefined, suggesting.signal).catch(() => null); // they are a help, no more
  const { questions } = answer ? await answer.json().catch(() => ({ questions: [] })) : { questions: [] };
  const items = questions.map((question) => {
    const button = make("button", { type: "button" }, question);
    button.addEventListener("click", () => ask(question));
    return make("li", {}, button);
  });
  list.replaceChildren(...items);
  if (items.length) list.before(make("p", { class: "rk-hint" }, words.suggested));
}

// Say why nothing can be answered where there are no documents.
export const nothingThere = () => (me.writes ? words.no_documents : words.empty_reader);

export const isWelcome = (place) => Boolean($(".rk-welcome", place));
