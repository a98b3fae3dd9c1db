// The chat page's own script: questions, conversations and sources. Gradio's page has the controls;
// this reads the settings from a hidden field of it and fills its empty columns.
// HTML comes rendered and cleaned from the server alone; everything else is set as text.

const $ = (selector, root = document) => root.querySelector(selector);
const current = { id: null, collection: null, asking: null };
let words = {};

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function say(key, values = {}) {
  return Object.entries(values).reduce((text, [name, value]) => text.replace(`{${name}}`, value), words[key]);
}

const hidden = (id) => JSON.parse($(`#${id} textarea, #${id} input`)?.value || "{}");
const field = () => $("#rk-question textarea");
const turns = () => $("#rk-turns");

function type(text) {
  field().value = text;
  field().dispatchEvent(new Event("input", { bubbles: true }));
}

async function call(path, method = "GET", body = undefined, signal = undefined) {
  let answer;
  try {
    answer = await fetch(path, {
      method,
      signal,
      headers: body === undefined ? {} : { "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error(words.no_server);
  }
  if (answer.ok) return answer;
  if (answer.status === 401) location.reload(); // the log-in page
  const told = await answer.json().catch(() => ({}));
  throw new Error(told.error?.message || `HTTP ${answer.status}`);
}

// Conversations

async function refreshList() {
  let listed;
  try {
    listed = (await (await call("/v1/conversations?limit=100")).json()).data;
  } catch (error) {
    $("#rk-conversations").replaceChildren(make("p", { class: "rk-empty" }, error.message));
    return;
  }
  const items = listed.map((one) => {
    const open = make("button", { type: "button", class: "rk-open", "data-id": one.id, title: one.title }, one.title);
    if (one.id === current.id) open.setAttribute("aria-current", "true");
    return make("li", {}, open, menu(one));
  });
  const empty = make("p", { class: "rk-empty" }, words.no_conversations);
  $("#rk-conversations").replaceChildren(items.length ? make("ul", {}, ...items) : empty);
}

function menu(one) {
  const act = (name) => make("button", { type: "button", "data-do": name, "data-id": one.id, "data-title": one.title }, words[name]);
  const save = (format) =>
    make("a", { href: `/v1/conversations/${one.id}/export?format=${format}`, download: "" }, words[`export_${format}`]);
  return make("details", { class: "rk-menu" }, make("summary", { "aria-label": words.more, title: words.more }, "⋯"),
    make("div", {}, act("rename"), save("markdown"), save("json"), act("delete")));
}

async function openConversation(id) {
  stop();
  const told = await (await call(`/ui/conversations/${id}`)).json();
  Object.assign(current, { id, collection: hidden("rk-options").collection });
  closePanel();
  turns().innerHTML = told.html;
  turns().lastElementChild?.scrollIntoView({ block: "start" });
  $("#rk-tabs button[role=tab]")?.click();
  await refreshList();
}

function newConversation() {
  stop();
  Object.assign(current, { id: null, collection: null });
  closePanel();
  turns().replaceChildren(make("div", { class: "rk-welcome" }, make("h1", {}, words.welcome), make("p", {}, words.welcome_more)));
  $("#rk-tabs button[role=tab]")?.click();
  field().focus();
  for (const one of document.querySelectorAll(".rk-open[aria-current]")) one.removeAttribute("aria-current");
}

const onConversation = {
  async rename({ id, title }) {
    const wanted = prompt(words.rename_to, title);
    if (wanted?.trim()) await call(`/v1/conversations/${id}`, "PATCH", { title: wanted.trim() });
  },
  async delete({ id }) {
    if (!confirm(words.delete_sure)) return;
    await call(`/v1/conversations/${id}`, "DELETE");
    if (id === current.id) newConversation();
  },
};

// Questions

async function ask(question) {
  if (!question.trim() || current.asking) return;
  const options = hidden("rk-options");
  // A conversation is about one collection: with another a new one begins.
  if (current.id && current.collection !== options.collection) newConversation();
  $(".rk-welcome")?.remove();
  const text = make("div", { class: "rk-text" }, make("p", { class: "rk-working" }, words.working));
  const answer = make("div", { class: "rk-answer" }, text);
  const article = make("article", { class: "rk-turn" }, make("div", { class: "rk-question" }, question), answer);
  turns().append(article);
  article.scrollIntoView({ block: "start" });
  type("");
  const control = new AbortController();
  current.asking = control;
  document.body.classList.add("rk-busy");
  let kept = false;
  try {
    const asked = { ...options, question, conversation: current.id };
    const events = eventsOf(await call("/ui/ask", "POST", asked, control.signal));
    for await (const event of events) {
      if (event.error) throw new Error(event.error.message);
      if (event.conversation) {
        kept = true;
        article.outerHTML = event.html;
        Object.assign(current, { id: event.conversation, collection: options.collection });
        idle(control); // what is left is only that the server sums the past up
        refreshList();
      } else {
        show(answer, event);
      }
    }
    if (!kept) throw new Error(words.incomplete);
  } catch (error) {
    if (kept) return;
    failed(answer, error.name === "AbortError" ? words.stopped : say("failed", { reason: error.message }));
    if (!field().value) type(question);
  } finally {
    idle(control);
  }
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
  if ($(".rk-text", answer).textContent) answer.classList.add("rk-incomplete");
  answer.append(make("p", { class: "rk-failed", role: "alert" }, message));
}

async function* eventsOf(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (waiting + value).split("\n\n");
    waiting = events.pop();
    for (const event of events) if (event.startsWith("data: ")) yield JSON.parse(event.slice(6));
  }
}

const stop = () => current.asking?.abort();

// What can be done with an answer

const onAnswer = {
  async copy(article, button) {
    await navigator.clipboard.writeText($(".rk-text", article).innerText);
    button.title = words.copied;
    button.classList.add("rk-done");
  },
  again: (article) => ask($(".rk-question", article).textContent),
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

async function guarded(place, work) {
  try {
    await work();
  } catch (error) {
    $(".rk-failed", place)?.remove();
    place.append(make("p", { class: "rk-failed", role: "alert" }, say("failed", { reason: error.message })));
  }
}

// The source of a citation

let opener = null;

async function openSource(button) {
  const article = button.closest(".rk-turn");
  const told = await (await call(`/ui/sources/${article.dataset.answer}/${button.dataset.n}`)).json();
  opener = button;
  $("#rk-source").innerHTML = told.html;
  $("#rk-panel").hidden = false;
  document.body.classList.add("rk-reading");
  $("#rk-source .rk-span")?.scrollIntoView({ block: "center" });
  $("#rk-close").focus();
}

function closePanel() {
  if ($("#rk-panel").hidden) return;
  $("#rk-panel").hidden = true;
  document.body.classList.remove("rk-reading");
  opener?.focus();
}

// Everything that is clicked or pressed, wherever Gradio puts it

document.addEventListener("click", (event) => {
  const hit = (selector) => event.target.closest?.(selector);
  const place = $("#rk-turns") || document.body;
  const cite = hit(".rk-cite, .rk-source");
  const act = hit("[data-act]");
  const chosen = hit("[data-do]");
  const open = hit(".rk-open");
  if (cite) guarded(cite.closest(".rk-answer"), () => openSource(cite));
  else if (act) guarded(act.closest(".rk-turn"), () => onAnswer[act.dataset.act](act.closest(".rk-turn"), act));
  else if (chosen) guarded(place, () => onConversation[chosen.dataset.do](chosen.dataset).then(refreshList));
  else if (open) guarded(place, () => openConversation(open.dataset.id)).then(closeSide);
  else if (hit("#rk-close")) closePanel();
  else if (hit("#rk-new")) {
    newConversation();
    closeSide();
  } else if (hit("#rk-send")) ask(field().value);
  else if (hit("#rk-stop")) stop();
  for (const one of document.querySelectorAll(".rk-menu[open]")) if (!one.contains(event.target) || hit(".rk-menu div")) one.open = false;
});

document.addEventListener("click", (event) => {
  if (event.target.closest?.("#rk-delete") && !confirm(`${words.delete_document}?`)) event.stopImmediatePropagation();
}, true);

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    if (!$("#rk-panel").hidden) closePanel();
    else stop();
  }
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.target === field()) {
    event.preventDefault();
    event.stopImmediatePropagation();
    ask(field().value);
  }
}, true);

async function offerLogOut() {
  const me = await (await call("/ui/me")).json();
  if (!me.logged_in) return;
  const button = make("button", { type: "button", id: "rk-out" }, say("log_out", me));
  button.addEventListener("click", () => guarded(button.parentElement, async () => {
    await fetch("/logout", { method: "POST" });
    location.assign("/");
  }));
  $("#rk-list").append(button);
}

// On a phone the side bar lies over the chat.
function closeSide() {
  if (matchMedia("(max-width: 768px)").matches) $("#rk-side.open .toggle-button, .sidebar.open .toggle-button")?.click();
}

function begin() {
  words = hidden("rk-words");
  $("#rk-transcript").append(make("div", { id: "rk-turns", role: "log", "aria-live": "polite" }));
  $("#rk-list").append(make("nav", { id: "rk-conversations", "aria-label": words.conversations }));
  document.body.append(
    make("aside", { id: "rk-panel", "aria-label": words.source, hidden: "" },
      make("button", { type: "button", id: "rk-close", "aria-label": words.close, title: words.close }, "✕"),
      make("div", { id: "rk-source" })),
  );
  field().setAttribute("aria-label", words.question);
  field().title = words.question_keys;
  closeSide();
  newConversation();
  refreshList();
  guarded($("#rk-list"), offerLogOut);
  document.body.classList.add("rk-ready");
}

const waiting = new MutationObserver(() => {
  if (!field() || !$("#rk-transcript") || !$("#rk-list") || !$("#rk-words textarea, #rk-words input")?.value) return;
  waiting.disconnect();
  begin();
});
waiting.observe(document, { childList: true, subtree: true });
