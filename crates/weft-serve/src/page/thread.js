// A conversation as a tree. Editing a message or asking again adds a branch, so nothing that was said is lost.

/** A random id. `crypto.randomUUID` exists only over HTTPS and on loopback. */
export function newId() {
  return [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export class Thread {
  /** `messages` have `id`, `parent` (null for a first one), `role`, `content` and `created`. */
  constructor(messages = [], leaf = null) {
    this.messages = new Map(messages.map((message) => [message.id, message]));
    this.leaf = this.messages.has(leaf) ? leaf : this.#newest();
  }

  /** The messages from the first one to the current leaf. */
  path() {
    const path = [];
    const seen = new Set();
    for (let at = this.messages.get(this.leaf); at && !seen.has(at.id); at = this.messages.get(at.parent)) {
      seen.add(at.id);
      path.push(at);
    }
    return path.reverse();
  }

  /** The alternatives to a message, itself among them, in the order they were made. */
  siblings(message) {
    return this.#children(message.parent);
  }

  /** Adds a message after `parent` and makes it the leaf. */
  add(parent, message) {
    const added = { id: newId(), parent, created: Date.now(), ...message };
    this.messages.set(added.id, added);
    this.leaf = added.id;
    return added;
  }

  /** Shows the branch of a message, down to its newest end. */
  show(message) {
    let at = message;
    for (let next; (next = this.#children(at.id).at(-1)); ) at = next;
    this.leaf = at.id;
  }

  #children(parent) {
    const found = [...this.messages.values()].filter((message) => message.parent === parent);
    return found.sort((a, b) => a.created - b.created);
  }

  #newest() {
    const parents = new Set([...this.messages.values()].map((message) => message.parent));
    const ends = [...this.messages.values()].filter((message) => !parents.has(message.id));
    return ends.sort((a, b) => a.created - b.created).at(-1)?.id ?? null;
  }
}
