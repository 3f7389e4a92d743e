// Markdown as elements. Text comes from a model or from an imported file, so none of it is trusted: HTML is shown as text,
// nothing is loaded from anywhere, and what is left is sanitised.

import "./vendor/markdown-it.umd.min.js";
import "./vendor/purify.min.js";
import { copy, el, icon } from "./dom.js";
import { mathRules, placeFormulas } from "./math.js";
import { Painter } from "./syntax.js";
import { LONGEST } from "./tex.js";

const { markdownit, DOMPurify } = globalThis;

const LINK = /^(?:https?|mailto):/i;

const md = markdownit({ html: false, linkify: true, typographer: false });
md.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
md.validateLink = (url) => LINK.test(url.trim());
mathRules(md);

// Images would tell their server that this was read: they become links.
md.renderer.rules.image = (tokens, at, options, env, self) => {
  const alt = md.utils.escapeHtml(self.renderInlineAsText(tokens[at].children ?? [], options, env) || "image");
  const src = tokens[at].attrGet("src") ?? "";
  return LINK.test(src) ? `<a href="${md.utils.escapeHtml(src)}">${alt}</a>` : alt;
};
const fence = (tokens, at) => {
  const language = md.utils.escapeHtml(tokens[at].info.trim().split(/\s+/)[0]);
  return `<pre><code title="${language}">${md.utils.escapeHtml(tokens[at].content)}</code></pre>`;
};
md.renderer.rules.fence = fence;
md.renderer.rules.code_block = fence;
// The page has the first two levels of headings, and a level is never skipped. How large a heading is shown follows its mark.
md.renderer.rules.heading_open = (tokens, at, _options, env) => {
  const rank = Number(tokens[at].markup.startsWith("#") ? tokens[at].markup.length : tokens[at].tag[1]);
  env.level = Math.min(rank + 2, env.level + 1, 6);
  return `<h${env.level} class="rank-${rank}">`;
};
md.renderer.rules.heading_close = (_tokens, _at, _options, env) => `</h${env.level}>\n`;
// Tables are aligned by a style, which the content security policy forbids.
for (const rule of ["th_open", "td_open"]) {
  md.renderer.rules[rule] = (tokens, at, options, _env, self) => {
    const side = /text-align:(\w+)/.exec(tokens[at].attrGet("style") ?? "")?.[1];
    tokens[at].attrs = side ? [["align", side]] : null;
    return self.renderToken(tokens, at, options);
  };
}

const ALLOWED = {
  ALLOWED_TAGS: [
    ..."p br hr h3 h4 h5 h6 strong em s code pre blockquote ul ol li a".split(" "),
    ..."table thead tbody tr th td".split(" "),
  ],
  ALLOWED_ATTR: ["href", "title", "class", "start", "align"],
  ALLOWED_URI_REGEXP: LINK,
  // The expression is for addresses; these are not.
  ADD_URI_SAFE_ATTR: ["start", "align"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

/** What takes the direction of its text, with all that is in it. */
const DIRECTED = "p, h3, h4, h5, h6, ul, ol, blockquote, table";

/** A box of a task in a list, at the beginning of its text. */
const TASK = /^\[([ xX])\]\s/;

function toFragment(tokens, env) {
  const fragment = DOMPurify.sanitize(md.renderer.render(tokens, md.options, env), ALLOWED);
  for (const block of fragment.children) if (block.matches(DIRECTED)) block.dir = "auto";
  for (const item of fragment.querySelectorAll("li")) markTask(item);
  placeFormulas(fragment);
  // Code does not say which direction its text has.
  for (const code of fragment.querySelectorAll(":not(pre) > code")) code.dir = "ltr";
  for (const link of fragment.querySelectorAll("a[href]")) {
    link.target = "_blank";
    link.rel = "noopener noreferrer nofollow";
  }
  for (const pre of fragment.querySelectorAll("pre")) {
    const code = pre.querySelector("code");
    const language = code.title;
    code.removeAttribute("title");
    pre.replaceWith(codeBlock(code.textContent, language));
  }
  for (const table of fragment.querySelectorAll("table")) {
    const box = el("div", { class: "table", dir: table.dir || null, tabindex: 0, role: "group", "aria-label": "Table" });
    table.removeAttribute("dir");
    table.replaceWith(box);
    box.append(table);
  }
  return fragment;
}

/** Makes an item of a list a task if it begins with a box. */
function markTask(item) {
  const first = [...item.childNodes].find((node) => node.textContent.trim());
  const text = first?.localName === "p" ? first.firstChild : first;
  const box = text?.nodeType === Node.TEXT_NODE ? TASK.exec(text.data) : null;
  if (!box) return;
  const done = box[1] !== " ";
  text.data = text.data.slice(box[0].length);
  text.before(el("span", { class: done ? "box done" : "box", role: "img", "aria-label": done ? "Done:" : "To do:" }));
  item.classList.add("task");
}

/** What colours the code of each block. */
const painters = new WeakMap();

/**
 * A block of code with its language and a button that copies it. `syntax` is the language it is coloured as.
 */
export function codeBlock(text, language, syntax = language) {
  const code = el("code");
  painters.set(code, new Painter(code, syntax));
  painters.get(code).show(text);
  const label = el("span", {}, "Copy");
  const button = el("button", { type: "button", class: "copy" }, icon("copy"), label);
  button.addEventListener("click", async () => {
    label.textContent = (await copy(code.textContent)) ? "Copied" : "Could not copy";
    setTimeout(() => (label.textContent = "Copy"), 2000);
  });
  const name = language ? `Code, ${language}` : "Code";
  return el(
    "div",
    { class: "code", dir: "ltr", data: { language } },
    el("div", { class: "code-head" }, el("span", {}, language), button),
    el("pre", { tabindex: 0, role: "group", "aria-label": name }, code),
  );
}

/** The top-level blocks of a text: `{tokens, line, source}`, where `line` is the one a block begins at. */
function blocksOf(text, env) {
  const blocks = [];
  for (const token of md.parse(text, env)) {
    if (token.level === 0 && token.nesting >= 0) blocks.push({ tokens: [], line: token.map?.[0] ?? 0 });
    blocks.at(-1)?.tokens.push(token);
  }
  const lines = text.split("\n");
  blocks.forEach((block, i) => (block.source = lines.slice(block.line, blocks[i + 1]?.line).join("\n").trimEnd()));
  return blocks;
}

/** Where a line begins. */
function offsetOf(text, line) {
  let at = 0;
  for (let n = 0; n < line; n += 1) at = text.indexOf("\n", at) + 1;
  return at;
}

/** Markdown that grows: while it does, only its end is rendered again. */
export class MarkdownView {
  #root;
  #text = "";
  /** How much of the text is in blocks that can no longer change, and the level of the last heading in them. */
  #settled = 0;
  #level = 2;
  /** The blocks that can: `{source, nodes, level}`. */
  #live = [];
  #env = {};
  #finished = null;

  constructor(root) {
    this.#root = root;
  }

  /** Shows `written`, which continues the text before. */
  update(written) {
    const text = written.replace(/\r\n?/g, "\n");
    if (text === this.#text) return;
    if (!text.startsWith(this.#text)) this.#reset();
    this.#text = text;
    const rest = text.slice(this.#settled);
    const blocks = blocksOf(rest, this.#env);
    let same = 0;
    while (same < blocks.length && this.#keeps(this.#live[same], blocks[same])) same += 1;
    for (const { nodes } of this.#live.splice(same)) nodes.forEach((node) => node.remove());
    for (const block of blocks.slice(same)) this.#append(block);
    // A line that is not complete can still join the block before it, as `2` of a list does when it becomes `2.`
    const whole = rest.split("\n").length - 1;
    let last = Math.max(0, blocks.findLastIndex((block) => block.line < whole));
    // A formula that is open may still be closed by what comes.
    const open = blocks.findIndex(({ tokens, line }) => tokens[0].type === "math_open" && rest.length - offsetOf(rest, line) <= 2 * LONGEST);
    if (open >= 0) last = Math.min(last, open);
    if (last > 0) {
      this.#level = this.#live[last - 1].level;
      this.#live.splice(0, last);
      this.#settled += offsetOf(rest, blocks[last].line);
    }
  }

  /** Shows a text that is complete: links whose targets came after them now work. */
  finish(text) {
    if (text === this.#finished) return;
    this.#finished = text;
    if (this.#env.references) this.#reset();
    this.update(text);
    if (!this.#env.references) return;
    // Rendered once more, now that all targets are known.
    const { references } = this.#env;
    this.#reset();
    this.#env = { references };
    this.update(text);
  }

  #append({ tokens, source }) {
    const level = this.#live.at(-1)?.level ?? this.#level;
    const env = { ...this.#env, level };
    const fragment = toFragment(tokens, env);
    this.#live.push({ source, nodes: [...fragment.childNodes], level: env.level });
    this.#root.append(fragment);
  }

  /** Returns whether what is shown of a block can stay, in which case it is brought up to date. */
  #keeps(shown, { tokens: [token], source }) {
    if (shown?.source === source) return true;
    // Code that grows keeps its element, and with it the selection and the focus.
    const box = shown?.nodes.find((node) => node.classList?.contains("code"));
    if (!box || token.type !== "fence" || box.dataset.language !== token.info.trim().split(/\s+/)[0]) return false;
    const code = box.querySelector("code");
    if (!token.content.startsWith(code.textContent)) return false;
    painters.get(code).show(token.content);
    shown.source = source;
    return true;
  }

  #reset() {
    this.#root.replaceChildren();
    this.#text = "";
    this.#settled = 0;
    this.#level = 2;
    this.#live = [];
    this.#env = {};
  }
}
