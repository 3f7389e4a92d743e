// What the page does with replies that a test prescribes: reasoning, tool calls, errors, long texts.

import assert from "node:assert/strict";
import { complete, lastReply, send, until } from "./harness.mjs";

const script = (page, reply) => page.evaluate((reply) => window.reply(reply), reply);
const go = (page) => page.evaluate(() => window.go());
const words = (text) => text.split(/(?<= )/).map((content) => ({ content }));

export async function replies(t) {
  const page = await t.open("/");
  await until(page, () => !document.getElementById("model").disabled);

  await t.check("reasoning is shown apart and folds when the reply begins", async () => {
    const usage = { prompt_tokens: 120, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 100 } };
    const timings = { predicted_per_second: 12.34 };
    await script(page, {
      pieces: [
        { choices: [], prompt_progress: { processed: 64, total: 120 } }, "hold",
        { reasoning_content: "First I think. " }, { reasoning_content: "Then more." }, "hold",
        { content: "**Done.** It works." }, { choices: [], usage, timings },
      ],
    });
    await send(page, "Think");
    await until(page, () => document.querySelector(".status")?.textContent.includes("64 of 120"));
    await t.accessible(page, "waiting");
    await go(page);
    await until(page, () => document.querySelector(".thought")?.textContent === "First I think. Then more.");
    assert.equal(await page.locator(".reasoning").getAttribute("open"), "");
    assert.equal(await page.locator(".status").count(), 0);
    await t.accessible(page, "thinking");
    await go(page);
    await complete(page);
    assert.equal(await page.locator(".reasoning").getAttribute("open"), null);
    assert.match(await page.locator(".reasoning summary").innerText(), /^Thought for/);
    assert.equal(await page.locator(".prose strong").innerText(), "Done.");
    assert.match(await page.locator(".figures").innerText(), /^12\.3 tokens\/s · 9 tokens · first after .+ · 100 of 120 prompt tokens cached$/);
    assert.match(await page.locator("#context-text").innerText(), /^129 of/);
    await page.locator(".reasoning summary").click();
    assert.ok(await page.locator(".thought").isVisible());
    await until(page, () => document.getElementById("live").textContent.includes("Done. It works.") && document.getElementById("live").textContent.includes("End of the reply."));
  });

  await t.check("reasoning goes back with the conversation", async () => {
    await script(page, { pieces: words("Yes. ") });
    await send(page, "And?");
    await complete(page);
    const messages = await page.evaluate(() => window.sent.at(-1).messages);
    assert.deepEqual(messages[1], { role: "assistant", content: "**Done.** It works.", reasoning_content: "First I think. Then more." });
  });

  await t.check("tool calls are readable", async () => {
    const call = (index, more) => ({ tool_calls: [{ index, ...more }] });
    await script(page, {
      pieces: [
        call(0, { id: "call_1", type: "function", function: { name: "get_weather", arguments: "" } }),
        call(0, { function: { arguments: '{"city": "Os' } }), call(0, { function: { arguments: 'lo", "days": 3}' } }),
        call(1, { id: "call_2", type: "function", function: { name: "stop", arguments: "{}" } }),
      ],
    });
    await send(page, "Call tools");
    await complete(page);
    const calls = page.locator(".message:last-child .call");
    assert.deepEqual(await calls.locator("p").allInnerTexts(), ["Calls get_weather", "Calls stop"]);
    assert.equal(await calls.first().locator("pre").innerText(), '{\n  "city": "Oslo",\n  "days": 3\n}');
    await t.accessible(page, "tool-calls");
    await script(page, { pieces: words("Thanks. ") });
    await send(page, "Well");
    await complete(page);
    const sent = await page.evaluate(() => window.sent.at(-1).messages.find((message) => message.tool_calls));
    assert.deepEqual(sent.tool_calls[0], { id: "call_1", type: "function", function: { name: "get_weather", arguments: '{"city": "Oslo", "days": 3}' } });
  });

  await t.check("code is copied, tables and links are shown", async () => {
    const text = "Here:\n\n```rust\nfn main() {\n    body();\n}\n```\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n[link](https://example.org/x) ![pic](https://example.org/p.png)";
    await script(page, { pieces: words(text) });
    await send(page, "Show code");
    await complete(page);
    const last = page.locator(".message:last-child");
    await last.locator(".copy").click();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "fn main() {\n    body();\n}\n");
    assert.equal(await last.locator(".copy").innerText(), "Copied");
    assert.equal(await last.locator("img").count(), 0);
    assert.equal(await last.locator("td").last().evaluate((cell) => getComputedStyle(cell).textAlign), "end");
    await last.getByRole("button", { name: "Copy message" }).click();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), text);
    await t.accessible(page, "markdown");
  });

  await t.check("a busy server's wait is shown, and retried", async () => {
    const error = { error: { message: "the queue is full: 256 requests wait", type: "rate_limit_error" } };
    await script(page, { status: 429, headers: { "retry-after": "9" }, body: error });
    await send(page, "Busy?");
    const failure = page.getByRole("alert").filter({ hasText: "busy" });
    await failure.waitFor();
    assert.match(await failure.innerText(), /The server is busy: the queue is full: 256 requests wait\. Try again in 9\ss\.\s+Try again \(in \d s\)/);
    await t.accessible(page, "busy");
    await script(page, { pieces: words("Now there is room. ") });
    await page.getByRole("button", { name: /Try again/ }).click();
    await complete(page);
    assert.match(await lastReply(page), /Now there is room/);
    const { messages } = await page.evaluate(() => window.sent.at(-1));
    assert.equal(messages.at(-1).content, "Busy?");
  });

  await t.check("every other failure says what happened and can be retried", async () => {
    const refused = (status, message, code = null) => ({ status, body: { error: { message, code } } });
    for (const [reply, said, kept] of [
      [refused(400, "temperature: expected a number from 0 to 2, found 9"), "Temperature: expected a number from 0 to 2, found 9."],
      [refused(400, "the context has room for 64 tokens", "context_length_exceeded"), "The context has room for 64 tokens. Start a new chat, or edit an earlier message."],
      [{ status: 500, body: "x" }, "The server answered 500"],
      [{ unreachable: true }, "The server does not answer."],
      [{ pieces: words("Half a "), cut: true }, "The connection ended before the reply did.", "Half a"],
      [{ pieces: [...words("Half a "), { error: { message: "the device failed" } }] }, "The device failed.", "Half a"],
    ]) {
      await script(page, reply);
      await send(page, "Fail");
      await complete(page);
      const last = page.locator(".message:last-child");
      assert.ok((await last.locator(".failure").innerText()).includes(said), await last.innerText());
      if (kept) assert.ok((await last.innerText()).includes(kept));
      // What can never fit is not offered again.
      assert.equal(await last.getByRole("button", { name: "Try again" }).count(), said.includes("room for") ? 0 : 1);
    }
    await page.reload();
    await page.locator(".failure").last().waitFor();
    await script(page, { pieces: words("It works again. ") });
    await page.getByRole("button", { name: "Try again" }).last().click();
    await complete(page);
    assert.match(await lastReply(page), /It works again/);
  });

  await t.check("a key is asked for, kept in the tab and sent", async () => {
    const other = await t.open("/");
    await until(other, () => !document.getElementById("model").disabled);
    const refused = { status: 401, body: { error: { message: "an API key is required", code: "missing_api_key" } } };
    await script(other, refused);
    await script(other, refused);
    await script(other, { pieces: words("Welcome. ") });
    await send(other, "Let me in");
    await other.getByRole("dialog", { name: "API key" }).waitFor();
    await t.accessible(other, "key");
    await other.locator("#ask-input").fill("wrong");
    await other.keyboard.press("Enter");
    await other.getByText("The server does not accept this key.").waitFor();
    await other.locator("#ask-input").fill("right");
    await other.keyboard.press("Enter");
    await complete(other);
    assert.match(await lastReply(other), /Welcome/);
    assert.deepEqual(await other.evaluate(() => window.keys), [null, "Bearer wrong", "Bearer right"]);
    assert.deepEqual(await other.evaluate(() => [sessionStorage.getItem("weft.key"), JSON.stringify(localStorage).includes("right")]), ["right", false]);
    await script(other, refused);
    await send(other, "And without?");
    await other.getByRole("button", { name: "Cancel" }).click();
    await complete(other);
    assert.match(await other.locator(".failure").innerText(), /This server asks for an API key/);
    await other.context().close();
  });

  await t.check("the page waits for a server that is away", async () => {
    const other = await t.open("about:blank");
    await other.route("**/v1/models", (route) => route.abort());
    t.expect("net::ERR_FAILED");
    await other.goto(`${t.url}/`);
    await until(other, () => document.getElementById("model").innerText === "No connection");
    await other.unroute("**/v1/models");
    await until(other, () => !document.getElementById("model").disabled);
    await other.context().close();
  });

  await t.check("the end stays in view until the reader scrolls up", async () => {
    const other = await t.open("/", { height: 500 });
    const lines = (n) => words(Array.from({ length: n }, (_, i) => `Line ${i}.\n\n`).join(""));
    await script(other, { pieces: [...lines(40), "hold", ...lines(40), "hold", ...lines(5)] });
    await send(other, "Many lines");
    const distance = () => other.evaluate(() => {
      const { scrollHeight, scrollTop, clientHeight } = document.getElementById("thread");
      return scrollHeight - scrollTop - clientHeight;
    });
    await until(other, () => document.querySelectorAll(".prose > p").length === 40);
    await until(other, () => {
      const { scrollHeight, scrollTop, clientHeight } = document.getElementById("thread");
      return scrollHeight - scrollTop - clientHeight < 4;
    });
    await other.locator("#thread").hover();
    await other.mouse.wheel(0, -600);
    await other.locator("#to-end").waitFor();
    const top = await other.evaluate(() => document.getElementById("thread").scrollTop);
    await go(other);
    await until(other, () => document.querySelectorAll(".prose > p").length === 80);
    assert.equal(await other.evaluate(() => document.getElementById("thread").scrollTop), top);
    await t.accessible(other, "scrolled-up");
    await other.getByRole("button", { name: "Go to the newest message" }).click();
    assert.ok((await distance()) < 4);
    await go(other);
    await complete(other);
    assert.ok((await distance()) < 4);
    await other.context().close();
  });

  await t.check("only the end of a reply is rendered again", async () => {
    await page.keyboard.press("Control+Shift+O");
    await page.locator("#welcome").waitFor();
    await script(page, { pieces: [...words("One.\n\nTwo.\n\n```js\nlet a;\n"), "hold", ...words("let b;\n```\n\nThree.\n\nFour.")] });
    await send(page, "Blocks");
    await until(page, () => document.querySelector(".prose code")?.textContent.includes("let a"));
    await page.evaluate(() => {
      window.kept = [...document.querySelectorAll(".prose > *, .prose code")];
      getSelection().selectAllChildren(document.querySelector(".prose code"));
    });
    await go(page);
    await complete(page);
    assert.ok(await page.evaluate(() => window.kept.every((node) => node.isConnected)), "blocks were made again");
    assert.match(await page.evaluate(() => getSelection().toString()), /let a/);
    assert.equal(await page.locator(".prose > *").count(), 5);
  });

  await t.check("a reply goes on while another conversation is shown", async () => {
    await page.keyboard.press("Control+Shift+O");
    await page.locator("#welcome").waitFor();
    await script(page, { pieces: [...words("Before. "), "hold", ...words("After. ")] });
    await send(page, "In the background");
    await until(page, () => document.querySelector(".prose")?.textContent.includes("Before"));
    await page.locator(".chat a", { hasText: "Blocks" }).click();
    await until(page, () => document.querySelector(".said").textContent === "Blocks");
    assert.ok(await page.locator("#send").isVisible());
    await go(page);
    await page.locator(".chat a", { hasText: "In the background" }).click();
    await until(page, () => document.querySelector(".prose")?.textContent.includes("Before. After."));
    await complete(page);
    await page.reload();
    await until(page, () => document.querySelector(".prose")?.textContent.includes("Before. After."));
  });

  await t.check("a reply that a crash cut off is there", async () => {
    await page.keyboard.press("Control+Shift+O");
    await page.locator("#welcome").waitFor();
    await script(page, { pieces: [...words("Kept. "), "hold"] });
    await send(page, "Crash");
    await until(page, () => document.querySelector(".prose")?.textContent.includes("Kept"));
    await page.reload();
    await page.locator(".said").waitFor();
    assert.equal(await page.locator(".said").innerText(), "Crash");
    await page.getByRole("button", { name: "Ask again" }).waitFor();
  });

  await page.context().close();
}
