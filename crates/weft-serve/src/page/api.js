// Calls the server's public routes, and turns what it refuses into errors that say what to do.

const KEY = "weft.key";

/** The API key, kept for this tab only. */
export const key = {
  get: () => sessionStorage.getItem(KEY),
  set: (value) => sessionStorage.setItem(KEY, value),
  forget: () => sessionStorage.removeItem(KEY),
};

/** What went wrong with a request. */
export class ApiError extends Error {
  /** `status` is 0 if there was no answer; `retryAfter` is in seconds. */
  constructor(message, { status = 0, code = null, retryAfter = null } = {}) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

/** The function that asks the user for a key: it resolves to true once there is one. */
let askForKey = async () => false;

export function onMissingKey(ask) {
  askForKey = ask;
}

/** Fetches a route. A 401 asks for a key and tries again; every other refusal is thrown. */
export async function request(path, { json, signal } = {}) {
  for (;;) {
    const headers = new Headers();
    const current = key.get();
    if (current) headers.set("authorization", `Bearer ${current}`);
    if (json !== undefined) headers.set("content-type", "application/json");
    let response;
    try {
      response = await fetch(path, {
        method: json === undefined ? "GET" : "POST",
        headers,
        body: json === undefined ? undefined : JSON.stringify(json),
        signal,
        cache: "no-store",
        credentials: "omit",
        referrerPolicy: "no-referrer",
      });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new ApiError("The server does not answer. Is weft serve still running?");
    }
    if (response.ok) return response;
    const refusal = await refused(response);
    // Another request may have asked meanwhile: then its key is tried first.
    if (response.status === 401 && (key.get() !== current || (await askForKey(current !== null)))) continue;
    throw refusal;
  }
}

async function refused(response) {
  let said = {};
  try {
    said = (await response.json()).error ?? {};
  } catch {
    // Not JSON: the status has to do.
  }
  // What the server says of its key is for programs.
  if (response.status === 401) said.message = "This server asks for an API key, which can be entered in the settings.";
  const wait = Number.parseFloat(response.headers.get("retry-after") ?? "");
  return new ApiError(said.message || `The server answered ${response.status} ${response.statusText}`.trim(), {
    status: response.status,
    code: said.code ?? null,
    retryAfter: Number.isFinite(wait) ? wait : null,
  });
}

/**
 * The models that the server offers: `{id, context, loaded, status, task, pinned, leaves, memory, device, architecture, defaults}`. What is
 * unknown is null. `task` is what is done to load it, `leaves` in how many seconds it is unloaded unless it is used, `memory` the bytes that
 * it needs; `defaults` are the parameters of requests that leave them out.
 */
export async function models() {
  const list = await (await request("/v1/models")).json();
  return (list.data ?? []).map((model) => ({
    id: model.id,
    context: Number.isFinite(model.max_model_len) && model.max_model_len > 0 ? model.max_model_len : null,
    loaded: model.loaded ?? null,
    status: model.status?.value ?? null,
    task: model.status?.message ?? model.status?.progress?.task ?? null,
    pinned: model.pinned ?? false,
    leaves: model.unloads_in_seconds ?? null,
    memory: model.memory_bytes ?? null,
    device: model.device ?? null,
    architecture: model.architecture ?? null,
    defaults: model.default_parameters ?? {},
  }));
}
