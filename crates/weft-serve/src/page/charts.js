// Draws a line over the last five minutes, as SVG.

import { el, svg } from "./dom.js";

/** What a chart covers, in milliseconds. */
export const SPAN = 300_000;

/** Readings farther apart than this are not joined: the page was out of sight. In milliseconds. */
const GAP = 8_000;

const WIDTH = 600;
const HEIGHT = 120;

/** A card with a name, its value now, and a chart. */
export class Chart {
  #value = el("p", { class: "value" }, "–");
  #more = el("p", { class: "more" });
  #top = el("span", { class: "axis" });
  #area = svg("path", { class: "area" });
  #line = svg("path", { class: "line" });
  #most;

  /** `most` is the value at the top, if it is always the same. */
  constructor(name, { most = null } = {}) {
    this.#most = most;
    const plot = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    plot.append(svg("path", { class: "grid", d: `M0 .5H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT - 0.5}H${WIDTH}` }), this.#area, this.#line);
    this.element = el(
      "section",
      { class: "chart", "aria-label": name },
      el("h2", {}, name),
      this.#value,
      this.#more,
      el("div", { class: "plot" }, plot, this.#top),
      el("div", { class: "axes", "aria-hidden": "true" }, el("span", {}, "5 min ago"), el("span", {}, "now")),
    );
  }

  /** Shows values, `[[time, value or null], …]` by rising time, with the text of the newest and a remark. */
  show(values, now, format, more = "") {
    const known = values.filter(([, value]) => value !== null);
    const latest = values.at(-1)?.[1] ?? null;
    this.#value.textContent = latest === null ? "–" : format(latest);
    this.#more.textContent = more;
    const most = this.#most ?? nice(Math.max(0, ...known.map(([, value]) => value)));
    this.#top.textContent = format(most);
    const x = (at) => WIDTH * (1 - (now - at) / SPAN);
    const y = (value) => HEIGHT - 1 - (HEIGHT - 3) * Math.min(1, value / most);
    let [line, area, last] = ["", "", null];
    for (const [at, value] of values) {
      if (value === null) continue;
      const point = `${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
      if (last === null || at - last > GAP) {
        if (last !== null) area += `V${HEIGHT}Z`;
        line += `M${point}`;
        area += `M${x(at).toFixed(1)} ${HEIGHT}L${point}`;
      } else {
        line += `L${point}`;
        area += `L${point}`;
      }
      last = at;
    }
    if (last !== null) area += `V${HEIGHT}Z`;
    this.#line.setAttribute("d", line);
    this.#area.setAttribute("d", area);
  }
}

/** The next round number: 1, 2 or 5 times a power of ten. */
export function nice(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value * 0.999);
}
