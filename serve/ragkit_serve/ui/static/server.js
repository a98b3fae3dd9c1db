// What the page asks of the server, and what it says of it when that fails, in the reader's language.

export let words = {};

export function learn(told) {
  words = told;
}

export function say(key, values = {}) {
  return Object.entries(values).reduce((text, [name, value]) => text.replace(`{${name}}`, value), words[key]);
}

export async function call(path, method = "GET", body = undefined, signal = undefined) {
  const answer = await fetch(path, {
    method,
    signal,
    headers: body === undefined ? {} : { "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  }).catch(lost);
  if (answer.ok) return answer;
  throw await refusal(answer);
}

async function refusal(answer) {
  if (answer.status === 401) location.reload(); // the log-in page
  const { error } = await answer.json().catch(() => ({})); // a proxy may say it in HTML
  return failure(error?.message ? error : { message: answer.status < 500 ? `HTTP ${answer.status}` : words.no_server });
}

function lost(error) {
  throw error.name === "AbortError" ? error : new Error(words.no_server);
}

// What may happen to anybody is told in his language, all else as the server has it.
export const failure = ({ code, message }) => new Error(words[`error_${code}`] || message);

// Gradio says nothing of its own requests that fail: an empty list would look like an empty collection.
// And after one that never arrived it would wait for a reload; so it is told that it was refused.
const fetched = window.fetch.bind(window);
window.fetch = async (asked, options) => {
  if (!/\/gradio_api\/(run\/predict|upload)(\?|$)/.test(asked.url ?? asked)) return fetched(asked, options);
  const answer = await fetched(asked, options).catch((error) => {
    if (error.name === "AbortError") throw error;
    return Response.json({ error: {} }, { status: 503 });
  });
  notice(answer.ok ? null : await refusal(answer.clone()));
  return answer;
};

function notice(error) {
  const place = document.querySelector("#rk-notice");
  const said = error ? say("failed", { reason: error.message }) : "";
  if (place && place.textContent !== said) place.textContent = said;
}

// The events of an answer, as they come.
export async function* eventsOf(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { done, value } = await reader.read().catch(lost);
    if (done) return;
    const events = (waiting + value).split("\n\n");
    waiting = events.pop();
    for (const event of events) if (event.startsWith("data: ")) yield JSON.parse(event.slice(6));
  }
}
