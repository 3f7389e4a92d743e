// One reply while it comes: fills its message from the stream, and measures it.

import { ApiError } from "./api.js";
import { complete } from "./stream.js";

/** What the server is told of a conversation. */
export function toRequest(messages) {
  const sent = [];
  for (const { role, content, reasoning, calls, call } of messages) {
    // A reply that failed before it began says nothing.
    if (role === "assistant" && !content && !reasoning && !calls?.length) continue;
    const last = sent.at(-1);
    if (role === "user" && last?.role === "user") {
      // Many templates expect the two sides to alternate.
      last.content += `\n\n${content}`;
      continue;
    }
    const message = { role, content };
    if (role === "tool") message.tool_call_id = call;
    if (reasoning) message.reasoning_content = reasoning;
    if (calls?.length) {
      message.tool_calls = calls.map(({ id, name, json }) => ({ id, type: "function", function: { name, arguments: json } }));
    }
    sent.push(message);
  }
  return sent;
}

/** Fires `update` whenever its message has changed and `end` once it is complete. */
export class Run extends EventTarget {
  #controller = new AbortController();
  #begun = performance.now();
  #firstAt = null;
  #pieces = 0;

  /** `message` is the reply to fill. */
  constructor(chat, thread, message) {
    super();
    Object.assign(this, { chat, thread, message, running: true, status: "Waiting for the server", promptTokens: 0 });
  }

  stop() {
    this.#controller.abort();
  }

  /** Text that came since the last call, for screen readers. */
  takeNew() {
    const text = this.message.content.slice(this.#said);
    this.#said = this.message.content.length;
    return text;
  }
  #said = 0;

  /** Tokens per second so far, each piece counted as a token. */
  get speed() {
    const seconds = (performance.now() - this.#firstAt) / 1000;
    return this.#firstAt !== null && this.#pieces > 4 && seconds > 0.2 ? (this.#pieces - 1) / seconds : null;
  }

  /** Tokens of the reply so far, each piece counted as one. */
  get pieces() {
    return this.#pieces;
  }

  /** Runs to the end. Never throws: what goes wrong is the message's `error`. */
  async run(body) {
    const { message } = this;
    try {
      for await (const update of complete(body, this.#controller.signal)) {
        this.#apply(update);
        this.dispatchEvent(new Event("update"));
      }
      message.finish ??= "stop";
    } catch (error) {
      this.#fail(error);
    }
    this.#thoughtEnds();
    // Stopped before the server could say: what was measured here.
    const figures = message.figures;
    figures.tokens ??= this.#pieces || undefined;
    figures.perSecond ??= this.speed ?? undefined;
    message.figures = Object.fromEntries(Object.entries(figures).filter(([, value]) => value !== undefined));
    this.running = false;
    this.dispatchEvent(new Event("end"));
  }

  #fail(error) {
    const { message } = this;
    if (this.#controller.signal.aborted) {
      message.finish = "stopped";
      return;
    }
    message.finish = "error";
    message.error = error instanceof ApiError ? sentence(error) : `The page has a bug: ${error.message}`;
    if (error.code) message.code = error.code;
    if (error.retryAfter) message.retryAt = Date.now() + error.retryAfter * 1000;
    if (!(error instanceof ApiError)) console.error(error);
  }

  #apply({ loading, prompt, reasoning, text, call, finish, usage, timings }) {
    const { message } = this;
    if (loading) this.status = `Loading ${loading}`;
    if (prompt) {
      this.promptTokens = prompt.total;
      this.status = `Reading the prompt: ${prompt.done.toLocaleString("en")} of ${prompt.total.toLocaleString("en")} tokens`;
    }
    if (reasoning || text || call) this.#piece();
    if (reasoning) message.reasoning = (message.reasoning ?? "") + reasoning;
    if (text || call) this.#thoughtEnds();
    if (text) message.content += text;
    if (call) this.#call(call);
    if (finish) message.finish = finish;
    if (usage) {
      message.figures.prompt = usage.prompt_tokens;
      message.figures.tokens = usage.completion_tokens;
      message.figures.cached = usage.prompt_tokens_details?.cached_tokens;
    }
    if (timings) {
      message.figures.cached ??= timings.cache_n;
      if (timings.predicted_per_second > 0) message.figures.perSecond = timings.predicted_per_second;
    }
  }

  #piece() {
    this.#pieces += 1;
    if (this.#firstAt !== null) return;
    this.#firstAt = performance.now();
    this.message.figures.firstToken = (this.#firstAt - this.#begun) / 1000;
  }

  #thoughtEnds() {
    const { message } = this;
    if (message.reasoning && this.#firstAt !== null) message.figures.thinking ??= (performance.now() - this.#firstAt) / 1000;
  }

  #call({ index, id, name, json }) {
    const calls = (this.message.calls ??= []);
    calls[index] ??= { id: id ?? `call_${index}`, name: "", json: "" };
    if (name) calls[index].name = name;
    calls[index].json += json;
  }
}

/** An error as a sentence that says what to do. */
function sentence(error) {
  const said = error.message.charAt(0).toUpperCase() + error.message.slice(1);
  const what = error.status === 429 ? `The server is busy: ${error.message}` : said;
  const then = error.retryAfter
    ? ` Try again in ${Math.ceil(error.retryAfter)}\u00a0s.`
    : error.code === "context_length_exceeded"
      ? " Start a new chat, or edit an earlier message."
      : "";
  return (/[.!?]$/.test(what) ? what : `${what}.`) + then;
}
