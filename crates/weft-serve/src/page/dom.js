// Makes elements and icons.

const SVG = "http://www.w3.org/2000/svg";

/** Paths in a box of 24 by 24, drawn as strokes. */
const ICONS = {
  sidebar: "M4 5h16v14H4zM9.500 5v14",
  plus: "M12 5v14M5 12h14",
  pulse: "M3 12h4l3-7 4 14 3-7h4",
  sliders: "M4 7h9M19 7h1M4 17h1M11 17h9M16 4.500v5M8 14.500v5",
  close: "M6 6l12 12M18 6L6 18",
  up: "M12 19V5M6 11l6-6 6 6",
  down: "M12 5v14M6 13l6 6 6-6",
  stop: "M8 8h8v8H8z",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  copy: "M9 9h10v11H9zM5 15V4h10",
  check: "M5 12.500l4.500 4.500L19 7",
  again: "M19.500 12a7.500 7.500 0 1 1-2.200-5.300L20 9.400M20 4.500v5h-5",
  pencil: "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
  left: "M14 6l-6 6 6 6",
  right: "M10 6l6 6-6 6",
};

/** Makes an icon, which screen readers skip. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/** Makes an SVG element with attributes. */
export function svg(tag, attributes = {}) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/**
 * Makes an element. `on…` functions become listeners, `data` the data set, names of properties are set as properties and all
 * others as attributes. Children are nodes or text.
 */
export function el(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || value === null) continue;
    if (name === "data") Object.assign(element.dataset, value);
    else if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && !name.startsWith("aria")) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Makes a button that shows only an icon. */
export function iconButton(name, label, onclick, options = {}) {
  return el("button", { type: "button", class: "icon-button", "aria-label": label, title: label, onclick, ...options }, icon(name));
}

/** Puts icons into the elements of the document that ask for one with `data-icon`. */
export function placeIcons(root = document) {
  for (const element of root.querySelectorAll("[data-icon]")) {
    element.prepend(icon(element.dataset.icon));
  }
}

export const byId = (id) => document.getElementById(id);

/** A number with separators between thousands. */
export const count = (n) => Math.round(n).toLocaleString("en");

/** A short time, in seconds, as text. */
export function seconds(s) {
  if (s < 0.0995) return `${Math.round(s * 1000)} ms`;
  if (s < 10) return `${s.toFixed(2)} s`;
  if (s < 100) return `${s.toFixed(1)} s`;
  return `${Math.round(s)} s`;
}

/** Copies text, also where the browser offers no clipboard because the page did not come over HTTPS. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = el("textarea", { value: text, class: "sr", readOnly: true });
    // Inside an open dialog only its own elements can have the focus.
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    const before = document.activeElement;
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    before?.focus?.();
    return done;
  }
}

/** Offers text as a file to save. */
export function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

let toastTimer = 0;

/** Shows a short notice. */
export function toast(text) {
  const box = byId("toast");
  box.textContent = text;
  box.classList.add("shown");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => {
    box.classList.remove("shown");
    box.textContent = "";
  }, 4000);
}
