// The words of a query, marked in a passage. This is for the eye alone: what is found is decided by
// the server, whose analyser knows more forms of words than this does.

import { make } from "./dom.js";

const ENDINGS = /(?:ies|es|s|ed|ing|ly)$/;
const MIN_STEM = 3;
// Words that are in nearly every question, and would have everything marked.
const COMMON = new Set(("a about all an and any are as at be by can could did do does for from had has have how i if in into is it its many may me much my"
  + " of on or our shall should so that the their them there they this to was we were what when where which who why will with would you your"
  + " 什么 怎么 怎样 如何 多少 几个 哪些 哪个 哪里 可以 是否 有没有 我们 他们 这个 那个 以及 为什么").split(" "));

// The passage's text as strings and marks.
export function markWords(text, query) {
  const pattern = patternOf(query);
  if (!pattern) return [text];
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    parts.push(text.slice(at, match.index), make("mark", {}, match[0]));
    at = match.index + match[0].length;
  }
  return [...parts, text.slice(at)];
}

function patternOf(query) {
  const escaped = (word) => word.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");
  const patterns = wordsOf(query).map((word) => {
    if (/\p{Script=Han}/u.test(word)) return escaped(word);
    const stem = word.replace(ENDINGS, "");
    const rest = stem.length >= MIN_STEM ? `${escaped(stem)}\\p{L}{0,4}` : escaped(word);
    return `(?<![\\p{L}\\p{N}])${rest}(?![\\p{L}\\p{N}])`;
  });
  return patterns.length ? new RegExp(patterns.join("|"), "giu") : null;
}

// The words of a query, the longest first; single Chinese characters mean too little.
function wordsOf(query) {
  const segments = [...new Intl.Segmenter("zh", { granularity: "word" }).segment(query.slice(0, 1000))];
  const kept = segments.filter(({ isWordLike }) => isWordLike).map(({ segment }) => segment.toLowerCase())
    .filter((word) => !COMMON.has(word) && (word.length > 1 || /\p{N}/u.test(word)));
  return [...new Set(kept)].sort((one, other) => other.length - one.length).slice(0, 50);
}
