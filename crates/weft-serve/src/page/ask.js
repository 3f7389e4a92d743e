// Small dialogs: a question, a text, a key.

import { byId } from "./dom.js";
import { key } from "./api.js";

/** Asks. Resolves to the text entered (or true, if there is no field), or to null if the user cancels. */
function ask({ title, text, ok, danger = false, field = null }) {
  const [dialog, form, input] = [byId("ask"), byId("ask-form"), byId("ask-input")];
  byId("ask-title").textContent = title;
  byId("ask-text").textContent = text ?? "";
  byId("ask-text").hidden = !text;
  byId("ask-ok").textContent = ok;
  byId("ask-ok").classList.toggle("danger", danger);
  input.hidden = field === null;
  byId("ask-label").hidden = field === null;
  byId("ask-label").textContent = field?.label ?? "";
  input.type = field?.type ?? "text";
  input.value = field?.value ?? "";
  return new Promise((resolve) => {
    const done = new AbortController();
    const answer = (value) => {
      done.abort();
      input.value = "";
      dialog.close();
      resolve(value);
    };
    const listen = (target, name, react) => target.addEventListener(name, react, { signal: done.signal });
    listen(form, "submit", (event) => {
      event.preventDefault();
      const value = input.value.trim();
      if (field === null) answer(true);
      else if (value) answer(value);
      else input.focus();
    });
    listen(byId("ask-cancel"), "click", () => answer(null));
    // Esc closes the dialog by itself.
    listen(dialog, "close", () => answer(null));
    dialog.showModal();
    if (field === null) byId("ask-cancel").focus();
    else input.select();
  });
}

export const confirm = (title, text, ok) => ask({ title, text, ok, danger: true });

export const askText = (title, label, value) => ask({ title, ok: "Save", field: { label, value } });

let asking = null;

/** Asks for the API key. Requests that fail at the same time share one dialog. */
export function askForKey(refused) {
  asking ??= ask({
    title: "API key",
    text: refused
      ? "The server does not accept this key. Enter another one."
      : "This server asks for a key. It is kept in this tab until you close it.",
    ok: "Continue",
    field: { label: "API key", type: "password" },
  })
    .then((value) => {
      if (value !== null) key.set(value);
      return value !== null;
    })
    .finally(() => (asking = null));
  return asking;
}
