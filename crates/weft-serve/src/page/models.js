// The list of models on the status page, with buttons that load, unload and pin them.

import { request } from "./api.js";
import { count, el } from "./dom.js";

const STATES = { unloaded: "not loaded", loading: "loading", loaded: "loaded", unloading: "ends its replies", sleeping: "asleep" };

/** Whether a model's state will change by itself. */
export const changes = ({ status }) => status === "loading" || status === "unloading";

export class ModelList {
  #rows = el("tbody");
  #said = el("p", { class: "more", role: "status" });
  #changed;

  /** `changed` is called when a button has changed a model. */
  constructor(changed) {
    this.#changed = changed;
    const head = el("thead", {}, el("tr", {}, ...["Model", "State", "Memory", "Change"].map((name) => el("th", { scope: "col" }, name))));
    const table = el("div", { class: "table", tabindex: "0", role: "group", "aria-label": "Models, as a table" },
      el("table", {}, el("caption", {}, "A model that is not loaded is loaded by the first request for it"), head, this.#rows));
    this.element = el("section", { class: "chart requests", "aria-label": "Models" }, el("h2", {}, "Models"), table, this.#said);
  }

  show(models) {
    // A button that is being used keeps the focus: rows are only made anew if they say something else.
    const text = JSON.stringify(models.map(({ id, status, task, pinned, leaves, memory }) => [id, status, task, pinned, leaves, memory]));
    if (this.#rows.dataset.shown === text) return;
    this.#rows.dataset.shown = text;
    const focused = document.activeElement?.dataset?.button;
    this.#rows.replaceChildren(...models.map((model) => this.#row(model)));
    if (focused) this.#rows.querySelector(`[data-button="${CSS.escape(focused)}"]`)?.focus();
  }

  #row({ id, status, task, pinned, leaves, memory }) {
    const more = [task, pinned ? "pinned" : null, leaves === null ? null : `unloaded after ${count(leaves)} s without requests`];
    const state = [STATES[status] ?? status, ...more.filter(Boolean)].join(" · ");
    const away = status === "unloaded" || status === "sleeping";
    const button = (label, path, json) =>
      el("button", { type: "button", class: "button quiet", "data-button": `${path} ${id}`, "aria-label": `${label} ${id}`, disabled: status === "loading",
        onclick: () => this.#send(path, { model: id, ...json }) }, label);
    return el("tr", {},
      el("th", { scope: "row" }, id),
      el("td", {}, state),
      el("td", {}, memory === null ? "–" : `${count(Math.ceil(memory / 1e6))} MB`),
      el("td", {}, away ? button("Load", "/models/load", { wait: false }) : button("Unload", "/models/unload"),
        pinned ? button("Unpin", "/models/pin", { pinned: false }) : button("Pin", "/models/pin", { pinned: true })));
  }

  async #send(path, json) {
    try {
      await request(path, { json });
      this.#said.textContent = "";
    } catch (error) {
      this.#said.textContent = error.message;
    }
    await this.#changed();
  }
}
