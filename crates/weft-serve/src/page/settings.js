// The user's settings, kept in this browser, and the dialog that changes them.

import { byId } from "./dom.js";

const KEY = "weft.settings";

/** Parameters that are sent as numbers, if they are set. */
const NUMBERS = ["temperature", "top_p", "top_k", "min_p", "max_tokens", "seed"];

export class Settings {
  #values = {};

  constructor() {
    try {
      this.#values = JSON.parse(localStorage.getItem(KEY)) ?? {};
    } catch {
      // No storage, or damaged: the defaults.
    }
  }

  get(name) {
    return this.#values[name] ?? null;
  }

  set(name, value) {
    if (value === null || value === "") delete this.#values[name];
    else this.#values[name] = value;
    try {
      localStorage.setItem(KEY, JSON.stringify(this.#values));
    } catch {
      // No storage: the setting lasts as long as the page.
    }
  }

  /** What a request carries. Parameters that the user has not set are left out, so the server decides. */
  parameters() {
    const parameters = {};
    for (const name of NUMBERS) {
      if (Number.isFinite(this.get(name))) parameters[name] = this.get(name);
    }
    if (this.get("thinking")) parameters.chat_template_kwargs = { enable_thinking: this.get("thinking") === "on" };
    return parameters;
  }
}

/** Shows a theme: `light`, `dark`, or the system's. */
export function showTheme(theme) {
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

/** A default value as an empty field shows it. */
function shown(name, value) {
  if (name === "seed") return "random";
  if (!Number.isFinite(value)) return name === "max_tokens" ? "no limit" : "default";
  if (name === "top_k" && value === 0) return "0, all";
  return String(Number(value.toPrecision(6)));
}

/**
 * Connects the settings' dialog. `changed` is called after each change, `defaults` returns what the server
 * has for fields that are empty, by their names, and `chat` has the system prompt of the conversation.
 */
export function connectSettings(settings, { changed, defaults, chat }) {
  const form = byId("settings-form");
  const show = () => {
    for (const name of [...NUMBERS, "system", "thinking"]) form.elements[name].value = settings.get(name) ?? "";
    for (const name of NUMBERS) form.elements[name].placeholder = shown(name, defaults()[name]);
    byId("chat-system").value = chat.system;
    form.elements.theme.value = settings.get("theme") ?? "auto";
    check();
  };
  const check = () => {
    const wrong = NUMBERS.map((name) => form.elements[name]).filter((input) => !input.validity.valid);
    for (const name of NUMBERS) {
      const input = form.elements[name];
      input.toggleAttribute("aria-invalid", false);
      if (!input.validity.valid) input.setAttribute("aria-invalid", "true");
    }
    byId("settings-error").textContent = wrong.map((input) => `${input.labels[0].textContent}: ${expected(input)}`).join(" ");
  };
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", ({ target }) => {
    const { name } = target;
    if (target.id === "chat-system") {
      chat.setSystem(target.value);
    } else if (NUMBERS.includes(name)) {
      // An invalid number stays in the form and is not used.
      if (target.validity.valid) settings.set(name, target.value === "" ? null : target.valueAsNumber);
      check();
    } else if (name === "theme") {
      settings.set("theme", target.value === "auto" ? null : target.value);
      showTheme(settings.get("theme"));
    } else {
      settings.set(name, target.value);
    }
    changed();
  });
  byId("reset-sampling").addEventListener("click", () => {
    for (const name of [...NUMBERS, "thinking"]) settings.set(name, null);
    show();
    changed();
  });
  const dialog = byId("settings");
  dialog.addEventListener("click", (event) => {
    // A click beside the drawer.
    if (event.target === dialog) dialog.close();
  });
  return () => {
    show();
    dialog.showModal();
  };
}

function expected(input) {
  const kind = input.step === "1" ? "a whole number" : "a number";
  if (input.max && Number(input.max) < 1e6) return `expected ${kind} from ${input.min} to ${input.max}.`;
  return `expected ${kind} of at least ${input.min}.`;
}
