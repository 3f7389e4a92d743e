// A conversation with a real model, from the first visit to the last deletion.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { complete, lastReply, send, until } from "./harness.mjs";

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'";

/** Opens the settings, does something in them, closes them. */
async function inSettings(page, run) {
  await page.getByRole("button", { name: "Settings" }).click();
  await run(page.locator("#settings"));
  await page.keyboard.press("Escape");
}

/** Chooses an action of a conversation: the newest, or the one with this title. */
async function choose(page, action, title = "") {
  const chat = page.locator(".chat", { hasText: title }).first();
  await chat.hover();
  await chat.locator(".more").click();
  await page.locator("#chat-menu").getByText(action, { exact: true }).click();
}

export async function chat(t) {
  const page = await t.open("/");
  const versions = () => page.locator(".message.assistant").last().locator(".turns").innerText();

  await t.check("both pages come with their policy", async () => {
    for (const path of ["/", "/status", "/page/app.js"]) {
      const response = await fetch(t.url + path);
      assert.equal(response.status, 200, path);
      assert.equal(response.headers.get("content-security-policy"), POLICY);
      assert.equal(response.headers.get("x-content-type-options"), "nosniff");
      assert.equal(response.headers.get("referrer-policy"), "no-referrer");
      const again = await fetch(t.url + path, { headers: { "if-none-match": response.headers.get("etag") } });
      assert.equal(again.status, 304);
    }
  });

  await t.check("the first visit explains itself", async () => {
    await until(page, () => !document.getElementById("model").disabled);
    assert.match(await page.locator("#welcome").innerText(), /Everything stays on this machine and in this browser\./);
    assert.equal(await page.evaluate(() => document.activeElement.id), "prompt");
    await page.locator("#examples button").first().click();
    assert.equal(await page.locator("#prompt").inputValue(), await page.locator("#examples button").first().innerText());
    await page.locator("#prompt").fill("");
    await t.accessible(page, "empty");
  });

  await t.check("an address cannot send a message", async () => {
    const other = await t.open("/?q=hello&prompt=hello#nothing");
    await until(other, () => !document.getElementById("model").disabled);
    assert.equal(await other.locator(".message").count(), 0);
    assert.equal(await other.locator("#prompt").inputValue(), "");
    await other.context().close();
  });

  await t.check("a message is sent and its reply streams", async () => {
    // A fixture's weights are random: only so does it say much.
    await page.evaluate(() => (window.also = { ignore_eos: true }));
    await inSettings(page, (settings) => settings.getByLabel("Longest reply, in tokens").fill("300"));
    await send(page, "Tell me about looms.\nIn a few words.");
    await complete(page);
    assert.equal(await page.locator(".message.user .said").innerText(), "Tell me about looms.\nIn a few words.");
    assert.ok((await page.evaluate(() => window.events)) > 100, "the reply was not streamed");
    const figures = await page.locator(".message.assistant .figures").innerText();
    assert.match(figures, /tokens\/s · [\d,]+ tokens? · first after [\d.]+ m?s · .*prompt tokens/);
    assert.match(await page.locator("#context").innerText(), /^[\d,]+ of [\d,]+ tokens$/);
    const meter = page.getByRole("meter", { name: "Context used" });
    assert.ok(Number(await meter.getAttribute("aria-valuenow")) > 0);
    const [body] = await page.evaluate(() => window.sent);
    assert.equal(body.max_tokens, 300);
    assert.deepEqual(body.messages, [{ role: "user", content: "Tell me about looms.\nIn a few words." }]);
    assert.equal(await page.evaluate(() => document.activeElement.id), "prompt");
    assert.equal(await page.title(), "Tell me about looms. – Weft");
    await t.accessible(page, "replied");
    await inSettings(page, (settings) => settings.getByLabel("Longest reply, in tokens").fill("40"));
  });

  await t.check("a reply can be asked for again, and none is lost", async () => {
    await page.getByRole("button", { name: "Ask again" }).click();
    await complete(page);
    assert.equal(await versions(), "2/2");
    const second = await lastReply(page);
    await page.getByRole("button", { name: "Previous version" }).click();
    assert.equal(await versions(), "1/2");
    await page.getByRole("button", { name: "Next version" }).click();
    assert.equal(await lastReply(page), second);
  });

  await t.check("an earlier message can be edited, and the old one stays", async () => {
    await send(page, "And about weaving?");
    await complete(page);
    await page.locator(".message.user").first().hover();
    await page.getByRole("button", { name: "Edit message" }).first().click();
    const box = page.getByRole("textbox", { name: "Edit message" });
    assert.equal(await box.inputValue(), "Tell me about looms.\nIn a few words.");
    await t.accessible(page, "editing");
    await box.fill("Tell me about ships.");
    await page.keyboard.press("Enter");
    await complete(page);
    assert.equal(await page.locator(".message").count(), 2);
    assert.deepEqual(await page.evaluate(() => window.sent.at(-1).messages), [{ role: "user", content: "Tell me about ships." }]);
    const user = page.locator(".message.user").first();
    assert.equal(await user.locator(".turns").innerText(), "2/2");
    await user.hover();
    await user.getByRole("button", { name: "Previous version" }).click();
    assert.equal(await page.locator(".message").count(), 4);
    await user.hover();
    await user.getByRole("button", { name: "Next version" }).click();
    assert.equal(await page.locator(".message").count(), 2);
    await page.locator("#prompt").focus();
    await page.keyboard.press("ArrowUp");
    assert.equal(await box.inputValue(), "Tell me about ships.");
    await page.keyboard.press("Escape");
    assert.equal(await box.count(), 0);
  });

  await t.check("Esc stops a reply, and what came stays", async () => {
    await inSettings(page, (settings) => settings.getByLabel("Longest reply, in tokens").fill(""));
    await send(page, "Go on for ever.");
    await until(page, () => document.querySelector(".message.assistant:last-child .prose, .message.assistant:last-child .thought")?.textContent.length > 20);
    await page.keyboard.press("Escape");
    await complete(page);
    assert.match(await page.locator(".figures").last().innerText(), /^stopped/);
    assert.ok((await lastReply(page)).length > 20);
    await inSettings(page, (settings) => settings.getByLabel("Longest reply, in tokens").fill("30"));
  });

  await t.check("a reload shows the conversation as it was", async () => {
    const before = await page.locator(".messages").innerText();
    await page.reload();
    await page.locator(".message").first().waitFor();
    assert.equal(await page.locator(".messages").innerText(), before);
    assert.equal(await page.locator(".chat").count(), 1);
    assert.equal(await page.locator(".chat [aria-current=page]").count(), 1);
    await send(page, "Are you still there?");
    await complete(page);
    assert.ok((await page.evaluate(() => window.sent.at(-1).messages.length)) >= 5);
  });

  await t.check("conversations are renamed, listed and opened", async () => {
    await choose(page, "Rename…");
    await t.accessible(page, "rename");
    await page.getByLabel("Title").fill("Ships & looms");
    await page.keyboard.press("Enter");
    await until(page, () => document.querySelector(".chat a").textContent === "Ships & looms");
    assert.equal(await page.locator("#title").innerText(), "Ships & looms");
    await page.keyboard.press("Control+Shift+O");
    await page.locator("#welcome").waitFor();
    await send(page, "Another");
    await complete(page);
    assert.equal(await page.locator(".chat").count(), 2);
    await page.locator(".chat a", { hasText: "Ships" }).click();
    await until(page, () => document.querySelectorAll(".message").length === 6);
    await page.goBack();
    await until(page, () => document.querySelectorAll(".message").length === 2);
    await page.goForward();
    await until(page, () => document.querySelectorAll(".message").length === 6);
  });

  await t.check("what is typed and not sent survives", async () => {
    await page.locator("#prompt").fill("half a thought");
    await page.locator(".chat a", { hasText: "Another" }).click();
    await until(page, () => document.getElementById("prompt").value === "");
    await page.locator(".chat a", { hasText: "Ships" }).click();
    await until(page, () => document.getElementById("prompt").value === "half a thought");
    await page.locator("#prompt").fill("");
  });

  await t.check("history is exported, deleted and imported", async () => {
    const saved = async (click) => {
      const [download] = await Promise.all([page.waitForEvent("download"), click()]);
      return [download.suggestedFilename(), readFileSync(await download.path(), "utf8")];
    };
    const [name, markdown] = await saved(() => choose(page, "Export as Markdown"));
    assert.match(name, /\.md$/);
    assert.match(markdown, /^# .+\n\n## You\n\n/);
    const [, one] = await saved(() => choose(page, "Export as JSON"));
    assert.equal(JSON.parse(one).conversations.length, 1);
    const exported = page.locator("#export-all");
    await page.getByRole("button", { name: "Settings" }).click();
    const [, all] = await saved(() => exported.click());
    assert.equal(JSON.parse(all).conversations.length, 2);
    await page.locator("#delete-all").click();
    await t.accessible(page, "delete-all");
    await page.getByRole("button", { name: "Delete all", exact: true }).click();
    await page.locator("#welcome").waitFor();
    assert.equal(await page.locator(".chat").count(), 0);
    await page.reload();
    await page.locator("#welcome").waitFor();
    assert.equal(await page.locator(".chat").count(), 0);
    await page.locator("#import-file").setInputFiles({ name: "x.json", mimeType: "application/json", buffer: Buffer.from("{}") });
    await until(page, () => document.getElementById("toast").textContent.includes("not an export"));
    await page.locator("#import-file").setInputFiles({ name: "x.json", mimeType: "application/json", buffer: Buffer.from(all) });
    await until(page, () => document.querySelectorAll(".chat").length === 2);
    await page.locator(".chat a", { hasText: "Ships & looms" }).click();
    await until(page, () => document.querySelectorAll(".message").length === 6);
    await choose(page, "Delete…", "Ships & looms");
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await until(page, () => document.querySelectorAll(".chat").length === 1);
    await page.locator("#welcome").waitFor();
  });

  await t.check("the theme is chosen and kept", async () => {
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await paper();
    await inSettings(page, async (settings) => {
      await settings.getByText("Dark", { exact: true }).click();
      await t.shot(page, "settings-chosen-dark");
    });
    const dark = await paper();
    assert.notEqual(dark, light);
    await page.reload();
    assert.equal(await paper(), dark);
    await inSettings(page, (settings) => settings.getByText("Auto", { exact: true }).click());
    assert.equal(await paper(), light);
    await page.emulateMedia({ colorScheme: "dark" });
    assert.equal(await paper(), dark);
    await page.emulateMedia({ colorScheme: "light" });
  });

  await t.check("settings are checked, sent and kept", async () => {
    await page.getByRole("button", { name: "Settings" }).click();
    await t.accessible(page, "settings");
    const settings = page.locator("#settings");
    const { data } = await (await fetch(`${t.url}/v1/models`)).json();
    for (const [label, name] of [["Temperature", "temperature"], ["Top-p", "top_p"], ["Top-k", "top_k"], ["Min-p", "min_p"]]) {
      assert.equal(Number(await settings.getByLabel(label).getAttribute("placeholder")), data[0].default_parameters[name]);
    }
    await settings.getByLabel("Temperature").fill("9");
    assert.match(await page.locator("#settings-error").innerText(), /Temperature: expected a number from 0 to 2\./);
    await settings.getByLabel("Temperature").fill("0.5");
    assert.equal(await page.locator("#settings-error").innerText(), "");
    for (const [label, value] of [["Top-p", "0.9"], ["Top-k", "20"], ["Min-p", "0.05"], ["Seed", "7"]]) {
      await settings.getByLabel(label).fill(value);
    }
    await settings.getByLabel("For all chats").fill("Be brief.");
    await settings.getByLabel("Thinking").selectOption("off");
    await page.keyboard.press("Escape");
    await page.reload();
    await until(page, () => !document.getElementById("model").disabled);
    await send(page, "Hello");
    await complete(page);
    const { messages, model, ...body } = await page.evaluate(() => window.sent.at(-1));
    assert.deepEqual(messages, [{ role: "system", content: "Be brief." }, { role: "user", content: "Hello" }]);
    assert.equal(model, await page.locator("#model").inputValue());
    assert.deepEqual(body, {
      stream: true, stream_options: { include_usage: true }, return_progress: true, temperature: 0.5, top_p: 0.9, top_k: 20, min_p: 0.05, max_tokens: 30, seed: 7,
      chat_template_kwargs: { enable_thinking: false },
    });
    const first = await lastReply(page);
    await page.getByRole("button", { name: "Ask again" }).click();
    await complete(page);
    assert.equal(await lastReply(page), first, "the same seed gave another reply");
  });

  await page.context().close();
}
