// A phone's width, the keyboard alone, reduced motion, and the status page.

import assert from "node:assert/strict";
import { complete, send, until } from "./harness.mjs";

/** Waits until a page that was opened or resized fits the screen's width. */
const fits = (page) =>
  until(page, () => document.documentElement.scrollWidth <= document.documentElement.clientWidth && visualViewport.scale === 1);

export async function screens(t) {
  await t.check("a phone shows everything without scrolling sideways", async () => {
    const page = await t.open("/", { width: 360, height: 700, phone: true });
    await until(page, () => !document.getElementById("model").disabled);
    await fits(page);
    await t.accessible(page, "phone-empty");
    const long = `\`\`\`\n${"x".repeat(300)}\n\`\`\`\n\n${"y".repeat(300)}\n\n| ${"a | ".repeat(20)}\n|${"---|".repeat(20)}\n| ${"b | ".repeat(20)}`;
    await page.evaluate((content) => window.reply({ pieces: [{ reasoning_content: content }, { content }] }), long);
    await send(page, "z".repeat(300));
    await complete(page);
    await fits(page);
    await t.accessible(page, "phone-replied");
    await page.getByRole("button", { name: "Show conversations" }).click();
    assert.equal(await page.evaluate(() => document.activeElement.id), "hide-sidebar");
    assert.equal(await page.evaluate(() => document.querySelector(".stage").inert), true);
    await t.accessible(page, "phone-list");
    await page.keyboard.press("Escape");
    assert.equal(await page.evaluate(() => document.querySelector(".stage").inert), false);
    assert.equal(await page.evaluate(() => document.activeElement.id), "show-sidebar");
    await page.getByRole("button", { name: "Show conversations" }).click();
    await page.getByRole("button", { name: "Settings" }).click();
    await t.accessible(page, "phone-settings");
    await fits(page);
    await page.context().close();
  });

  await t.check("the keyboard is enough", async () => {
    const page = await t.open("/");
    await until(page, () => !document.getElementById("model").disabled);
    const focused = () => page.evaluate(() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.innerText ?? "");
    await page.evaluate(() => document.activeElement.blur());
    // From the end of the page the focus goes to the browser's own controls, and then to the beginning.
    for (let presses = 0; presses < 3 && (await focused()) !== "Skip to the message box"; presses += 1) await page.keyboard.press("Tab");
    assert.equal(await focused(), "Skip to the message box");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "prompt");
    await page.keyboard.type("one");
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.type("two");
    assert.equal(await page.locator("#prompt").inputValue(), "one\ntwo");
    await page.evaluate(() => window.reply({ pieces: [{ content: "three" }] }));
    await page.keyboard.press("Enter");
    await complete(page);
    await page.keyboard.press("Control+,");
    assert.equal(await focused(), "Close settings");
    await page.keyboard.press("Escape");
    // The menu of the conversation: opened, walked through, closed; the focus comes back.
    await page.locator(".chat .more").focus();
    await page.keyboard.press("Enter");
    assert.equal(await focused(), "Rename…");
    await page.keyboard.press("ArrowUp");
    assert.equal(await focused(), "Delete…");
    await t.accessible(page, "menu");
    await page.keyboard.press("Escape");
    assert.match(await focused(), /^Actions for “one”$/);
    await page.locator("#hide-sidebar").focus();
    await page.keyboard.press("Enter");
    assert.equal(await focused(), "Show conversations");
    await t.accessible(page, "no-list");
    await page.context().close();
  });

  await t.check("nothing moves for those who want it so", async () => {
    const page = await t.open("/", { reducedMotion: "reduce" });
    await page.evaluate(() => window.reply({ pieces: ["hold"] }));
    await send(page, "Wait");
    await page.locator(".status").waitFor();
    assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
    await page.context().close();
  });

  await t.check("two tabs share the history", async () => {
    const page = await t.open("/");
    const other = await t.watch(await page.context().newPage(), "/");
    await other.locator("#welcome").waitFor();
    await page.evaluate(() => window.reply({ pieces: [{ content: "x" }] }));
    await send(page, "From the first tab");
    await complete(page);
    await other.locator(".chat a", { hasText: "From the first tab" }).click();
    await until(other, () => document.querySelectorAll(".message").length === 2);
    await page.locator(".chat").hover();
    await page.locator(".chat .more").click();
    await page.getByText("Delete…", { exact: true }).click();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await other.locator("#welcome").waitFor();
    await page.context().close();
  });

  await t.check("the status page shows the server at work", async () => {
    const page = await t.open("/status");
    await until(page, () => /Idle|Working/.test(document.getElementById("state-text").textContent));
    const value = (name) => page.getByRole("region", { name }).locator(".value").innerText();
    assert.match(await value("Requests running"), /^\d+$/);
    assert.match(await value("KV cache in use"), /^[\d.]+ %$/);
    assert.match(await page.locator("#facts").innerText(), /^Model\s+\S+\s+Architecture\s+\S+\s+Context\s+[\d,]+ tokens\s+Device\s+.+\s+CPU threads\s+\d+\s/);
    const names = await page.locator("#facts dt").allInnerTexts();
    assert.equal(new Set(names).size, names.length, "two fields have one name");
    const answered = async () => Number((await page.getByRole("region", { name: "Requests running" }).locator(".more").innerText()).replace(/\D/g, ""));
    const before = await answered();
    const chat = await t.watch(await page.context().newPage(), "/");
    await until(chat, () => !document.getElementById("model").disabled);
    await chat.getByRole("button", { name: "Settings" }).click();
    await chat.getByLabel("Longest reply, in tokens").fill("20");
    await chat.keyboard.press("Escape");
    await send(chat, "Some work");
    await complete(chat);
    await page.bringToFront();
    await until(page, (before) => Number(document.querySelector("[aria-label='Requests running'] .more").textContent.replace(/\D/g, "")) > before, before);
    await until(page, () => [...document.querySelectorAll(".line")].some((line) => (line.getAttribute("d").match(/L/g) ?? []).length >= 2));
    await t.accessible(page, "status");
    // Models are unloaded, loaded and pinned here.
    const list = page.getByRole("region", { name: "Models" });
    await list.getByRole("button", { name: /^Pin / }).click();
    await list.getByRole("button", { name: /^Unpin / }).waitFor();
    assert.match(await list.innerText(), /loaded · pinned/);
    await list.getByRole("button", { name: /^Unload / }).click();
    await list.getByRole("button", { name: /^Load / }).click();
    await list.getByRole("button", { name: /^Unload / }).waitFor();
    await list.getByRole("button", { name: /^Unpin / }).click();
    await list.getByRole("button", { name: /^Pin / }).waitFor();
    // A reload keeps what the charts had.
    const since = await page.locator("#since").innerText();
    assert.match(since, /^The charts begin at \d/);
    await page.reload();
    await until(page, () => document.getElementById("since").textContent !== "");
    assert.equal(await page.locator("#since").innerText(), since);
    await page.getByText("The same as a table").click();
    // The browser tells the page of the click later.
    await page.locator("#table-body tr").first().waitFor();
    await t.accessible(page, "status-table");
    await page.setViewportSize({ width: 360, height: 700 });
    await fits(page);
    await t.accessible(page, "status-phone");
    await page.context().close();
  });

  await t.check("the status page lists the requests in work", async () => {
    const page = await t.open("/status");
    await page.getByText("None at the moment.").waitFor();
    const request = { model: "m", age_seconds: 75, prompt_tokens: 1234, generated_tokens: 0, state: "prompt" };
    const requests = [{ ...request, id: "req_1" }, { ...request, id: "req_2", generated_tokens: 5, state: "reply" }];
    await page.route("**/props", (route) => route.fulfill({ json: { requests } }));
    await page.reload();
    const rows = page.getByRole("region", { name: "Requests", exact: true }).locator("tbody tr");
    await rows.nth(1).waitFor();
    assert.deepEqual(await rows.allInnerTexts(), ["reading the prompt\t1 min\t1,234\t0\tm\treq_1", "replying\t1 min\t1,234\t5\tm\treq_2"]);
    await t.accessible(page, "status-requests");
    await page.setViewportSize({ width: 360, height: 700 });
    await fits(page);
    await page.context().close();
  });

  await t.check("the status page rests while it is out of sight", async () => {
    const page = await t.open("/status");
    let reads = 0;
    page.on("request", (request) => (reads += Number(request.url().endsWith("/metrics"))));
    await until(page, () => /Idle|Working/.test(document.getElementById("state-text").textContent));
    await page.evaluate(() => {
      Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    });
    await until(page, () => document.getElementById("state-text").textContent === "Paused");
    const before = reads;
    await page.waitForTimeout(2500);
    assert.equal(reads, before);
    await page.evaluate(() => {
      delete document.visibilityState;
      document.dispatchEvent(new Event("visibilitychange"));
    });
    await until(page, () => /Idle|Working/.test(document.getElementById("state-text").textContent));
    await page.context().close();
  });

  await t.check("the status page says when the server is gone", async () => {
    const page = await t.open("/status");
    await until(page, () => /Idle|Working/.test(document.getElementById("state-text").textContent));
    await page.route("**/metrics", (route) => route.abort());
    t.expect("net::ERR_FAILED");
    await page.getByText("The server does not answer.").waitFor();
    await page.unroute("**/metrics");
    await until(page, () => /Idle|Working/.test(document.getElementById("state-text").textContent));
    await page.context().close();
  });
}
