// The chat: questions and conversations. Gradio's page is the frame; the scripts fill its
// empty columns, each tab by a file of its own.
// HTML comes rendered and cleaned from the server alone; everything else is set as text.

import { drawArrivals, hideEnded } from "./arrivals.js";
import { drawConversations, refreshList } from "./conversations.js";
import { $, guarded, make } from "./dom.js";
import { drawDocuments } from "./documents.js";
import { chosenModel, drawModels } from "./models.js";
import { closePanel, drawPanel, isPanelOpen, openSource } from "./panel.js";
import { drawSearch } from "./search.js";
import { call, eventsOf, failure, learn, say, words } from "./server.js";
import { chosen, drawSettings, loadSettings, me } from "./settings.js";
import { keepPage } from "./uploads.js";
import { drawWelcome, isWelcome, nothingThere } from "./welcome.js";

const current = { id: null, collection: null, asking: null, editing: null };

const field = () => $("#rk-question textarea");
const turns = () => $("#rk-turns");

function type(text) {
  field().value = text;
  field().dispatchEvent(new Event("input", { bubbles: true }));
}

// Conversations

async function openConversation(id) {
  stop();
  leaveEditing();
  const told = await (await call(`/ui/conversations/${id}`)).json();
  Object.assign(current, { id, collection: chosen().collection });
  closePanel();
  turns().innerHTML = told.html;
  turns().lastElementChild?.scrollIntoView({ block: "start" });
  $("#rk-tabs button[role=tab]")?.click();
  await refreshList();
}

function newConversation() {
  stop();
  leaveEditing();
  Object.assign(current, { id: null, collection: null });
  closePanel();
  drawWelcome(turns(), ask);
  $("#rk-tabs button[role=tab]")?.click();
  field().focus();
  for (const one of document.querySelectorAll(".rk-open[aria-current]")) one.removeAttribute("aria-current");
}

// Questions

// `replaced` is the turn whose place the answer is to take: it is away meanwhile, and back if none comes.
async function ask(question, replaced = null) {
  if (!question.trim() || current.asking) return;
  const options = chosen();
  const edited = replaced !== null && current.editing?.turn === replaced;
  if (replaced) leaveEditing();
  else type("");
  // A conversation is about one collection: with another a new one begins.
  if (current.id && current.collection !== options.collection) {
    newConversation();
    replaced = null;
  }
  $(".rk-welcome")?.remove();
  hideEnded();
  const text = make("div", { class: "rk-text" }, make("p", { class: "rk-working" }, words.working));
  const answer = make("div", { class: "rk-answer" }, text);
  const article = make("article", { class: "rk-turn" }, make("div", { class: "rk-question" }, question), answer);
  if (replaced) replaced.hidden = true;
  turns().append(article);
  article.scrollIntoView({ block: "start" });
  const control = new AbortController();
  current.asking = control;
  document.body.classList.add("rk-busy");
  let kept = false;
  try {
    const replaces = replaced && Number(replaced.dataset.answer.split("/")[1]);
    const asked = { ...options, question, model: chosenModel(), conversation: current.id, replaces };
    const events = eventsOf(await call("/ui/ask", "POST", asked, control.signal));
    for await (const event of events) {
      if (event.error) throw failure(event.error);
      if (event.conversation) {
        kept = true;
        replaced?.remove();
        article.outerHTML = event.html;
        turns().lastElementChild.scrollIntoView({ block: "nearest" }); // its buttons too
        Object.assign(current, { id: event.conversation, collection: options.collection });
        idle(control); // what is left is only that the server sums the past up
        refreshList();
      } else {
        show(answer, event);
      }
    }
    if (!kept) throw new Error(words.no_server); // it hung up before the end
  } catch (error) {
    if (kept) return;
    const reason = reasonOf(error);
    failed(answer, replaced ? `${reason} ${words.still_there}` : reason);
    if (replaced) {
      replaced.hidden = false;
      article.scrollIntoView({ block: "nearest" });
      if (edited && replaced.isConnected) edit(replaced, question); // else its button asks again
    } else if (!field().value) type(question);
  } finally {
    idle(control);
  }
}

function reasonOf(error) {
  if (error.name === "AbortError") return words.stopped;
  // There is no collection yet, or no document in it.
  return error.code === "not_found" ? nothingThere() : say("failed", { reason: error.message });
}

function idle(control) {
  if (current.asking !== control) return;
  current.asking = null;
  document.body.classList.remove("rk-busy");
  field().focus();
}

function show(answer, event) {
  const box = turns().parentElement;
  const below = box.scrollHeight - box.scrollTop - box.clientHeight < 80;
  if (event.reasoning) {
    let thought = $(".rk-reasoning", answer);
    if (!thought) {
      thought = make("details", { class: "rk-reasoning" }, make("summary", {}, words.reasoning), make("div"));
      answer.prepend(thought);
    }
    thought.lastElementChild.textContent = event.reasoning;
  }
  if (event.text) $(".rk-text", answer).innerHTML = event.text;
  if (below) box.scrollTop = box.scrollHeight;
}

function failed(answer, message) {
  $(".rk-working", answer)?.remove();
  if ($(".rk-text", answer).textContent) {
    answer.classList.add("rk-incomplete");
    if (!message.startsWith(words.stopped)) answer.append(make("p", { class: "rk-note" }, words.incomplete));
  }
  answer.append(make("p", { class: "rk-failed", role: "alert" }, message));
}

const stop = () => current.asking?.abort();
const send = () => ask(field().value, current.editing?.turn);

// The last question, put into the input: what is sent next takes its place.

function edit(turn, question) {
  leaveEditing();
  current.editing = { turn, draft: field().value };
  turn.classList.add("rk-editing");
  $(".rk-asked", turn).after(make("p", { class: "rk-note-editing", role: "status" }, words.editing));
  type(question);
  field().focus();
}

function leaveEditing() {
  if (!current.editing) return null;
  const { turn, draft } = current.editing;
  current.editing = null;
  turn.classList.remove("rk-editing");
  $(".rk-note-editing", turn)?.remove();
  type(draft);
  return turn;
}

// What can be done with an answer

const onAnswer = {
  async copy(article, button) {
    await navigator.clipboard.writeText($(".rk-text", article).innerText);
    button.title = words.copied;
    button.classList.add("rk-done");
  },
  again: (article) => ask($(".rk-question", article).textContent, article),
  edit(article) {
    if (current.editing?.turn === article) leaveEditing();
    else edit(article, $(".rk-question", article).textContent);
  },
  good: (article, button) => rate(article, button, "up", ""),
  bad(article, button) {
    if ($(".rk-comment", article)) return;
    const input = make("input", { type: "text", maxlength: "4000", placeholder: words.comment, "aria-label": words.comment });
    const form = make("form", { class: "rk-comment" }, input, make("button", { type: "submit" }, words.send));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      guarded(article, () => rate(article, button, "down", input.value));
    });
    $(".rk-acts", article).after(form);
    input.focus();
  },
};

async function rate(article, button, rating, comment) {
  await call("/v1/feedback", "POST", { answer_id: article.dataset.answer, rating, comment });
  for (const one of article.querySelectorAll("[data-act=good], [data-act=bad]")) one.setAttribute("aria-pressed", String(one === button));
  $(".rk-comment", article)?.remove();
  $(".rk-thanks", article)?.remove();
  $(".rk-acts", article).after(make("p", { class: "rk-thanks", role: "status" }, words.thanks));
}

// Everything that is clicked or pressed, wherever Gradio puts it

document.addEventListener("click", (event) => {
  const hit = (selector) => event.target.closest?.(selector);
  const place = $("#rk-turns") || document.body;
  const cite = hit(".rk-cite, .rk-source");
  const act = hit("[data-act]");
  const open = hit(".rk-open");
  if (cite) guarded(cite.closest(".rk-answer"), () => openSource(cite));
  else if (act) guarded(act.closest(".rk-turn"), () => onAnswer[act.dataset.act](act.closest(".rk-turn"), act));
  else if (open) guarded(place, () => openConversation(open.dataset.id)).then(closeSide);
  else if (hit("#rk-close, [role=tab]")) closePanel();
  else if (hit("#rk-new")) {
    newConversation();
    closeSide();
  } else if (hit("#rk-send")) send();
  else if (hit("#rk-stop")) stop();
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !event.isComposing) {
    if (isPanelOpen()) closePanel();
    else if (current.editing) $("[data-act=edit]", leaveEditing()).focus();
    else stop();
  }
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.target === field()) {
    event.preventDefault();
    event.stopImmediatePropagation();
    send();
  }
}, true);

function offerLogOut() {
  if (!me.logged_in) return;
  const button = make("button", { type: "button", id: "rk-out" }, say(me.principal ? "log_out_who" : "log_out", me));
  button.addEventListener("click", () => guarded(button.parentElement, async () => {
    await fetch("/logout", { method: "POST" });
    location.assign("/");
  }));
  $("#rk-list").append(button);
}

function measure(name, gap) {
  new ResizeObserver(([{ contentRect: { height } }]) => {
    document.body.style.setProperty(`--rk-${name}`, `${height ? height + gap : 0}px`);
  }).observe($(`#rk-${name}`));
}

// The welcome tells of the collection that is chosen, and of what is in it now.
function drawIfEmpty() {
  if (isWelcome(turns())) drawWelcome(turns(), ask);
}

// On a phone the side bar lies over the chat.
function closeSide() {
  if (matchMedia("(max-width: 768px)").matches) $("#rk-side.open .toggle-button, .sidebar.open .toggle-button")?.click();
}

async function begin() {
  learn(JSON.parse($("#rk-words textarea, #rk-words input").value));
  $("#rk-transcript").append(make("div", { id: "rk-turns", role: "log", "aria-live": "polite" }));
  drawConversations($("#rk-list"), { current: () => current.id, left: newConversation });
  drawPanel();
  field().setAttribute("aria-label", words.question);
  field().title = words.question_keys;
  closeSide();
  $("#rk-new").before(make("h1", { class: "rk-brand-name" }, "ragkit"));
  const answering = make("p", { id: "rk-answering" });
  $("#rk-composer").after(answering);
  drawArrivals($("#rk-composer"), () => loadSettings().catch(() => {}));
  // A long question, files on their way and what answers take their room from the transcript.
  measure("composer", 0);
  measure("answering", 0);
  measure("arriving", 16);
  refreshList();
  drawSettings($("#rk-choices"));
  keepPage();
  for (const event of ["rk-collection", "rk-counted"]) document.addEventListener(event, drawIfEmpty);
  await guarded($("#rk-choices"), loadSettings);
  drawModels(answering);
  // Somebody may have opened a conversation meanwhile.
  if (current.id) current.collection = chosen().collection;
  else newConversation();
  $("#rk-add").hidden = !me.writes;
  offerLogOut();
  document.body.classList.add("rk-ready");
}

// Gradio makes its columns one after the other, those of a tab when it is first opened.
const begun = new Set();
const places = {
  documents: ["#rk-documents", drawDocuments],
  search: ["#rk-retrieval", drawSearch],
};

function drawPlaces() {
  const all = ["#rk-new", "#rk-transcript", "#rk-list", "#rk-choices", "#rk-composer", "#rk-question textarea"].every((place) => $(place));
  if (!all || !$("#rk-words textarea, #rk-words input")?.value) return;
  if (!begun.has("page")) {
    begun.add("page");
    begin();
  }
  for (const [name, [selector, draw]] of Object.entries(places)) {
    if (begun.has(name) || !$(selector)) continue;
    begun.add(name);
    draw($(selector));
  }
  if (begun.size > Object.keys(places).length) waiting.disconnect();
}

const waiting = new MutationObserver(drawPlaces);
waiting.observe(document, { childList: true, subtree: true });
drawPlaces(); // Gradio may have finished before this script was loaded
