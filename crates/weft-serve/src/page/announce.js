// Reads a reply to screen readers as it comes: whole sentences, a few at a time, since single words would be cut off.

const END = /[.!?…:;](?=\s)|[。！？]|\n/gu;

/** Splits text into complete sentences and what is left over. */
export function sentences(text) {
  let end = 0;
  for (const match of text.matchAll(END)) end = match.index + match[0].length;
  return [text.slice(0, end), text.slice(end)];
}

export class Announcer {
  #region;
  #rest = "";
  #ready = "";
  #timer = 0;

  /** `region` is an element with `aria-live`. */
  constructor(region) {
    this.#region = region;
  }

  /** Says a notice. */
  say(text) {
    this.#region.append(Object.assign(document.createElement("p"), { textContent: text }));
    while (this.#region.childElementCount > 12) this.#region.firstElementChild.remove();
  }

  /** Adds to the text of the reply. */
  push(text) {
    const [ready, rest] = sentences(this.#rest + text);
    this.#ready += ready;
    this.#rest = rest;
    if (this.#ready && !this.#timer) this.#timer = setTimeout(() => this.#flush(), 1500);
  }

  /** Says what is left. */
  end(notice) {
    this.#ready += this.#rest;
    this.#rest = "";
    this.#flush();
    if (notice) this.say(notice);
  }

  #flush() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    // Marks of Markdown would be read out.
    const plain = this.#ready.replace(/[*_`#>|~]+/g, " ").replace(/\s+/g, " ").trim();
    this.#ready = "";
    if (plain) this.say(plain);
  }
}
