// The conversation on the page: sends, stops, asks again, edits, and shows what comes.

import { Announcer } from "./announce.js";
import { byId } from "./dom.js";
import { MessageView } from "./message.js";
import { showContext, usedBy } from "./meter.js";
import { Run, toRequest } from "./run.js";
import { Follower } from "./scroll.js";
import { Thread, newId } from "./thread.js";

/** How often a reply that is coming is saved, in milliseconds. */
const SAVE = 1500;

export class Chat extends EventTarget {
  #history;
  #settings;
  #context;
  #chat = null;
  /** The system prompt of a conversation that has not begun. */
  #system = "";
  #thread = new Thread();
  #views = new Map();
  /** Replies that are coming, by conversation: they go on while another one is shown. */
  #runs = new Map();
  #follower = new Follower(byId("thread"), byId("to-end"));
  #announcer = new Announcer(byId("live"));
  #scheduled = false;
  /** How long to wait before the reply is rendered again, in milliseconds. */
  #rest = 0;

  /** `context` returns the length of the context of the model that is selected, or null. */
  constructor(history, settings, context) {
    super();
    this.#history = history;
    this.#settings = settings;
    this.#context = context;
  }

  get id() {
    return this.#chat?.id ?? null;
  }

  get title() {
    return this.#chat?.title ?? "New chat";
  }

  get running() {
    return this.#runs.has(this.id);
  }

  /** Shows a conversation, or an empty one. Returns whether it exists. */
  async open(id) {
    const running = this.#runs.get(id);
    const chat = running?.chat ?? (id ? await this.#history.chat(id) : null);
    this.#thread = running?.thread ?? new Thread(chat ? await this.#history.messages(id) : [], chat?.leaf);
    this.#chat = chat ?? null;
    this.#system = "";
    this.#show();
    this.#follower.toEnd();
    return !id || Boolean(chat);
  }

  /** Sends a message. */
  async send(text) {
    if (this.running) return;
    const parent = this.#thread.path().at(-1)?.id ?? null;
    await this.#sendAfter(parent, text);
  }

  /** Ends the reply that is coming. What came stays. */
  stop() {
    this.#runs.get(this.id)?.stop();
  }

  /** Opens the last message of the user for editing. Returns whether there is one. */
  editLast() {
    const last = this.#thread.path().findLast((message) => message.role === "user");
    if (!last || this.running) return false;
    this.#edit(last);
    return true;
  }

  /** Ends a conversation's reply and forgets it. */
  forget(id) {
    const run = this.#runs.get(id);
    this.#runs.delete(id);
    run?.stop();
  }

  rename(title) {
    if (this.#chat) this.#chat.title = title;
  }

  /** The conversation's own system prompt; empty if it has the common one. */
  get system() {
    return (this.#chat ? this.#chat.system : this.#system) ?? "";
  }

  /** Sets the conversation's own system prompt, for the replies that come after. */
  async setSystem(text) {
    if (!this.#chat) {
      this.#system = text;
      return;
    }
    const chat = this.#chat;
    chat.system = text;
    await this.#save(async () => {
      const saved = await this.#history.chat(chat.id);
      if (saved) await this.#history.save({ ...saved, system: text });
    });
  }

  /** Shows the context meter again, after the model has changed. */
  showContext() {
    const run = this.#runs.get(this.id);
    const before = usedBy(this.#thread.path());
    const known = run && !run.message.figures.tokens ? run.promptTokens || before : 0;
    showContext(known ? known + run.pieces : before, this.#context());
  }

  async #sendAfter(parent, text) {
    const now = Date.now();
    if (!this.#chat) {
      this.#chat = { id: newId(), title: titleOf(text), created: now, ...(this.#system ? { system: this.#system } : {}) };
    }
    const message = this.#thread.add(parent, { role: "user", content: text });
    await this.#reply(message, [message]);
  }

  /** Asks the model for a reply to a message. */
  async #reply(to, unsaved = []) {
    const [chat, thread] = [this.#chat, this.#thread];
    const model = this.#settings.get("model");
    const message = thread.add(to.id, { role: "assistant", content: "", model, figures: {} });
    Object.assign(chat, { leaf: message.id, updated: Date.now(), model });
    const run = new Run(chat, thread, message);
    this.#runs.set(chat.id, run);
    this.#show();
    this.#follower.toEnd();
    this.dispatchEvent(new Event("change"));
    await this.#save(() => this.#history.save(chat, [...unsaved, message]));
    this.dispatchEvent(new Event("opened"));
    await this.#follow(run, this.#body(thread));
  }

  #body(thread) {
    const messages = toRequest(thread.path().slice(0, -1));
    const system = this.system.trim() || this.#settings.get("system")?.trim();
    if (system) messages.unshift({ role: "system", content: system });
    const model = this.#settings.get("model");
    return {
      ...(model ? { model } : {}),
      messages,
      stream: true,
      stream_options: { include_usage: true },
      return_progress: true,
      ...this.#settings.parameters(),
    };
  }

  async #follow(run, body) {
    let saved = performance.now();
    run.addEventListener("update", () => {
      this.#schedule();
      if (performance.now() - saved > SAVE) {
        saved = performance.now();
        this.#saveRun(run);
      }
    });
    await run.run(body);
    const forgotten = this.#runs.get(run.chat.id) !== run;
    if (!forgotten) {
      this.#runs.delete(run.chat.id);
      run.chat.updated = Date.now();
      await this.#save(() => this.#saveRun(run));
    }
    if (this.id === run.chat.id) {
      this.#show();
      this.#follower.follow();
      this.#announcer.push(run.takeNew());
      this.#announcer.end(run.message.finish === "stopped" ? "Stopped." : run.message.error ? "" : "End of the reply.");
    }
    this.dispatchEvent(new Event("change"));
  }

  async #saveRun(run) {
    const { error, retryAt, ...message } = run.message;
    // While it comes, a reply is saved as one that was cut off: that is what it is after a crash.
    const record = run.running ? { ...message, finish: "interrupted" } : run.message;
    const chat = await this.#history.chat(run.chat.id);
    if (chat) await this.#history.save({ ...run.chat, title: chat.title }, [record]);
  }

  async #save(save) {
    try {
      await save();
    } catch (error) {
      this.dispatchEvent(new CustomEvent("unsaved", { detail: error }));
    }
  }

  /** Updates the reply that is coming, at most once per frame, and for at most a fifth of the time. */
  #schedule() {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setTimeout(() => requestAnimationFrame(() => this.#showRun()), this.#rest);
  }

  #showRun() {
    const begun = performance.now();
    this.#scheduled = false;
    const run = this.#runs.get(this.id);
    if (!run) return;
    this.#showMessage(run.message);
    this.#announcer.push(run.takeNew());
    this.showContext();
    this.#follower.follow();
    // A long block, such as a list of a thousand lines, takes long to render again.
    const took = performance.now() - begun;
    this.#rest = took > 10 ? Math.min(4 * took, 2000) : 0;
  }

  #show() {
    const path = this.#thread.path();
    const ids = new Set(path.map((message) => message.id));
    for (const [id, view] of this.#views) {
      if (!ids.has(id)) {
        view.element.remove();
        this.#views.delete(id);
      }
    }
    const list = byId("messages");
    path.forEach((message, at) => {
      if (!this.#views.has(message.id)) this.#views.set(message.id, new MessageView(message, this.#actions));
      const { element } = this.#views.get(message.id);
      if (list.children[at] !== element) list.insertBefore(element, list.children[at] ?? null);
      this.#showMessage(message);
    });
    byId("welcome").hidden = path.length > 0;
    list.hidden = path.length === 0;
    byId("stop").hidden = !this.running;
    byId("send").hidden = this.running;
    byId("thread").setAttribute("aria-busy", String(this.running));
    this.showContext();
  }

  #showMessage(message) {
    const run = this.#runs.get(this.id);
    const running = run?.message === message;
    this.#views.get(message.id)?.show({
      running,
      siblings: this.#thread.siblings(message),
      status: run?.status,
      speed: running && run.speed ? `${run.speed.toFixed(1)} tokens/s` : "",
    });
  }

  #actions = {
    edit: (message) => this.#edit(message),
    regenerate: (message) => this.#again(message),
    retry: (message) => this.#again(message),
    turn: (message) => this.#turn(message),
  };

  async #edit(message) {
    if (this.running) return;
    const text = await this.#views.get(message.id).edit();
    if (text !== null && !this.running) await this.#sendAfter(message.parent, text);
  }

  async #again(message) {
    const to = this.#thread.messages.get(message.parent);
    if (!to || this.running) return;
    byId("prompt").focus();
    await this.#reply(to);
  }

  async #turn(message) {
    if (this.running) return;
    this.#thread.show(message);
    this.#chat.leaf = this.#thread.leaf;
    this.#show();
    this.#views.get(message.id).element.querySelector(".turns button:enabled")?.focus();
    await this.#save(() => this.#history.save(this.#chat));
  }
}

/** A conversation's title: the beginning of its first message. */
function titleOf(text) {
  const line = text.trim().split("\n")[0].replace(/\s+/g, " ");
  if (line.length <= 60) return line;
  return `${line.slice(0, 60).replace(/\s+\S*$/, "")}…`;
}
