// TeX's environments of rows and columns: matrices, cases, aligned equations, arrays.

import { Unknown, fence, ml } from "./tex.js";

/**
 * Environments: the delimiters around them, how their columns are aligned by turns, and whether they are
 * displayed.
 */
const KINDS = {
  matrix: {}, pmatrix: { around: "()" }, bmatrix: { around: "[]" }, Bmatrix: { around: "{}" }, vmatrix: { around: "||" }, Vmatrix: { around: "‖‖" },
  smallmatrix: { small: true }, array: {}, substack: {},
  cases: { around: "{.", columns: "l" }, dcases: { around: "{.", columns: "l", display: true }, rcases: { around: ".}", columns: "l" },
  aligned: { columns: "rl", display: true }, align: { columns: "rl", display: true }, split: { columns: "rl", display: true },
  alignedat: { columns: "rl", display: true }, alignat: { columns: "rl", display: true }, flalign: { columns: "rl", display: true },
  eqnarray: { columns: "rcl", display: true }, gathered: { display: true }, gather: { display: true }, equation: { display: true },
  multline: { display: true }, math: {}, displaymath: { display: true },
};

/** Environments that are formulas by themselves, and need no delimiters. */
export const FREE = ["align", "alignat", "flalign", "gather", "equation", "multline", "eqnarray", "displaymath"];

/** The most cells of a table. */
const MOST = 2000;

/** Reads an environment from its name on, or the body of the one that is named. */
export function begin(parser, named = null) {
  const written = named ?? parser.raw();
  const name = written.replace(/\*$/, "");
  if (!Object.hasOwn(KINDS, name)) throw new Unknown(`environment ${written}`);
  const kind = KINDS[name];
  let columns = kind.columns ?? "c";
  let lines = [];
  if (named === null) {
    const option = parser.option();
    if (name.endsWith("matrix") && /^[lcr]$/.test(option)) columns = option;
    if (name === "array") [columns, lines] = specification(parser.raw());
    if (name.endsWith("at")) parser.raw();
  }
  const rows = read(parser);
  if (named === null) {
    parser.expect("\\end");
    if (parser.raw() !== written) throw new Unknown(`the end of ${written}`);
  }
  const cells = rows.map(({ cells, line }) =>
    ml("mtr", line ? { class: "tex-line" } : {}, ...cells.map((cell, at) => {
      const style = `tex-${columns[name === "array" ? Math.min(at, columns.length - 1) : at % columns.length]}`;
      return ml("mtd", { class: lines.includes(at) ? `${style} tex-bar` : style }, cell);
    })),
  );
  const spaced = columns === "rl" || columns === "rcl" ? { class: "tex-aligned" } : kind.small || named === "substack" ? { class: "tex-close" } : {};
  let table = ml("mtable", { ...spaced, ...(kind.display ? { displaystyle: "true" } : {}) }, ...cells);
  if (kind.small) table = ml("mstyle", { scriptlevel: "+1" }, table);
  if (!kind.around) return table;
  return ml("mrow", {}, fence(kind.around[0], "prefix"), table, fence(kind.around[1], "postfix"));
}

/** The columns of an array, and the numbers of those that have a line before them. */
function specification(text) {
  const columns = [];
  const lines = [];
  for (const character of text.replace(/\s|@\{[^{}]*\}/g, "")) {
    if ("lcr".includes(character)) columns.push(character);
    else if (character === "|") lines.push(columns.length);
    else throw new Unknown(`column ${character}`);
  }
  if (columns.length === 0) throw new Unknown("no columns");
  return [columns.join(""), lines];
}

/** Reads rows of cells up to what ends the environment. */
function read(parser) {
  const rows = [];
  let count = 0;
  for (let more = true; more; ) {
    const now = { cells: [], line: false };
    while (["\\hline", "\\cline", "\\toprule", "\\midrule", "\\bottomrule"].includes(parser.peek())) {
      if (parser.next() === "\\cline") parser.raw();
      now.line = true;
    }
    for (;;) {
      now.cells.push(parser.row(""));
      if ((count += 1) > MOST) throw new Unknown("too many cells");
      if (parser.peek() !== "&") break;
      parser.next();
    }
    rows.push(now);
    more = ["\\\\", "\\cr"].includes(parser.peek());
    if (more) parser.rowEnd();
  }
  const last = rows.at(-1);
  const empty = last.cells.length === 1 && last.cells[0].localName === "mrow" && last.cells[0].childNodes.length === 0;
  if (empty && rows.length > 1) rows.pop();
  return rows;
}
