// Colours code: comments, strings, numbers, keywords and names with a role, line by line, so that code that
// grows changes only at its end. It knows enough of each language for that and no more.

import { LANGUAGES } from "./languages.js";

/** Lines longer than this are not coloured, nor is what follows in code longer than that. In characters. */
const LONGEST_LINE = 2000;
const LONGEST = 200_000;

const WORD = /[\p{L}_$][\p{L}\p{N}_$]*/uy;
const NUMBER = /(?:0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)\w*/y;
const PLAIN = /\s+|[^]/uy;

/** Takes what a pattern matches at a place. */
function take(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? "";
}

/**
 * The pieces of one line, `[kind, text]`, and what it leaves open: the end of a comment or a string, or
 * nothing.
 */
export function pieces(line, language, open) {
  const found = [];
  const add = (kind, text) => {
    const last = found.at(-1);
    if (last?.[0] === kind) last[1] += text;
    else if (text) found.push([kind, text]);
  };
  let at = 0;
  let within = open;
  if (language.lines) {
    const kind = language.lines.find(([, pattern]) => pattern.test(line))?.[0] ?? "";
    return { found: line ? [[kind, line]] : [], open: null };
  }
  while (at < line.length) {
    if (within) {
      const end = endOf(line, at, within);
      add(within.kind, line.slice(at, end.at));
      at = end.at;
      if (end.closed) within = null;
      continue;
    }
    const special = language.patterns.find(([, pattern]) => take(pattern, line, at));
    if (special) {
      const text = take(special[1], line, at);
      add(special[0], text);
      at += text.length;
      continue;
    }
    const begun = language.open.find(({ begin }) => take(begin, line, at));
    if (begun) {
      const begin = take(begun.begin, line, at);
      add(begun.kind, begin);
      at += begin.length;
      within = { ...begun, end: begun.end ?? begin.replace(/^[^"'`]*/, "") };
      if (within.end === "\n") {
        add(begun.kind, line.slice(at));
        return { found, open: null };
      }
      continue;
    }
    const word = take(WORD, line, at);
    const number = word ? "" : take(NUMBER, line, at);
    if (word) add(language.isKeyword(word) ? "k" : "", word);
    else if (number) add("n", number);
    const rest = word || number || take(PLAIN, line, at);
    if (!word && !number) add("", rest);
    at += rest.length;
  }
  return { found, open: within?.multi ? within : null };
}

/** Where a comment or string that is open ends in a line, if it does. */
function endOf(line, from, { end, escapes }) {
  for (let at = from; at < line.length; at += 1) {
    if (escapes && line[at] === "\\") at += 1;
    else if (line.startsWith(end, at)) return { at: at + end.length, closed: true };
  }
  return { at: line.length, closed: false };
}

/** Shows code in an element, and colours it if its language is known. */
export class Painter {
  #code;
  #language;
  #text = "";
  /** Where the last line begins, how many nodes come before it, and what is open there. */
  #line = 0;
  #kept = 0;
  #open = null;

  constructor(code, name) {
    this.#code = code;
    this.#language = LANGUAGES.get(name.toLowerCase()) ?? null;
  }

  /** Shows a text. Where it continues the one before, complete lines stay as they are. */
  show(text) {
    if (!text.startsWith(this.#text)) {
      this.#code.replaceChildren();
      [this.#text, this.#line, this.#kept, this.#open] = ["", 0, 0, null];
    }
    if (!this.#language) {
      this.#code.append(text.slice(this.#text.length));
      this.#code.normalize();
      this.#text = text;
      return;
    }
    this.#text = text;
    while (this.#code.childNodes.length > this.#kept) this.#code.lastChild.remove();
    for (let end; (end = text.indexOf("\n", this.#line)) >= 0; this.#line = end + 1) {
      this.#open = this.#add(text.slice(this.#line, end), "\n");
      this.#kept = this.#code.childNodes.length;
    }
    this.#add(text.slice(this.#line), "");
  }

  /** Adds a line. Returns what it leaves open. */
  #add(line, end) {
    if (line.length > LONGEST_LINE || this.#line > LONGEST) {
      this.#code.append(line + end);
      return null;
    }
    const { found, open } = pieces(line, this.#language, this.#open);
    for (const [kind, text] of found) {
      if (!kind) {
        this.#code.append(text);
        continue;
      }
      const span = document.createElement("span");
      span.className = `code-${kind}`;
      span.textContent = text;
      this.#code.append(span);
    }
    if (end) this.#code.append(end);
    return open;
  }
}
