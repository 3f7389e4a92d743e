// Keeps the end of the conversation in view while it grows, unless the reader has scrolled away from it.

/** How near to the end counts as the end, in pixels. */
const NEAR = 64;

export class Follower {
  #box;
  #button;
  #following = true;
  #last = 0;

  /** `box` scrolls; `button` goes to the end and shows only where that is out of view. */
  constructor(box, button) {
    this.#box = box;
    this.#button = button;
    box.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    button.addEventListener("click", () => this.toEnd());
    // The keyboard of a phone, or a code block that opens, changes the height.
    new ResizeObserver(() => this.follow()).observe(box);
  }

  /** Scrolls to the end if the reader was there. */
  follow() {
    if (this.#following) this.#box.scrollTop = this.#box.scrollHeight;
    this.#show();
  }

  /** Scrolls to the end, and stays there. */
  toEnd() {
    this.#following = true;
    this.follow();
  }

  #scrolled() {
    const { scrollTop } = this.#box;
    // Only a reader scrolls up; content that grows leaves the position as it is.
    if (this.#atEnd()) this.#following = true;
    else if (scrollTop < this.#last) this.#following = false;
    this.#last = scrollTop;
    this.#show();
  }

  #atEnd() {
    return this.#box.scrollHeight - this.#box.scrollTop - this.#box.clientHeight < NEAR;
  }

  #show() {
    this.#button.hidden = this.#following || this.#atEnd();
  }
}
