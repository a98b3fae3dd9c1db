// What writes the answers, named beneath the question; a picker where the server leaves the choice.

import { make, printable } from "./dom.js";
import { call, words } from "./server.js";
import { me } from "./settings.js";

const KEPT = "rk-model"; // the name in this browser's storage
let model; // the one that a question names; undefined: the server's usual one

export const chosenModel = () => model;

// The list comes by a request of its own: a slow model server must not keep the page waiting.
export async function drawModels(place) {
  if (me.quotes) return place.replaceChildren(words.answered_by_quotations);
  if (me.model) return show(place, words.answered_by, me.model);
  try {
    const { models } = await (await call("/ui/models")).json();
    const before = remembered();
    model = models.includes(before) ? before : models[0];
    if (models.length === 1) show(place, words.answered_by, printable(model));
    else show(place, words.answered_by_picked, picker(models));
  } catch (error) {
    place.replaceChildren(error.status === 400 ? words.answered_by_no_model : words.answered_by_nobody);
  }
}

function show(place, text, name) {
  const [before, after] = text.split("{model}");
  place.replaceChildren(before, name, after);
}

function picker(models) {
  const options = models.map((name) => make("option", { value: name, ...(name === model ? { selected: "" } : {}) }, printable(name)));
  const select = make("select", { id: "rk-model", "aria-label": words.model }, ...options);
  select.addEventListener("change", () => {
    model = select.value;
    remember(model);
  });
  return select;
}

// A browser may keep nothing for this page: then the choice holds until it is closed.
function remembered() {
  try {
    return localStorage.getItem(KEPT);
  } catch {
    return null;
  }
}

function remember(name) {
  try {
    localStorage.setItem(KEPT, name);
  } catch {
    // Nothing is lost but the next visit's choice.
  }
}
