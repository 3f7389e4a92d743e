// Starts the chat page and connects its parts.

import { key, models, onMissingKey } from "./api.js";
import { askForKey, askText, confirm } from "./ask.js";
import { Chat } from "./chat.js";
import { byId, copy, download, el, placeIcons, toast } from "./dom.js";
import { openHistory } from "./history.js";
import { Settings, connectSettings } from "./settings.js";
import { Sidebar } from "./sidebar.js";
import { fileName, fromJson, toJson, toMarkdown } from "./transfer.js";

const EXAMPLES = [
  "Explain how a loom works to a ten-year-old",
  "Write a Rust function that merges two sorted slices",
  "Plan a three-day walk along a coast, as a table",
  "What should I ask before I sign a lease?",
];

placeIcons();
onMissingKey(askForKey);

const settings = new Settings();
const history = await openHistory();
let offered = [];
const selected = () => offered.find((model) => model.id === settings.get("model"));
const context = () => selected()?.context ?? null;
const chat = new Chat(history, settings, context);
const prompt = byId("prompt");

// The model.

async function showModels() {
  const select = byId("model");
  try {
    offered = await models();
  } catch (error) {
    const locked = error.status === 401;
    select.replaceChildren(el("option", {}, locked ? "A key is needed" : "No connection"));
    select.disabled = true;
    toast(error.message);
    // Whoever did not enter a key is not asked again; the settings have a button for it.
    if (!locked) setTimeout(showModels, 5000);
    return;
  }
  if (!offered.some((model) => model.id === settings.get("model"))) settings.set("model", offered[0]?.id ?? null);
  select.replaceChildren(...offered.map(({ id }) => el("option", { value: id, selected: id === settings.get("model") }, id)));
  select.disabled = offered.length === 0;
  chat.showContext();
}

byId("model").addEventListener("change", ({ target }) => {
  settings.set("model", target.value);
  chat.showContext();
});

// The list of conversations.

const one = async ({ id }) => ({ chat: await history.chat(id), messages: await history.messages(id) });

const sidebar = new Sidebar([
  { label: "Rename…", run: rename },
  {
    label: "Copy as Markdown",
    run: async (entry) => toast((await copy(toMarkdown(await one(entry)))) ? "Copied" : "The browser does not allow copying here"),
  },
  {
    label: "Export as Markdown",
    run: async (entry) => download(fileName(entry.title, "md"), "text/markdown", toMarkdown(await one(entry))),
  },
  {
    label: "Export as JSON",
    run: async (entry) => download(fileName(entry.title, "json"), "application/json", toJson([await one(entry)])),
  },
  { label: "Delete…", run: remove, danger: true },
]);

async function showChats() {
  sidebar.show(await history.chats(), chat.id);
  byId("title").textContent = chat.title;
  document.title = chat.id ? `${chat.title} – Weft` : "Weft";
}

async function rename({ id, title }) {
  const entered = await askText("Rename conversation", "Title", title);
  const entry = entered && (await history.chat(id));
  if (!entry) return;
  if (id === chat.id) chat.rename(entered);
  await history.save({ ...entry, title: entered });
  await showChats();
}

async function remove({ id, title }) {
  const sure = await confirm("Delete this conversation?", `“\u2068${title}\u2069” will be deleted from this browser. This cannot be undone.`, "Delete");
  if (!sure) return;
  chat.forget(id);
  await history.remove(id);
  if (id === chat.id) await open(null);
  await showChats();
}

/** Shows a conversation, and puts it in the address so that a reload shows it again. */
async function open(id) {
  saveDraft();
  const exists = await chat.open(id);
  if (!exists) return open(null);
  const address = id ? `#${id}` : location.pathname;
  if (location.hash.slice(1) !== (id ?? "")) window.history.pushState(null, "", address);
  showDraft();
  await showChats();
  prompt.focus();
}

window.addEventListener("hashchange", () => {
  const id = location.hash.slice(1);
  if (id !== (chat.id ?? "")) open(id || null);
});
byId("new-chat").addEventListener("click", () => {
  sidebar.hideIfNarrow();
  open(null);
});

history.addEventListener("change", showChats);
history.addEventListener("elsewhere", async () => {
  // Another tab deleted the conversation that is shown here.
  if (chat.id && !chat.running && !(await history.chat(chat.id))) await open(null);
});
chat.addEventListener("change", () => {
  showChats();
  sync();
});
chat.addEventListener("opened", () => {
  if (location.hash.slice(1) !== chat.id) window.history.pushState(null, "", `#${chat.id}`);
});
chat.addEventListener("unsaved", ({ detail }) => toast(`The browser could not save this conversation: ${detail?.message ?? detail}`));

// The message box. What is not sent is kept for this tab.

const draftKey = () => `weft.draft.${chat.id ?? "new"}`;

function saveDraft() {
  if (prompt.value) sessionStorage.setItem(draftKey(), prompt.value);
  else sessionStorage.removeItem(draftKey());
}

function showDraft() {
  prompt.value = sessionStorage.getItem(draftKey()) ?? "";
  sync();
}

function sync() {
  byId("send").disabled = !prompt.value.trim();
  prompt.style.height = "auto";
  prompt.style.height = `${prompt.scrollHeight}px`;
}

function submit() {
  const text = prompt.value;
  if (!text.trim() || chat.running) return;
  prompt.value = "";
  saveDraft();
  sync();
  chat.send(text);
  prompt.focus();
}

prompt.addEventListener("input", () => {
  sync();
  saveDraft();
});
prompt.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    submit();
  } else if (event.key === "ArrowUp" && prompt.value === "" && chat.editLast()) {
    event.preventDefault();
  }
});
byId("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});
byId("stop").addEventListener("click", () => {
  chat.stop();
  prompt.focus();
});
byId("examples").append(
  ...EXAMPLES.map((text) =>
    el("button", {
      type: "button",
      onclick: () => {
        prompt.value = text;
        sync();
        saveDraft();
        prompt.focus();
      },
    }, text),
  ),
);

// Settings, and the history as a whole.

const openSettings = connectSettings(settings, {
  changed: () => chat.showContext(),
  defaults: () => selected()?.defaults ?? {},
  chat,
});
byId("open-settings").addEventListener("click", openSettings);
byId("enter-key").addEventListener("click", async () => {
  if (await askForKey(false)) showModels();
});
byId("forget-key").addEventListener("click", () => {
  key.forget();
  toast("The key is forgotten");
});
byId("export-all").addEventListener("click", async () => {
  const entries = await Promise.all((await history.chats()).map(one));
  download("weft-chats.json", "application/json", toJson(entries));
});
byId("import").addEventListener("click", () => byId("import-file").click());
byId("import-file").addEventListener("change", async ({ target }) => {
  const [file] = target.files;
  target.value = "";
  if (!file) return;
  try {
    const known = new Set((await history.chats()).map(({ id }) => id));
    const entries = fromJson(await file.text(), known);
    for (const entry of entries) await history.save(entry.chat, entry.messages);
    toast(`${entries.length} ${entries.length === 1 ? "conversation" : "conversations"} imported`);
  } catch (error) {
    toast(error.message);
  }
});
byId("delete-all").addEventListener("click", async () => {
  const all = await history.chats();
  const sure = await confirm("Delete all conversations?", `${all.length} will be deleted from this browser. This cannot be undone. You can export them first.`, "Delete all");
  if (!sure) return;
  for (const { id } of all) chat.forget(id);
  await history.clear();
  byId("settings").close();
  await open(null);
  toast("All conversations are deleted");
});
if (!history.lasting) {
  byId("history-note").textContent = "This browser keeps no history here: conversations are lost when you close this page.";
}

// Keys that work everywhere.

document.addEventListener("keydown", (event) => {
  const dialog = document.querySelector("dialog[open], :popover-open");
  const control = event.ctrlKey || event.metaKey;
  if (event.key === "Escape" && !dialog && chat.running) {
    event.preventDefault();
    chat.stop();
  } else if (control && event.shiftKey && event.key.toLowerCase() === "o" && !dialog) {
    event.preventDefault();
    open(null);
  } else if (control && event.key === "," && !dialog) {
    event.preventDefault();
    openSettings();
  }
});

await open(location.hash.slice(1) || null);
await showModels();
