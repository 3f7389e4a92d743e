// The list of conversations, and what can be done with each.

import { byId, el, icon } from "./dom.js";

const DAY = 86_400_000;

/** The heading under which a conversation is listed. */
function age(time, now) {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  if (time >= midnight) return "Today";
  if (time >= midnight - DAY) return "Yesterday";
  if (time >= midnight - 7 * DAY) return "Last seven days";
  return "Older";
}

export class Sidebar {
  #actions;

  /** `actions` is a list of `{label, run(chat), danger}`. */
  constructor(actions) {
    this.#actions = actions;
    for (const id of ["show-sidebar", "hide-sidebar", "scrim"]) byId(id).addEventListener("click", () => this.toggle(id === "show-sidebar"));
    byId("sidebar").addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.#covers()) this.toggle(false);
    });
    this.#narrow.addEventListener("change", () => this.#sync());
    this.#sync();
  }

  #narrow = matchMedia("(max-width: 760px)");
  #open = { wide: true, narrow: false };

  /** Whether the list lies over the conversation. */
  #covers() {
    return this.#narrow.matches && this.#open.narrow;
  }

  toggle(open) {
    this.#open[this.#narrow.matches ? "narrow" : "wide"] = open;
    this.#sync();
    byId(open ? "hide-sidebar" : "show-sidebar").focus();
  }

  /** Hides the list where it covers the conversation. */
  hideIfNarrow() {
    if (!this.#covers()) return;
    this.#open.narrow = false;
    this.#sync();
  }

  #sync() {
    const open = this.#narrow.matches ? this.#open.narrow : this.#open.wide;
    document.body.classList.toggle("no-sidebar", !open);
    byId("sidebar").inert = !open;
    byId("show-sidebar").setAttribute("aria-expanded", String(open));
    byId("scrim").hidden = !this.#covers();
    document.querySelector(".stage").inert = this.#covers();
  }

  /** Lists conversations, newest first. */
  show(chats, current) {
    const list = byId("chats");
    // The focus stays where it was.
    const focused = list.contains(document.activeElement) ? document.activeElement : null;
    const before = focused && { chat: focused.closest("li").dataset.chat, more: focused.matches(".more") };
    byId("chats-empty").hidden = chats.length > 0;
    let heading = null;
    const items = [];
    for (const chat of chats) {
      const under = age(chat.updated, Date.now());
      if (under !== heading) items.push(el("li", { class: "age" }, (heading = under)));
      items.push(this.#item(chat, chat.id === current));
    }
    list.replaceChildren(...items);
    if (before) list.querySelector(`li[data-chat="${before.chat}"] ${before.more ? ".more" : "a"}`)?.focus();
  }

  #item(chat, current) {
    const link = el("a", { href: `#${chat.id}`, title: chat.title, dir: "auto", onclick: () => this.hideIfNarrow() }, chat.title);
    if (current) link.setAttribute("aria-current", "page");
    const more = el("button", { type: "button", class: "icon-button more", "aria-label": `Actions for “${chat.title}”`, "aria-haspopup": "true" }, icon("more"));
    more.addEventListener("click", () => this.#menu(chat, more));
    return el("li", { class: "chat", data: { chat: chat.id } }, link, more);
  }

  #menu(chat, button) {
    const menu = byId("chat-menu");
    menu.replaceChildren(
      ...this.#actions.map(({ label, run, danger }) =>
        el("button", {
          type: "button",
          class: danger ? "danger" : "",
          onclick: () => {
            menu.hidePopover();
            run(chat);
          },
        }, label),
      ),
    );
    menu.onkeydown = (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const buttons = [...menu.children];
      buttons.at((buttons.indexOf(document.activeElement) + step) % buttons.length).focus();
    };
    menu.showPopover();
    const box = button.getBoundingClientRect();
    menu.style.left = `${Math.max(8, Math.min(box.left, innerWidth - menu.offsetWidth - 8))}px`;
    menu.style.top = `${Math.min(box.bottom + 4, innerHeight - menu.offsetHeight - 8)}px`;
    menu.firstElementChild.focus();
  }
}
