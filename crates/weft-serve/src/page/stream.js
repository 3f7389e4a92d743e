// Reads a streamed chat completion: server-sent events in, plain updates out.

import { ApiError, request } from "./api.js";

/** Splits the text of an event stream, which arrives in pieces of any size, into the data of its events. */
export class EventParser {
  #rest = "";
  #data = [];
  #comment;

  /** `comment` is called with each comment. */
  constructor(comment = () => {}) {
    this.#comment = comment;
  }

  /** Returns the data of the events that `text` completes. */
  push(text) {
    const events = [];
    this.#rest += text;
    // A lone \r at the end may be the first half of \r\n.
    for (let at; (at = this.#rest.search(/\r\n|\n|\r(?!$)/)) >= 0; ) {
      const line = this.#rest.slice(0, at);
      this.#rest = this.#rest.slice(at + (this.#rest.startsWith("\r\n", at) ? 2 : 1));
      if (line === "") {
        if (this.#data.length > 0) events.push(this.#data.join("\n"));
        this.#data = [];
      } else if (line.startsWith("data:")) {
        this.#data.push(line.slice(line[5] === " " ? 6 : 5));
      } else if (line.startsWith(":")) {
        this.#comment(line.slice(1).trim());
      }
    }
    return events;
  }
}

/**
 * Posts a chat completion and yields its updates, in order:
 * `{loading}` (what is done to load the model), `{prompt: {done, total}}`, `{reasoning}`, `{text}`, `{call: {index, id, name, json}}`, `{finish}`, `{usage}`, `{timings}`.
 * Throws an `ApiError` if the server refuses or fails, or if the stream ends early.
 */
export async function* complete(body, signal) {
  const response = await request("/v1/chat/completions", { json: body, signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const loading = [];
  const parser = new EventParser((comment) => {
    if (comment.startsWith("loading ")) loading.push({ loading: comment.slice("loading ".length) });
  });
  let finished = false;
  try {
    for (;;) {
      const { done, value } = await read(reader, signal);
      if (done) break;
      const events = parser.push(value);
      yield* loading.splice(0);
      for (const data of events) {
        if (data === "[DONE]") return;
        const updates = [...readChunk(data)];
        finished ||= updates.some((update) => update.finish);
        yield* updates;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
  if (!finished) throw new ApiError("The connection ended before the reply did.");
}

async function read(reader, signal) {
  try {
    return await reader.read();
  } catch (error) {
    if (signal.aborted) throw error;
    throw new ApiError("The connection to the server was lost.");
  }
}

function* readChunk(data) {
  let chunk;
  try {
    chunk = JSON.parse(data);
  } catch {
    throw new ApiError("The server sent something that is not JSON.");
  }
  if (chunk.error) {
    throw new ApiError(chunk.error.message ?? "The server failed.", { status: 500, code: chunk.error.code ?? null });
  }
  const progress = chunk.prompt_progress;
  if (progress) yield { prompt: { done: progress.processed ?? 0, total: progress.total ?? 0 } };
  const choice = chunk.choices?.[0];
  const delta = choice?.delta ?? {};
  const reasoning = delta.reasoning_content ?? delta.reasoning;
  if (reasoning) yield { reasoning };
  if (delta.content) yield { text: delta.content };
  for (const call of delta.tool_calls ?? []) {
    yield { call: { index: call.index ?? 0, id: call.id, name: call.function?.name, json: call.function?.arguments ?? "" } };
  }
  if (choice?.finish_reason) yield { finish: choice.finish_reason };
  if (chunk.usage) yield { usage: chunk.usage };
  if (chunk.timings) yield { timings: chunk.timings };
}
