// Markdown as elements. Text comes from a model or from an imported file, so none of it is trusted: HTML is shown as text,
// nothing is loaded from anywhere, and what is left is sanitised.

import "./vendor/markdown-it.umd.min.js";
import "./vendor/purify.min.js";
import { copy, el, icon } from "./dom.js";

const { markdownit, DOMPurify } = globalThis;

const LINK = /^(?:https?|mailto):/i;

const md = markdownit({ html: false, linkify: true, typographer: false });
md.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
md.validateLink = (url) => LINK.test(url.trim());

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
// The page has the first two levels of headings.
for (const rule of ["heading_open", "heading_close"]) {
  md.renderer.rules[rule] = (tokens, at, options, _env, self) => {
    tokens[at].tag = `h${Math.min(6, Number(tokens[at].tag[1]) + 2)}`;
    return self.renderToken(tokens, at, options);
  };
}
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
  ALLOWED_ATTR: ["href", "title", "start", "align"],
  ALLOWED_URI_REGEXP: LINK,
  // The expression is for addresses; these are not.
  ADD_URI_SAFE_ATTR: ["start", "align"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

function toFragment(tokens, env) {
  const fragment = DOMPurify.sanitize(md.renderer.render(tokens, md.options, env), ALLOWED);
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
    const box = el("div", { class: "table", tabindex: 0, role: "group", "aria-label": "Table" });
    table.replaceWith(box);
    box.append(table);
  }
  return fragment;
}

/** A block of code with its language and a button that copies it. */
export function codeBlock(text, language) {
  const code = el("code", {}, text);
  const label = el("span", {}, "Copy");
  const button = el("button", { type: "button", class: "copy" }, icon("copy"), label);
  button.addEventListener("click", async () => {
    label.textContent = (await copy(code.textContent)) ? "Copied" : "Could not copy";
    setTimeout(() => (label.textContent = "Copy"), 2000);
  });
  const name = language ? `Code, ${language}` : "Code";
  return el(
    "div",
    { class: "code", data: { language } },
    el("div", { class: "code-head" }, el("span", {}, language), button),
    el("pre", { tabindex: 0, role: "group", "aria-label": name }, code),
  );
}

/** The top-level blocks of tokens: `{tokens, line}`, where `line` is the one a block begins at. */
function blocksOf(tokens) {
  const blocks = [];
  for (const token of tokens) {
    if (token.level === 0 && token.nesting >= 0) blocks.push({ tokens: [], line: token.map?.[0] ?? 0 });
    blocks.at(-1)?.tokens.push(token);
  }
  return blocks;
}

/** Where a line begins. */
function offsetOf(text, line) {
  let at = 0;
  for (let n = 0; n < line; n += 1) {
    const end = text.indexOf("\n", at);
    if (end < 0) return text.length;
    at = end + 1;
  }
  return at;
}

/** Markdown that grows: while it does, only its end is rendered again. */
export class MarkdownView {
  #root;
  #text = "";
  /** How much of the text is in blocks that can no longer change. */
  #settled = 0;
  /** The elements of the blocks that can. */
  #live = [];
  #env = {};

  constructor(root) {
    this.#root = root;
  }

  /** Shows `text`, which continues the text before. */
  update(text) {
    if (text === this.#text) return;
    if (!text.startsWith(this.#text)) this.#reset();
    this.#text = text;
    const rest = text.slice(this.#settled);
    const blocks = blocksOf(md.parse(rest, this.#env));
    if (blocks.length === 1 && this.#growCode(blocks[0].tokens[0])) return;
    for (const node of this.#live) node.remove();
    // A line that is not complete can still join the block before it, as `2` of a list does when it becomes `2.`
    const whole = rest.split("\n").length - 1;
    const last = Math.max(0, blocks.findLastIndex((block) => block.line < whole));
    if (last > 0) {
      this.#root.append(toFragment(blocks.slice(0, last).flatMap((block) => block.tokens), this.#env));
      this.#settled += offsetOf(rest, blocks[last].line);
    }
    const fragment = toFragment(blocks.slice(last).flatMap((block) => block.tokens), this.#env);
    this.#live = [...fragment.childNodes];
    this.#root.append(fragment);
  }

  /** Shows a text that is complete: links whose targets came after them now work. */
  finish(text) {
    this.update(text);
    if (!this.#env.references) return;
    const env = {};
    this.#root.replaceChildren(toFragment(md.parse(text, env), env));
    this.#live = [];
    this.#settled = 0;
    this.#text = text;
  }

  /** Code that grows keeps its element, and with it the selection and the focus. */
  #growCode(token) {
    const shown = this.#live.find((node) => node.classList?.contains("code"));
    if (!shown || token.type !== "fence" || shown.dataset.language !== token.info.trim().split(/\s+/)[0]) return false;
    const code = shown.querySelector("code");
    if (!token.content.startsWith(code.textContent)) return false;
    code.append(token.content.slice(code.textContent.length));
    code.normalize();
    return true;
  }

  #reset() {
    this.#root.replaceChildren();
    this.#settled = 0;
    this.#live = [];
    this.#env = {};
  }
}
