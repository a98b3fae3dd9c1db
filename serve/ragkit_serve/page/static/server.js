// What the page asks of the server, and what it says of it when that fails, in the reader's language.

export let words = {};

export function learn(told) {
  words = told;
}

export function say(key, values = {}) {
  return Object.entries(values).reduce((text, [name, value]) => text.replace(`{${name}}`, value), words[key]);
}

const LONGEST_WAIT_S = 60;

// Do work; wait and do it again where the server says when: a limit of the key, or a restart.
export async function patiently(work, waiting = () => {}) {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!error.retryAfter) throw error;
      waiting(error.message);
      await new Promise((resolve) => { setTimeout(resolve, 1000 * Math.min(error.retryAfter, LONGEST_WAIT_S)); });
    }
  }
}

export async function call(path, method = "GET", body = undefined, signal = undefined) {
  const json = body !== undefined && !(body instanceof FormData);
  const answer = await fetch(path, {
    method,
    signal,
    headers: json ? { "content-type": "application/json" } : {}, // a form's has its boundary in it
    body: json ? JSON.stringify(body) : body,
  }).catch(lost);
  if (answer.ok) return answer;
  throw await refusal(answer);
}

async function refusal(answer) {
  if (answer.status === 401) location.reload(); // the log-in page
  const { error } = await answer.json().catch(() => ({})); // a proxy may say it in HTML
  const usual = { 413: words.error_too_large }[answer.status] ?? (answer.status < 500 ? `HTTP ${answer.status}` : words.no_server);
  // The server lists all formats that it reads: too much for a line.
  const failed = answer.status === 415 ? new Error(words.error_format) : failure(error?.message ? error : { message: usual });
  const wait = Number(answer.headers.get("retry-after"));
  return Object.assign(failed, { status: answer.status }, wait > 0 ? { retryAfter: wait } : {});
}

function lost(error) {
  throw error.name === "AbortError" ? error : new Error(words.no_server);
}

// What may happen to anybody is told in his language, all else as the server has it.
export const failure = ({ code, message }) => Object.assign(new Error(words[`error_${code}`] || message), { code });

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
