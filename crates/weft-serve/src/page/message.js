// One message on the page: what was said, how it was made, and what can be done with it.

import { codeBlock, MarkdownView } from "./markdown.js";
import { copy, count, el, icon, iconButton, seconds, toast } from "./dom.js";

/** A tool call's arguments, indented if they are complete. */
function pretty(json) {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}

/** The figures of a reply as text, the most useful first. */
export function figures(message) {
  const f = message.figures ?? {};
  const list = [];
  if (f.perSecond) list.push(`${f.perSecond.toFixed(f.perSecond < 10 ? 2 : 1)} tokens/s`);
  if (f.tokens) list.push(`${count(f.tokens)} ${f.tokens === 1 ? "token" : "tokens"}`);
  if (f.firstToken) list.push(`first after ${seconds(f.firstToken)}`);
  if (f.prompt && f.cached) list.push(`${count(f.cached)} of ${count(f.prompt)} prompt tokens cached`);
  else if (f.prompt) list.push(`${count(f.prompt)} prompt tokens`);
  return list;
}

/** From how many characters or lines on a message is folded. */
const FOLD = { characters: 1600, lines: 20 };

/** What the user said, folded if it is long. */
function said(content) {
  const text = el("div", { class: "said", dir: "auto" }, content);
  if (content.length <= FOLD.characters && content.split("\n").length <= FOLD.lines) return [text];
  const button = el("button", { type: "button", class: "fold" });
  const fold = (folded) => {
    text.classList.toggle("folded", folded);
    button.textContent = folded ? `Show all ${count(content.length)} characters` : "Show less";
    button.setAttribute("aria-expanded", String(!folded));
  };
  button.addEventListener("click", () => {
    fold(!text.classList.contains("folded"));
    if (text.classList.contains("folded")) button.scrollIntoView({ block: "nearest" });
  });
  fold(true);
  return [text, button];
}

/** The element of a message. `actions` are `{edit, regenerate, turn, retry}`; each gets the message. */
export class MessageView {
  #message;
  #actions;
  #reasoning = null;
  #text = null;
  #calls = [];
  #status = null;
  #foot = el("div", { class: "foot" });
  #body = el("div", { class: "body" });

  constructor(message, actions) {
    this.#message = message;
    this.#actions = actions;
    const who = { user: "You", assistant: "Weft", tool: "Tool result", system: "System" }[message.role];
    this.element = el("li", { class: `message ${message.role}`, data: { id: message.id } });
    this.element.append(el("h2", { class: "sr" }, who), this.#body, this.#foot);
  }

  /** Shows the message as it is now. `state` is `{running, siblings, status}`. */
  show(state) {
    if (this.#message.role === "assistant") this.#showReply(state);
    else if (!this.#body.hasChildNodes()) this.#body.append(...said(this.#message.content));
    this.#showFoot(state);
  }

  #showReply({ running, status }) {
    const { reasoning, content, calls, error } = this.#message;
    this.#body.classList.toggle("running", running);
    if (reasoning) this.#showReasoning(running && !content && !calls?.length);
    if (content) {
      if (!this.#text) {
        const box = el("div", { class: "prose" });
        this.#text = new MarkdownView(box);
        this.#body.append(box);
      }
      if (running) this.#text.update(content);
      else this.#text.finish(content);
    }
    this.#showCalls(calls ?? []);
    this.#showStatus(running && !content && !reasoning ? status : null);
    this.#body.querySelector(".failure")?.remove();
    if (error && !running) this.#body.append(this.#failure(error));
  }

  #showReasoning(open) {
    const { reasoning } = this.#message;
    if (!this.#reasoning) {
      const [label, text] = [el("span"), el("div", { class: "thought", dir: "auto" })];
      const details = el("details", { class: "reasoning" }, el("summary", {}, icon("right"), label), text);
      // What the user opens or closes stays so.
      details.firstChild.addEventListener("click", () => (this.#reasoning.touched = true));
      this.#reasoning = { details, label, text, shown: "", touched: false };
      this.#body.prepend(details);
    }
    const { details, label, text, shown, touched } = this.#reasoning;
    if (!touched) details.open = open;
    label.textContent = open ? "Thinking…" : this.#thoughtFor();
    const trimmed = reasoning.trimStart();
    if (trimmed.startsWith(shown)) text.append(trimmed.slice(shown.length));
    else text.textContent = trimmed;
    text.normalize();
    this.#reasoning.shown = trimmed;
  }

  #thoughtFor() {
    const took = this.#message.figures?.thinking;
    return took ? `Thought for ${seconds(took)}` : "Reasoning";
  }

  #showCalls(calls) {
    calls.forEach((call, at) => {
      const key = `${call.name}\n${call.json}`;
      if (this.#calls[at]?.key === key) return;
      const block = el(
        "section",
        { class: "call", "aria-label": `Tool call ${call.name}` },
        el("p", {}, "Calls ", el("code", {}, call.name)),
        codeBlock(pretty(call.json), "arguments", "json"),
      );
      if (this.#calls[at]) this.#calls[at].block.replaceWith(block);
      else this.#body.append(block);
      this.#calls[at] = { key, block };
    });
  }

  /** What happens before the reply begins. */
  #showStatus(status) {
    if (!status) {
      this.#status?.remove();
      this.#status = null;
      return;
    }
    if (!this.#status) {
      this.#status = el("p", { class: "status" }, el("span", { class: "threads", "aria-hidden": "true" }, el("i"), el("i"), el("i")), el("span"));
      this.#body.append(this.#status);
    }
    this.#status.lastChild.textContent = status;
  }

  #failure(text) {
    const message = this.#message;
    // The same prompt would be too long again.
    if (message.code === "context_length_exceeded") return el("div", { class: "failure", role: "alert" }, el("p", {}, text));
    const again = el("button", { type: "button", class: "button", onclick: () => this.#actions.retry(message) }, "Try again");
    const box = el("div", { class: "failure", role: "alert" }, el("p", {}, text), again);
    const left = () => Math.ceil((message.retryAt - Date.now()) / 1000);
    if (message.retryAt && left() > 0) {
      const tick = () => {
        const wait = left();
        again.textContent = wait > 0 ? `Try again (in ${wait} s)` : "Try again";
        if (wait > 0 && box.isConnected) setTimeout(tick, 1000);
      };
      setTimeout(tick, 0);
    }
    return box;
  }

  #showFoot({ running, siblings, speed }) {
    const message = this.#message;
    if (running) {
      this.#foot.replaceChildren(el("span", { class: "figures" }, speed ?? ""));
      return;
    }
    const { edit, regenerate, turn } = this.#actions;
    const parts = [];
    if (siblings.length > 1) {
      const at = siblings.indexOf(message);
      const go = (name, label, to) => iconButton(name, label, () => turn(siblings[to]), { disabled: !siblings[to] });
      parts.push(
        el("span", { class: "turns", role: "group", "aria-label": "Versions" },
          go("left", "Previous version", at - 1),
          el("span", {}, `${at + 1}/${siblings.length}`),
          go("right", "Next version", at + 1)),
      );
    }
    if (message.content) parts.push(iconButton("copy", "Copy message", () => this.#copy()));
    if (message.role === "user") parts.push(iconButton("pencil", "Edit message", () => edit(message)));
    if (message.role === "assistant") {
      parts.push(iconButton("again", "Ask again", () => regenerate(message)));
      const notes = figures(message);
      if (message.finish === "length") notes.unshift("cut off at the limit of tokens");
      if (message.finish === "interrupted") notes.unshift("interrupted: the page was closed");
      if (message.finish === "stopped") notes.unshift("stopped");
      parts.push(el("span", { class: "figures" }, notes.join(" · ")));
    }
    // The buttons are made again: the focus goes to the new one.
    const focused = this.#foot.contains(document.activeElement) && document.activeElement.getAttribute("aria-label");
    this.#foot.replaceChildren(...parts);
    if (focused) this.#foot.querySelector(`[aria-label="${focused}"]`)?.focus();
  }

  async #copy() {
    toast((await copy(this.#message.content)) ? "Copied" : "The browser does not allow copying here");
  }

  /** Replaces the message by a form to edit it. Resolves to the new text, or to null. */
  edit() {
    return new Promise((resolve) => {
      const area = el("textarea", { value: this.#message.content, dir: "auto", "aria-label": "Edit message", rows: 3 });
      const form = el(
        "form",
        { class: "editor" },
        area,
        el("div", { class: "row end" },
          el("button", { type: "button", class: "button quiet", onclick: () => done(null) }, "Cancel"),
          el("button", { type: "submit", class: "button" }, "Send")),
      );
      const done = (text) => {
        form.replaceWith(this.#body);
        this.#foot.hidden = false;
        resolve(text);
        if (text === null) this.#foot.querySelector('[aria-label="Edit message"]')?.focus();
      };
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        if (area.value.trim()) done(area.value);
      });
      area.addEventListener("keydown", (event) => {
        if (event.key === "Escape") {
          event.stopPropagation();
          done(null);
        } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
          event.preventDefault();
          form.requestSubmit();
        }
      });
      this.#foot.hidden = true;
      this.#body.replaceWith(form);
      area.style.height = `${Math.min(area.scrollHeight + 2, innerHeight / 2)}px`;
      area.focus();
    });
  }
}
