// Formulas in Markdown: finds them, keeps Markdown away from what is in them, and shows them.
//
// `\(…\)`, `\[…\]`, `$$…$$`, and environments such as `\begin{align}` are formulas; `$…$` is one where it can
// hardly be anything else, since dollars are prices and variables too. A formula that is not closed, or that
// has a construct which is not known, is shown as it was written.

import { el } from "./dom.js";
import { FREE } from "./tex-tables.js";
import { LONGEST, Unknown, formula, ml } from "./tex.js";
import { FUNCTIONS, LIMITS } from "./tex-symbols.js";

/** The longest formula between single dollars, in characters. */
const LONGEST_BETWEEN_DOLLARS = 1000;

/** The most lines of a formula. */
const LINES = 200;

const FREE_BEGIN = new RegExp(`^\\\\begin\\{(${FREE.join("|")})(\\*?)\\}`);

/** What remains of a line after a formula that has the line to itself. */
const AFTER = /^\s*([.,;:!?)]?)\s*$/;

/**
 * Teaches a parser of Markdown formulas. Its tokens are `math`, `math_block` and, for one that is not closed,
 * `math_open`.
 */
export function mathRules(md) {
  md.inline.ruler.before("escape", "math", inline);
  md.block.ruler.before("fence", "math", block, { alt: ["paragraph", "reference", "blockquote", "list"] });
  const escape = md.utils.escapeHtml;
  // Elements that no other rule makes: a place for what `placeFormulas` puts there.
  md.renderer.rules.math = (tokens, at) => `<code class="tex">${escape(tokens[at].content)}</code>`;
  md.renderer.rules.math_block = (tokens, at) => `<p><code class="tex" title="block">${escape(tokens[at].content)}</code>${escape(tokens[at].info)}</p>\n`;
  md.renderer.rules.math_open = (tokens, at) => `<p><code class="tex" title="open">${escape(tokens[at].content)}</code></p>\n`;
}

/** Where `\` and a character are, from `from` on; -1 if they are not. Escaped backslashes are skipped. */
function findEscaped(text, character, from, to = text.length) {
  for (let at = from; (at = text.indexOf("\\", at)) >= 0 && at + 1 < to; at += 2) {
    if (text[at + 1] === character) return at;
  }
  return -1;
}

/** Whether what stands between single dollars is clearly mathematics. */
export function isClearly(content, before, after) {
  if (!content || /^\s|\s$|`/.test(content) || /[\p{L}\p{N}$\\]/u.test(before) || /[\d$]/.test(after)) return false;
  // `$n$th`, but not `$HOME/$USER`.
  if (/\p{L}/u.test(after) && !/^\p{L}$|\\/u.test(content)) return false;
  if (/\\[A-Za-z{|,;]|[\^_=<>≤≥≈]/.test(content)) return true;
  const words = content.match(/\p{L}{2,}/gu) ?? [];
  return words.every((word) => FUNCTIONS.has(word) || LIMITS.has(word) || (word.length <= 3 && !/\s/.test(content)));
}

function inline(state, silent) {
  const { src, pos, posMax: end } = state;
  const two = src.slice(pos, pos + 2);
  if (two === "\\(" || two === "\\[") return between(state, silent, two, (to) => findEscaped(src, two === "\\(" ? ")" : "]", pos + 2, to));
  if (two === "\\)" || two === "\\]") return literal(state, silent, pos + 2);
  if (src[pos] !== "$") return false;
  if (two === "$$") {
    if (src[pos + 2] === "$") return literal(state, silent, pos + /^\$+/.exec(src.slice(pos, end))[0].length);
    return between(state, silent, two, (to) => src.slice(0, to).indexOf("$$", pos + 2));
  }
  const last = Math.min(end, pos + LONGEST_BETWEEN_DOLLARS);
  let at = pos + 1;
  while (at < last && src[at] !== "$") at += src[at] === "\\" ? 2 : 1;
  if (at >= last || !isClearly(src.slice(pos + 1, at), src[pos - 1] ?? "", src[at + 1] ?? "")) return false;
  return push(state, silent, at + 1, two);
}

/**
 * A formula, or, where it is not closed, text. `find` returns where its closing delimiter is before a place,
 * or -1.
 */
function between(state, silent, open, find) {
  const { src, pos, posMax: end } = state;
  // Where one is not closed, those after it are not either.
  state.unclosed ??= new Set();
  if (state.unclosed.has(open)) return literal(state, silent, pos + 2);
  const to = Math.min(end, pos + LONGEST);
  const close = find(to);
  if (close >= 0 && src.slice(pos + 2, close).trim()) return push(state, silent, close + 2, open);
  if (close >= 0 || to < end) return literal(state, silent, pos + 2);
  // It may be still coming: Markdown leaves the rest as it is, unless that is clearly Markdown.
  const markdown = /`|\*\*|\]\(/.test(src.slice(pos, end));
  if (end === src.length) state.unclosed.add(open);
  return literal(state, silent, markdown ? pos + 2 : end);
}

function push(state, silent, to, open) {
  if (!silent) {
    const token = state.push("math", "", 0);
    token.content = state.src.slice(state.pos, to);
    token.markup = open;
  }
  state.pos = to;
  return true;
}

function literal(state, silent, to) {
  if (!silent) state.pending += state.src.slice(state.pos, to);
  state.pos = to;
  return true;
}

function block(state, line, endLine, silent) {
  if (state.sCount[line] - state.blkIndent >= 4) return false;
  const textOf = (at) => state.src.slice(state.bMarks[at] + state.tShift[at], state.eMarks[at]);
  const first = textOf(line);
  const free = FREE_BEGIN.exec(first);
  const open = free?.[0] ?? ["\\[", "$$"].find((open) => first.startsWith(open) && first[2] !== "$");
  if (!open) return false;
  const close = free ? `\\end{${free[1]}${free[2]}}` : { "\\[": "\\]", $$: "$$" }[open];
  const closeIn = (text) => (close === "\\]" ? findEscaped(text, "]", 0) : text.indexOf(close));
  // A formula that begins on a line of its own may have empty lines.
  const alone = Boolean(free) || first.slice(open.length).trim() === "";
  const lines = [];
  let [at, size, blank] = [line, 0, null];
  for (; at < endLine && at - line < LINES && size <= LONGEST; at += 1) {
    const text = textOf(at);
    if (at > line && text.trim() === "") {
      if (!alone) break;
      blank ??= at;
    } else if (at > line && state.sCount[at] < state.blkIndent) {
      break;
    }
    const searched = at === line ? text.slice(open.length) : text;
    const found = closeIn(searched);
    if (found >= 0) {
      const end = text.length - searched.length + found + close.length;
      const after = AFTER.exec(text.slice(end));
      lines.push(text.slice(0, end));
      const content = lines.join("\n");
      // With text beside it, it is a part of a paragraph.
      if (!after || (!free && content.slice(2, -2).trim() === "")) return false;
      if (silent) return true;
      state.line = at + 1;
      const token = state.push("math_block", "", 0);
      return Boolean(Object.assign(token, { content, markup: open, info: after[1], map: [line, at + 1], block: true }));
    }
    lines.push(text);
    size += text.length + 1;
  }
  if (silent) return false;
  state.line = blank ?? at;
  const content = lines.slice(0, state.line - line).join("\n");
  const token = state.push("math_open", "", 0);
  return Boolean(Object.assign(token, { content, markup: open, map: [line, state.line], block: true }));
}

/** A formula without its delimiters, and whether it is displayed. */
function inside(source) {
  if (source.startsWith("\\begin")) return [source, true];
  const width = source.startsWith("$") && !source.startsWith("$$") ? 1 : 2;
  return [source.slice(width, -width), !source.startsWith("\\(") && width === 2];
}

/** A formula as an element. */
export function formulaElement(source) {
  const [tex, display] = inside(source);
  const text = () => el("span", { class: "tex-source", dir: "ltr" }, source);
  let shown;
  try {
    shown = formula(tex, display);
  } catch (error) {
    if (!(error instanceof Unknown)) console.error(error);
    shown = [text()];
  }
  if (!display) return el("span", { class: "formula", dir: "ltr" }, ...shown);
  return el("span", { class: "formula display", dir: "ltr", tabindex: 0, role: "group", "aria-label": "Formula" }, ...shown);
}

/** Puts formulas where the rules left a place for them. */
export function placeFormulas(fragment) {
  for (const place of fragment.querySelectorAll("code.tex")) {
    const open = place.title === "open";
    if (open) {
      place.replaceWith(el("span", { class: "tex-source", dir: "ltr" }, place.textContent));
      continue;
    }
    const element = formulaElement(place.textContent);
    place.replaceWith(element);
    // A full stop after a displayed formula stands beside it.
    const after = element.nextSibling;
    const mark = element.matches(".display") && after?.nodeType === Node.TEXT_NODE ? /^[.,;:!?)]+/.exec(after.data) : null;
    if (!mark) continue;
    after.data = after.data.slice(mark[0].length);
    const math = element.querySelector("math");
    if (math) math.append(ml("mtext", {}, mark[0]));
    else element.append(mark[0]);
  }
}
