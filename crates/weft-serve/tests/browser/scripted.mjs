// Replies that a test prescribes, for what a real model cannot be made to say. Runs in the page, before its scripts.

/**
 * `window.reply(script)` lets the next chat completion be answered by a script: `{status, headers, body}` for a refusal, or
 * `{pieces, cut}`, where a piece is a chunk's delta, a whole chunk, or the word `hold`, at which the reply waits for
 * `window.go()`. With `cut` the connection ends without a word. `window.sent` lists the bodies of all requests, and `window.keys`
 * their keys. What `window.also` has is added to requests that a model answers; `window.events` is the number of events of its
 * reply.
 */
export function scripted() {
  const scripts = [];
  const real = window.fetch;
  let release = () => {};
  window.sent = [];
  window.keys = [];
  window.reply = (script) => scripts.push(script);
  window.go = () => release();
  window.fetch = async (url, init = {}) => {
    if (!String(url).endsWith("/v1/chat/completions")) return real(url, init);
    window.sent.push(JSON.parse(init.body));
    window.keys.push(init.headers.get("authorization"));
    const script = scripts.shift();
    if (!script) {
      const response = await real(url, { ...init, body: JSON.stringify({ ...window.sent.at(-1), ...window.also }) });
      window.events = response.clone().text().then((text) => text.split("\n\n").length, () => null);
      return response;
    }
    if (script.unreachable) throw new TypeError("Failed to fetch");
    if (script.status) return new Response(JSON.stringify(script.body), { status: script.status, headers: script.headers });
    return new Response(stream(script, init.signal));
  };

  function stream({ pieces, cut }, signal) {
    const encoder = new TextEncoder();
    let ended = false;
    return new ReadableStream({
      async start(controller) {
        signal?.addEventListener("abort", () => {
          ended = true;
          controller.error(signal.reason);
        });
        const write = (text) => ended || controller.enqueue(encoder.encode(text));
        for (const piece of pieces) {
          if (piece === "hold") {
            await new Promise((resolve) => (release = resolve));
          } else {
            const whole = "choices" in piece || "error" in piece;
            const chunk = whole ? piece : { choices: [{ index: 0, delta: piece, finish_reason: null }], usage: null };
            write(`data: ${JSON.stringify(chunk)}\n\n`);
            await new Promise((resolve) => setTimeout(resolve, 1));
          }
        }
        if (!cut) {
          write(`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n`);
          write(`data: [DONE]\n\n`);
        }
        if (!ended) controller.close();
      },
    });
  }
}
