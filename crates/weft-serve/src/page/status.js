// Starts the status page: reads /metrics while the page is in sight, and draws what it says.

import { models, onMissingKey, request } from "./api.js";
import { askForKey } from "./ask.js";
import { Chart, SPAN } from "./charts.js";
import { byId, count, el, seconds } from "./dom.js";
import { ModelList, changes } from "./models.js";
import { labelValues, parse, quantile, rate, reading } from "./metrics.js";

/** How often the server is read, in milliseconds. */
const EVERY = 1500;

/** How far apart the readings are of which a speed is the difference: a single step's would jump. In milliseconds. */
const SMOOTH = 6000;

/** How often what the server is, and takes, is read, in milliseconds. */
const PROPERTIES_EVERY = 10_000;

/** Where the charts are kept while this tab shows another page. */
const KEPT = "weft.status";

onMissingKey(askForKey);

const percent = (share) => `${(share * 100).toFixed(share > 0 && share < 0.0995 ? 1 : 0)} %`;
const speed = (value) => (value < 10 ? value.toFixed(1) : count(value));

/** Each chart: its name, how its value follows from the readings, how that is written, and a remark. */
const CHARTS = [
  { name: "Reply tokens per second", of: (r, before) => rate(before, r, "generated"), format: speed, more: (r) => `${count(r.generated ?? 0)} since the start` },
  { name: "Prompt tokens per second", of: (r, before) => promptRate(before, r), format: speed, more: (r) => `${count(r.prompt ?? 0)} since the start, cached ones included` },
  { name: "Tokens per step", of: (r, before) => batch(before, r), format: speed, more: (r) => `the batch; ${count(r.steps ?? 0)} steps since the start` },
  { name: "Requests running", of: (r) => r.running, format: count, more: (r) => `${count(r.ended ?? 0)} answered since the start` },
  { name: "Requests waiting", of: (r) => r.waiting, format: count, more: () => "" },
  {
    name: "KV cache in use", most: 1, of: (r) => r.cacheUse, format: percent,
    more: (r) => (r.pages ? `${count(r.held ?? 0)} of ${count(r.pages)} pages; ${count(r.kept ?? 0)} more kept for later prompts` : ""),
  },
  {
    name: "Prefix cache hits", most: 1, of: (r, _, window) => share(window[0], r), format: percent,
    more: (r) => (r.queries ? `${count(r.hits ?? 0)} of ${count(r.queries)} prompt tokens since the start` : "no prompts yet"),
  },
  { name: "Time to first token", of: (r, _, window) => quantile(0.5, window[0].first, r.first), format: seconds, more: (r, window) => tail(window, "first") },
  { name: "Time between tokens", of: (r, _, window) => quantile(0.5, window[0].between, r.between), format: seconds, more: (r, window) => tail(window, "between") },
];

/** The tokens of prompts that were computed per second: of all that were computed, those that did not follow from a reply's. */
function promptRate(before, now) {
  const [all, replies] = [rate(before, now, "computed"), rate(before, now, "generated")];
  return all === null || replies === null ? null : Math.max(0, all - replies);
}

/** How many tokens the engine computed together, on average. */
function batch(before, now) {
  const [tokens, steps] = [rate(before, now, "computed"), rate(before, now, "steps")];
  return steps === null || tokens === null ? null : steps > 0 ? tokens / steps : 0;
}

/** The share of looked-up prompt tokens that were found, over the last minute in which there were any. */
function share(before, now) {
  if (now.queries === null || !now.queries) return null;
  const queries = now.queries - before.queries;
  return queries > 0 ? (now.hits - before.hits) / queries : now.hits / now.queries;
}

function tail(window, name) {
  const late = quantile(0.99, window[0][name], window.at(-1)[name]);
  return late === null ? "median; no tokens in the last minute" : `median of the last minute; 99 % below ${seconds(late)}`;
}

const charts = CHARTS.map(({ name, most }) => new Chart(name, { most }));
const list = el("tbody");
const none = el("p", { class: "more" }, "None at the moment.");
const modelList = new ModelList(readProperties);
byId("charts").append(...charts.map((chart) => chart.element), modelList.element, requestList());
byId("table-head").append(el("th", { scope: "col" }, "Time"), ...CHARTS.map(({ name }) => el("th", { scope: "col" }, name)));

let readings = [];
/** For each reading, the values of all charts. */
let rows = kept();
let offered = [];
let properties = { at: 0 };

/** The requests that wait or are in work, beside the charts. */
function requestList() {
  const columns = ["State", "Age", "Prompt", "Reply", "Model", "Request"];
  const head = el("thead", {}, el("tr", {}, ...columns.map((name) => el("th", { scope: "col" }, name))));
  const table = el("div", { class: "table", tabindex: "0", role: "group", "aria-label": "Requests, as a table" },
    el("table", {}, el("caption", {}, "Those in work and those that wait; lengths are in tokens"), head, list));
  return el("section", { class: "chart requests", "aria-label": "Requests" }, el("h2", {}, "Requests"), none, table);
}

const STATES = { waiting: "waiting", prompt: "reading the prompt", reply: "replying" };

function drawRequests(requests) {
  none.hidden = requests.length > 0;
  list.closest(".table").hidden = requests.length === 0;
  list.replaceChildren(
    ...requests.map((one) =>
      el("tr", {},
        ...[STATES[one.state] ?? one.state, duration(one.age_seconds), count(one.prompt_tokens), count(one.generated_tokens), one.model].map((text) => el("td", {}, text)),
        el("th", { scope: "row" }, one.id))),
  );
}

/** The rows that this tab had before a reload. */
function kept() {
  try {
    const rows = JSON.parse(sessionStorage.getItem(KEPT)) ?? [];
    const whole = ({ at, values }) => Date.now() - at <= SPAN && at <= Date.now() && values.length === CHARTS.length;
    return rows.filter(whole);
  } catch {
    return [];
  }
}

window.addEventListener("pagehide", () => {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(rows));
  } catch {
    // No storage: the charts begin anew.
  }
});

function add(now) {
  const last = readings.at(-1);
  // Counters that fall, or a long pause: what came before says nothing about now.
  if (last && (now.uptime ?? 0) < (last.uptime ?? 0)) readings = [];
  readings = readings.filter(({ at }) => now.at - at <= 60_000);
  readings.push(now);
  const before = readings.findLast(({ at }) => now.at - at >= SMOOTH) ?? (readings.length > 1 ? readings[0] : null);
  rows = rows.filter(({ at }) => now.at - at <= SPAN);
  rows.push({ at: now.at, values: CHARTS.map(({ of }) => of(now, before, readings)) });
}

function draw(now) {
  CHARTS.forEach(({ format, more }, i) => {
    const values = rows.map(({ at, values }) => [at, values[i]]);
    charts[i].show(values, now.at, format, more(now, readings));
  });
  byId("facts").replaceChildren(...facts(now).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
  const since = rows[0].at;
  byId("since").textContent = now.at - since < SPAN - EVERY ? `The charts begin at ${time(since)}, when this page first read the server.` : "";
  if (document.querySelector(".as-table").open) drawTable();
}

const time = (at) => new Date(at).toLocaleTimeString([], { hour12: false });

/** What the server is: `[name, value]`, each name once. */
function facts(now) {
  const { threads, memory_bytes: memory, build_info: version } = properties;
  const context = (model) => (model.context ? `${count(model.context)} tokens` : "known once it is loaded");
  const [only] = offered;
  const models =
    offered.length === 1
      ? [["Model", only.id], ["Architecture", only.architecture], ["Context", context(only)], ["Device", only.device]]
      : offered.map((model, at) => [
          `Model ${at + 1}`,
          [model.id, ...(model.loaded === false ? ["not loaded"] : [context(model), model.device].filter(Boolean))].join(" · "),
        ]);
  const known = [
    ...models,
    ["CPU threads", threads],
    ["Memory", memory ? (memory < 1e9 ? `${count(Math.round(memory / 1e6))} MB` : `${(memory / 1e9).toFixed(memory < 1e10 ? 2 : 1)} GB`) : null],
    ["Version", version],
    ["Up for", now.uptime === null ? "–" : duration(now.uptime)],
  ];
  return known.filter(([, value]) => value !== null && value !== undefined);
}

function drawTable() {
  const shown = [];
  for (const row of rows.toReversed()) {
    if (shown.length === 0 || shown.at(-1).at - row.at >= 9_500) shown.push(row);
  }
  byId("table-body").replaceChildren(
    ...shown.map(({ at, values }) =>
      el("tr", {},
        el("th", { scope: "row" }, time(at)),
        ...values.map((value, i) => el("td", {}, value === null ? "–" : CHARTS[i].format(value)))),
    ),
  );
}

document.querySelector(".as-table").addEventListener("toggle", drawTable);

function duration(total) {
  const minutes = Math.floor(total / 60);
  if (minutes < 1) return `${Math.floor(total)} s`;
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} days`;
}

function say(state, text) {
  byId("state").dataset.state = state;
  // A live region speaks whenever it is set.
  if (byId("state-text").textContent !== text) byId("state-text").textContent = text;
}

async function read() {
  try {
    const samples = parse(await (await request("/metrics")).text());
    const now = reading(samples, Date.now());
    const named = labelValues(samples, "vllm:num_requests_running", "model_name");
    const busy = now.running || now.waiting || properties.requests?.length || offered.some(changes);
    if (busy || now.at - properties.at >= PROPERTIES_EVERY || named.some((name) => !offered.some(({ id }) => id === name))) {
      await readProperties();
    }
    add(now);
    draw(now);
    say("good", now.running ? "Working" : "Idle");
  } catch (error) {
    say("bad", error.status === 401 ? "This server asks for an API key." : error.message);
    if (error.status === 401) await clicked(byId("enter-key"));
  }
}

/** Reads what the server is, and takes. */
async function readProperties() {
  [offered, properties] = [await models(), { ...(await (await request("/props")).json()), at: Date.now() }];
  drawRequests(properties.requests ?? []);
  modelList.show(offered);
}

/** Shows a button until it is clicked. */
async function clicked(button) {
  button.hidden = false;
  await new Promise((resolve) => button.addEventListener("click", resolve, { once: true }));
  button.hidden = true;
}

for (;;) {
  if (document.visibilityState === "hidden") {
    say("paused", "Paused");
    await new Promise((seen) => document.addEventListener("visibilitychange", seen, { once: true }));
    continue;
  }
  await read();
  await new Promise((resolve) => setTimeout(resolve, EVERY));
}
