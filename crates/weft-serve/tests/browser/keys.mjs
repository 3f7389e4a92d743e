// A server that asks for a key: both pages ask the user for it, once.

import assert from "node:assert/strict";
import { complete, send, startServer, until } from "./harness.mjs";

const KEY = "key-of-the-browser-test";

export async function keys(t, server) {
  if (server.url) return;
  const { url, stop } = await startServer({ ...server, key: KEY });
  const before = t.url;
  t.url = url;
  const refused = "status of 401";

  await t.check("the chat page asks for the key that the server wants", async () => {
    const page = await t.open("/");
    await page.getByRole("dialog", { name: "API key" }).waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await until(page, () => document.getElementById("model").innerText === "A key is needed");
    await t.accessible(page, "locked");
    await page.getByRole("button", { name: "Settings" }).click();
    await page.getByRole("button", { name: "Enter a key…" }).click();
    await page.locator("#ask-input").fill("wrong");
    await page.keyboard.press("Enter");
    await page.getByText("The server does not accept this key.").waitFor();
    await page.locator("#ask-input").fill(KEY);
    await page.keyboard.press("Enter");
    await until(page, () => !document.getElementById("model").disabled);
    await page.getByLabel("Longest reply, in tokens").fill("10");
    await page.keyboard.press("Escape");
    await send(page, "Hello");
    await complete(page);
    assert.equal(await page.locator(".failure").count(), 0);
    await page.reload();
    await until(page, () => !document.getElementById("model").disabled);
    assert.equal(await page.getByRole("dialog").count(), 0, "the key was forgotten");
    t.expect(refused);
    t.expect(refused);
    await page.context().close();
  });

  await t.check("the status page asks for it too", async () => {
    const page = await t.open("/status");
    await page.getByRole("dialog", { name: "API key" }).waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await t.accessible(page, "status-locked");
    await page.getByRole("button", { name: "Enter a key…" }).click();
    await page.locator("#ask-input").fill(KEY);
    await page.keyboard.press("Enter");
    await until(page, () => /Idle|Working/.test(document.getElementById("state-text").textContent));
    t.expect(refused);
    t.expect(refused);
    await page.context().close();
  });

  t.url = before;
  await stop();
}
