// Keeps conversations in this browser (IndexedDB). Messages are records of their own, so that two tabs cannot overwrite each
// other's.

const NAME = "weft";

/** Opens the history. Where the browser keeps none, as in some private windows, it lasts as long as the page. */
export async function openHistory() {
  try {
    return new History(await openDatabase());
  } catch {
    return new History(null);
  }
}

function openDatabase() {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(NAME, 1);
    opening.onupgradeneeded = () => {
      opening.result.createObjectStore("chats", { keyPath: "id" });
      opening.result.createObjectStore("messages", { keyPath: "id" }).createIndex("chat", "chat");
    };
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
    opening.onblocked = () => reject(new Error("blocked"));
  });
}

const result = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/**
 * Fires `change` when anything was saved or deleted, and `elsewhere` too if another tab did it.
 *
 * Conversations are `{id, title, created, updated, leaf, model, system}`, where `system` is a system prompt
 * of their own; messages are those of `Thread` with the `chat` they are in.
 */
class History extends EventTarget {
  #database;
  #memory = { chats: new Map(), messages: new Map() };
  #tabs = new BroadcastChannel("weft.history");

  constructor(database) {
    super();
    this.#database = database;
    this.#tabs.onmessage = () => {
      this.dispatchEvent(new Event("change"));
      this.dispatchEvent(new Event("elsewhere"));
    };
    // Another tab has a newer version of the page: let it upgrade.
    if (database) database.onversionchange = () => database.close();
  }

  /** Whether conversations outlive the page. */
  get lasting() {
    return this.#database !== null;
  }

  /** All conversations, the newest first. */
  async chats() {
    const all = this.#database
      ? await result(this.#database.transaction("chats").objectStore("chats").getAll())
      : [...this.#memory.chats.values()];
    return all.sort((a, b) => b.updated - a.updated);
  }

  async chat(id) {
    if (!this.#database) return this.#memory.chats.get(id);
    return result(this.#database.transaction("chats").objectStore("chats").get(id));
  }

  async messages(chat) {
    if (!this.#database) return [...this.#memory.messages.values()].filter((message) => message.chat === chat);
    const store = this.#database.transaction("messages").objectStore("messages");
    return result(store.index("chat").getAll(chat));
  }

  /** Saves a conversation and any of its messages, all or nothing. */
  async save(chat, messages = []) {
    await this.#write((chats, store) => {
      chats.put({ ...chat });
      for (const message of messages) store.put({ ...message, chat: chat.id });
    });
  }

  /** Saves one message of a conversation, unless it has been deleted meanwhile. */
  async saveMessage(chat, message) {
    if (await this.chat(chat.id)) await this.save(chat, [message]);
  }

  async remove(id) {
    const messages = await this.messages(id);
    await this.#write((chats, store) => {
      chats.delete(id);
      for (const message of messages) store.delete(message.id);
    });
  }

  async clear() {
    await this.#write((chats, messages) => {
      chats.clear();
      messages.clear();
    });
  }

  async #write(change) {
    if (this.#database) {
      // Strict: what the page shows as saved survives a power cut.
      const transaction = this.#database.transaction(["chats", "messages"], "readwrite", { durability: "strict" });
      const done = new Promise((resolve, reject) => {
        transaction.oncomplete = resolve;
        transaction.onabort = () => reject(transaction.error);
      });
      change(transaction.objectStore("chats"), transaction.objectStore("messages"));
      await done;
    } else {
      const { chats, messages } = this.#memory;
      const store = (map) => ({ put: (value) => map.set(value.id, value), delete: (id) => map.delete(id), clear: () => map.clear() });
      change(store(chats), store(messages));
    }
    this.#tabs.postMessage("change");
    this.dispatchEvent(new Event("change"));
  }
}
