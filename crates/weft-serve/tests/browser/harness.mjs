// What all browser tests use: the server, the browser, and a list of checks that must all hold.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { AxeBuilder } from "@axe-core/playwright";
import { chromium } from "playwright-core";
import { scripted } from "./scripted.mjs";

/** The longest that anything may take, in milliseconds. */
const PATIENCE = 30_000;

/** Starts `weft serve` on a free port, or uses the server at `url`. Returns its address and how to end it. */
export async function startServer({ url, weft, model, key }) {
  if (url) return { url: url.replace(/\/$/, ""), stop: async () => {} };
  const port = 20_000 + Math.floor(Math.random() * 20_000);
  const server = spawn(weft, ["serve", model, "--port", String(port), "--temperature", "1"], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...(key ? { WEFT_API_KEY: key } : {}) },
  });
  let said = "";
  for (const stream of [server.stdout, server.stderr]) stream.on("data", (text) => (said += text));
  const ended = new Promise((resolve) => server.on("exit", resolve));
  const address = `http://127.0.0.1:${port}`;
  for (const begun = Date.now(); ; ) {
    const ready = await fetch(`${address}/ready`).catch(() => null);
    if (ready?.ok) break;
    if (server.exitCode !== null || Date.now() - begun > 60_000) throw new Error(`weft serve did not start:\n${said}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const stop = async () => {
    server.kill("SIGTERM");
    assert.equal(await ended, 0, `weft serve did not end well:\n${said}`);
  };
  return { url: address, stop };
}

/** A browser whose pages may not complain. */
export class Tester {
  #browser;
  #problems = [];
  #expected = [];
  #failed = 0;

  constructor(browser, url, shots) {
    this.#browser = browser;
    this.url = url;
    this.shots = shots;
    if (shots) mkdirSync(shots, { recursive: true });
  }

  static async launch(executablePath, url, shots) {
    // Chromium refuses to run in its sandbox as root, which containers are.
    const args = process.getuid() === 0 ? ["--no-sandbox"] : [];
    return new Tester(await chromium.launch({ executablePath, args }), url, shots);
  }

  /** Opens a page in a fresh profile. Every message in its console and every request to another site is a failure. */
  async open(path, { width = 1200, height = 820, theme = "light", phone = false, ...options } = {}) {
    const context = await this.#browser.newContext({
      viewport: { width, height },
      colorScheme: theme,
      hasTouch: phone,
      isMobile: phone,
      permissions: ["clipboard-read", "clipboard-write"],
      ...options,
    });
    context.setDefaultTimeout(PATIENCE);
    await context.addInitScript(scripted);
    return this.watch(await context.newPage(), path);
  }

  async watch(page, path) {
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) this.#problems.push(`console: ${message.text()}`);
    });
    page.on("pageerror", (error) => this.#problems.push(`uncaught: ${error.stack}`));
    page.on("request", (request) => {
      const own = request.url().startsWith(`${this.url}/`) || /^(blob|data):/.test(request.url());
      if (!own) this.#problems.push(`a request to ${request.url()}`);
    });
    await page.goto(path.startsWith("/") ? this.url + path : path);
    return page;
  }

  /** Allows one message in the console that contains `text`. */
  expect(text) {
    this.#expected.push(text);
  }

  /** Runs a check. */
  async check(name, run) {
    const begun = Date.now();
    try {
      await run();
      this.#complaints();
      console.log(`ok    ${name} (${Date.now() - begun} ms)`);
    } catch (error) {
      this.failed(name, error);
    }
  }

  /** Notes that a check failed. */
  failed(name, error) {
    this.#failed += 1;
    console.log(`FAIL  ${name}\n${error.stack ?? error}\n`);
  }

  #complaints() {
    for (const text of this.#expected.splice(0)) {
      const at = this.#problems.findIndex((problem) => problem.includes(text));
      if (at >= 0) this.#problems.splice(at, 1);
    }
    const problems = this.#problems.splice(0);
    assert.deepEqual(problems, [], "the page complained");
  }

  /** Finds no accessibility violation in a page as it is, in either theme. */
  async accessible(page, name) {
    for (const theme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      await this.shot(page, `${name}-${theme}`);
      const { violations } = await new AxeBuilder({ page }).analyze();
      const found = violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`));
      assert.deepEqual(found, [], `${name}, ${theme}`);
    }
    await page.emulateMedia({ colorScheme: "light", reducedMotion: "no-preference" });
  }

  /** Keeps a picture, if they are wanted. */
  async shot(page, name) {
    if (this.shots) await page.screenshot({ path: `${this.shots}/${name}.png` });
  }

  /** Ends the browser. Returns the number of checks that failed. */
  async close() {
    await this.#browser.close().catch((error) => this.failed("the browser ends", error));
    return this.#failed;
  }
}

/** Types a message and sends it. */
export async function send(page, text) {
  await page.getByLabel("Message", { exact: true }).fill(text);
  await page.keyboard.press("Enter");
}

/** Waits until the reply is complete. */
export async function complete(page) {
  await page.locator("#send").waitFor();
  await page.locator("#stop").waitFor({ state: "hidden" });
}

/** The text of the last reply. */
export const lastReply = (page) => page.locator(".message.assistant").last().locator(".body").innerText();

/** Waits until a condition in the page holds. */
export const until = (page, condition, argument) => page.waitForFunction(condition, argument, { timeout: PATIENCE });
