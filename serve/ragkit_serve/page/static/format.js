// Sizes, dates and languages as people read them, in the page's language.

import { say } from "./server.js";

const UNITS = ["byte", "kilobyte", "megabyte", "gigabyte"];
const STEP = 1024; // as file managers count

// The reader's own region, such as en-GB, where it has the page's language.
function locale() {
  const language = document.documentElement.lang.split("-")[0] || "en";
  return navigator.languages.find((one) => one.split("-")[0] === language) ?? language;
}

export function sizeText(bytes) {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log(Math.max(1, bytes)) / Math.log(STEP)));
  const value = bytes / STEP ** power;
  return new Intl.NumberFormat(locale(), {
    style: "unit", unit: UNITS[power], unitDisplay: power ? "short" : "long", maximumFractionDigits: value < 10 && power ? 1 : 0,
  }).format(value);
}

// The size of a listed file, and whether it is its text's.
export function fileSize({ size_bytes: bytes, is_text_size: isText }) {
  if (bytes === null) return "–";
  return isText ? say("size_of_text", { size: sizeText(bytes) }) : sizeText(bytes);
}

export const dayText = (date) => new Date(date).toLocaleDateString(locale(), { dateStyle: "medium" });

export const timeText = (date) => new Date(date).toLocaleString(locale(), { dateStyle: "long", timeStyle: "short" });

export function languageText(code) {
  try {
    return new Intl.DisplayNames(locale(), { type: "language" }).of(code);
  } catch {
    return code; // no language's code
  }
}
