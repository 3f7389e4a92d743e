// TeX's mathematics as MathML, which browsers set by themselves. What TeX can that is not known here is
// refused, so that the source can be shown instead. The source comes from a model: it is bounded in length
// and depth, and becomes nothing but elements and text.

import { begin } from "./tex-tables.js";
import * as symbols from "./tex-symbols.js";

/** The longest formula, in characters, and the deepest. */
export const LONGEST = 10_000;
const DEEPEST = 48;

/** From this many parts on, a formula in a line of text may break after its operators. */
const LONG = 9;

const MATHML = "http://www.w3.org/1998/Math/MathML";

/** Makes an element of MathML. */
export function ml(tag, attributes = {}, ...children) {
  const element = document.createElementNS(MATHML, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** What is not known. */
export class Unknown extends Error {}

const row = (nodes) => (nodes.length === 1 ? nodes[0] : ml("mrow", {}, ...nodes));
const item = (node, kind = "ord", more = {}) => ({ node, kind, ...more });
const space = (width) => item(ml("mspace", { width }), "space");
const tight = { lspace: "0", rspace: "0" };

/** An operator, with its kind. */
const operator = (text, kind, attributes = {}) => {
  const core = ml("mo", attributes, text);
  return item(core, kind, { core });
};

/** A delimiter that grows with what is beside it; a full stop is none. */
export const fence = (text, form) =>
  text === "." ? ml("mrow") : ml("mo", { fence: "true", stretchy: "true", symmetric: "true", form }, text);

/** Characters that are not letters or digits, by their kinds. */
const CHARACTERS = new Map([
  ["+", ["+", "bin"]], ["-", ["−", "bin"]], ["*", ["∗", "bin"]], ["=", ["=", "rel"]], ["<", ["<", "rel"]], [">", [">", "rel"]], [":", [":", "rel"]],
  [",", [",", "punct"]], [";", [";", "punct"]], ["(", ["(", "open"]], ["[", ["[", "open"]], [")", [")", "close"]], ["]", ["]", "close"]],
  ["!", ["!", "close"]], ["?", ["?", "close"]], ["/", ["/", "plain"]], ["|", ["|", "plain"]], [".", [".", "plain"]], ["@", ["@", "plain"]], ["\"", ["″", "plain"]], ["`", ["‘", "plain"]],
]);

/** Alphabets, by the commands whose argument they set and by those that set the rest of a group. */
const FONTS = {
  mathrm: "rm", mathup: "rm", mathbf: "bf", mathit: "it", mathsf: "sf", mathtt: "tt", boldsymbol: "bi", bm: "bi", mathbfit: "bi", mathnormal: "",
  mathbb: "double", mathds: "double", mathbbm: "double", mathcal: "script", mathscr: "script", mathfrak: "fraktur", symbf: "bf", symbb: "double",
};
const SWITCHES = { rm: "rm", bf: "bf", it: "it", sf: "sf", tt: "tt", cal: "script", displaystyle: "true", textstyle: "false", scriptstyle: "false", scriptscriptstyle: "false" };
const TEXTS = { text: "", textrm: "", mbox: "", hbox: "", textnormal: "", textup: "", textbf: "tex-bf", textit: "tex-it", emph: "tex-it", textsf: "tex-sf", texttt: "tex-tt" };
const FRACTIONS = { frac: null, cfrac: "true", dfrac: "true", tfrac: "false" };
const BINOMIALS = { binom: null, dbinom: "true", tbinom: "false" };
const PAIRS = { bra: ["⟨", "|"], ket: ["|", "⟩"], braket: ["⟨", "⟩"], abs: ["|", "|"], norm: ["‖", "‖"] };
const CLASSES = { mathop: "fn", mathbin: "bin", mathrel: "rel", mathord: "ord", mathopen: "open", mathclose: "close", mathpunct: "punct", mathinner: "ord", ensuremath: "ord", smash: "ord" };
const BOXES = { boxed: "tex-boxed", fbox: "tex-boxed", cancel: "tex-cancel", bcancel: "tex-cancel", xcancel: "tex-cancel", sout: "tex-cancel" };
/** What is not seen, with the number of its arguments. */
const UNSEEN = { label: 1, color: 1, vspace: 1, nonumber: 0, notag: 0, allowbreak: 0, nobreak: 0, relax: 0, mathstrut: 0, strut: 0, hfill: 0, displaylimits: 0 };
const ENDS = new Set(["", "}", "&", "\\\\", "\\cr", "\\right", "\\middle", "\\end"]);
const SIZES = { big: "1.2em", Big: "1.8em", bigg: "2.4em", Bigg: "3em" };

export class Parser {
  #source;
  #at = 0;
  #depth = 0;
  #font = "";

  constructor(source) {
    this.#source = source;
  }

  get at() {
    return this.#at;
  }

  /** The next token, which stays: a command, a character, or nothing at the end. */
  peek() {
    this.#match(/(?:\s|%[^\n]*(?:\n|$))+/y);
    return this.#find(/\\(?:[A-Za-z]+|[^])|[^]/uy);
  }

  /** Takes the next token. */
  next() {
    const token = this.peek();
    this.#at += token.length;
    return token;
  }

  /** Takes what a pattern matches here, or nothing. */
  #match(pattern) {
    const found = this.#find(pattern);
    this.#at += found.length;
    return found;
  }

  #find(pattern) {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#source)?.[0] ?? "";
  }

  expect(token) {
    if (this.next() !== token) throw new Unknown(`expected ${token}`);
  }

  /** Takes the end of a row of a table. */
  rowEnd() {
    this.#match(/\\(?:\\\*?|cr(?![A-Za-z]))(?:\[\s*-?[\d.]+\s*[a-z]+\s*\])?/y);
  }

  /** Takes text in braces as it is. */
  raw() {
    this.expect("{");
    const begin = this.#at;
    for (let open = 1; open > 0; this.#at += 1) {
      const character = this.#source[this.#at];
      if (character === undefined) throw new Unknown("a brace is not closed");
      if (character === "\\") this.#at += 1;
      else open += { "{": 1, "}": -1 }[character] ?? 0;
    }
    return this.#source.slice(begin, this.#at - 1);
  }

  /** Takes text in square brackets, if there is any. */
  option() {
    return this.peek() === "[" ? this.#match(/\[[^\]\\{}]*\]/y).slice(1, -1) : "";
  }

  /** Reads the items of a row, up to what ends it. */
  items(end = "}") {
    if ((this.#depth += 1) > DEEPEST) throw new Unknown("too deep");
    const font = this.#font;
    let items = [];
    for (let token; !ENDS.has((token = this.peek())) && token !== end; ) {
      const name = token.slice(1);
      if (token.length > 1 && ["over", "choose", "atop"].includes(name)) {
        this.next();
        const [top, bottom] = [row(arrange(items)), this.row(end)];
        items = [name === "choose" ? this.#binomial(top, bottom) : item(ml("mfrac", name === "atop" ? { linethickness: "0" } : {}, top, bottom))];
      } else if (token.length > 1 && Object.hasOwn(SWITCHES, name)) {
        this.next();
        if (!name.endsWith("style")) this.#font = SWITCHES[name];
        else items.push(item(ml("mstyle", { displaystyle: SWITCHES[name], ...(name.startsWith("script") ? { scriptlevel: "1" } : {}) }, this.row(end))));
      } else {
        const read = this.#scripted();
        if (read) items.push(read);
      }
    }
    this.#font = font;
    this.#depth -= 1;
    return items;
  }

  /** Reads a row as one node. */
  row(end) {
    return row(arrange(this.items(end)));
  }

  /** Reads an item with what stands above and below it. */
  #scripted() {
    const base = ["^", "_", "'"].includes(this.peek()) ? item(ml("mrow")) : this.#atom();
    let [sub, sup, primes] = [null, null, ""];
    let limits = base?.limits ?? null;
    for (;;) {
      const token = this.peek();
      if (token === "_" && !sub) {
        this.next();
        sub = this.argument().node;
      } else if (token === "^" && !sup) {
        this.next();
        sup = this.argument().node;
      } else if (token === "'" && !sup) {
        this.next();
        primes += "′";
      } else if (token === "\\limits" || token === "\\nolimits") {
        this.next();
        limits = token === "\\limits" ? "forced" : null;
      } else if (["_", "^", "'"].includes(token)) {
        throw new Unknown("two scripts in one place");
      } else {
        break;
      }
    }
    if (primes) sup = row([ml("mo", tight, primes), ...(sup ? [sup] : [])]);
    if (!base || (!sub && !sup)) return base;
    const names = limits ? ["munder", "mover", "munderover"] : ["msub", "msup", "msubsup"];
    if (limits === "movable" || limits === "forced") base.core?.setAttribute("movablelimits", String(limits === "movable"));
    const name = names[sub && sup ? 2 : sub ? 0 : 1];
    return { ...base, node: ml(name, {}, base.node, ...[sub, sup].filter(Boolean)) };
  }

  /** Reads an argument: a group, or one token. */
  argument() {
    return this.#atom(true);
  }

  /** Reads a group or a token; null for what is not seen. With `single`, a number is one digit. */
  #atom(single = false) {
    const token = this.next();
    if (token === "{") {
      const items = this.items();
      this.expect("}");
      const only = items.length === 1 ? items[0] : {};
      return item(row(arrange(items)), "ord", { inside: only.kind, core: only.core });
    }
    if (token === "~") return space("0.25em");
    if (token.length > 1 && token[0] === "\\") {
      if ((this.#depth += 1) > DEEPEST) throw new Unknown("too deep");
      const read = this.#command(token.slice(1), single);
      this.#depth -= 1;
      return read;
    }
    if (/^[0-9]$/.test(token)) return this.#number(token + (single ? "" : this.#match(/[0-9]*(?:[.,][0-9]+)*/y)));
    if (token === "." && !single && /^[0-9]/.test(this.#find(/[0-9]/y))) return this.#number(token + this.#match(/[0-9]+/y));
    if (/^\p{L}$/u.test(token)) return this.#letter(token, single);
    const known = CHARACTERS.get(token);
    if (known) return this.#character(...known);
    // Other characters stand for themselves: models write ≤ as well as \le.
    if (/^[\p{S}\p{P}\p{N}\p{M}]$/u.test(token) && !"\\{}&^_#$%".includes(token)) {
      return /^\p{Sm}$/u.test(token) ? operator(token, "rel") : item(ml("mtext", {}, token));
    }
    throw new Unknown(`unexpected ${token || "end"}`);
  }

  #character(text, kind) {
    if (kind === "plain") return operator(text, "ord", { stretchy: "false", ...tight });
    const attributes = { open: { stretchy: "false", form: "prefix" }, close: { stretchy: "false", form: "postfix" }, bin: { form: "infix" }, rel: { form: "infix", stretchy: "false" } };
    return operator(text, kind, attributes[kind] ?? {});
  }

  #number(text) {
    if (symbols.isAlphabet(this.#font)) return item(ml("mn", {}, [...text].map((digit) => symbols.inAlphabet(digit, this.#font)).join("")));
    return item(ml("mn", this.#font ? { class: `tex-${this.#font}` } : {}, text));
  }

  #letter(letter, single) {
    if (symbols.isAlphabet(this.#font)) return item(ml("mi", { mathvariant: "normal" }, symbols.inAlphabet(letter, this.#font)));
    if (!this.#font) return item(ml("mi", /^[\p{Script=Latin}\p{Script=Greek}]$/u.test(letter) ? {} : { mathvariant: "normal" }, letter));
    if (["it", "bi"].includes(this.#font)) return item(ml("mi", { class: `tex-${this.#font}` }, letter));
    const word = letter + (single ? "" : this.#match(/[\p{L}]*/uy));
    return item(ml("mi", { mathvariant: "normal", class: `tex-${this.#font}` }, word));
  }

  #named(name) {
    const letter = symbols.LETTERS.get(name);
    if (letter) return item(ml("mi", this.#font === "bf" || this.#font === "bi" ? { class: "tex-bi" } : {}, letter));
    const upright = symbols.UPRIGHT.get(name);
    if (upright) return item(ml("mi", { mathvariant: "normal", ...(["bf", "bi"].includes(this.#font) ? { class: "tex-bf" } : {}) }, upright));
    for (const [list, kind] of [[symbols.BINARY, "bin"], [symbols.RELATIONS, "rel"]]) {
      if (list.has(name)) return this.#character(list.get(name), kind);
    }
    if (symbols.LARGE.has(name)) return { ...operator(symbols.LARGE.get(name), "large", { movablelimits: "true" }), limits: "movable" };
    if (symbols.INTEGRALS.has(name)) return operator(symbols.INTEGRALS.get(name), "large");
    if (symbols.FUNCTIONS.has(name)) return this.#function(name);
    if (symbols.LIMITS.has(name)) return this.#function(name.replace(/^(lim|inj|proj|arg)(?=[a-z])/, "$1\u2009"), true);
    const text = symbols.DELIMITERS.get(name);
    if (text) return this.#character(text, /^(?:l|\{|ul|ll)/.test(name) ? "open" : /^(?:r|\}|ur|lr)/.test(name) ? "close" : "plain");
    throw new Unknown(`\\${name}`);
  }

  #function(name, limits = false) {
    if (!limits) return item(ml("mi", { mathvariant: "normal" }, name), "fn");
    return { ...operator(name, "fn", { movablelimits: "true", form: "prefix", ...tight }), limits: "movable" };
  }

  #command(name, single) {
    const own = (list) => Object.hasOwn(list, name);
    if (symbols.SPACES.has(name) || (name.length === 1 && /\s/.test(name))) {
      const width = symbols.SPACES.get(/\s/.test(name) ? " " : name);
      return width && space(width);
    }
    if (own(UNSEEN)) {
      for (let n = UNSEEN[name]; n > 0; n -= 1) this.raw();
      return null;
    }
    if (own(FONTS)) return this.#inFont(FONTS[name]);
    if (own(TEXTS)) return this.#text(this.raw(), TEXTS[name]);
    if (own(FRACTIONS)) return this.#fraction(name);
    if (own(BINOMIALS)) return styled(this.#binomial(this.argument().node, this.argument().node), BINOMIALS[name]);
    if (own(PAIRS)) return item(ml("mrow", {}, fence(PAIRS[name][0], "prefix"), this.argument().node, fence(PAIRS[name][1], "postfix")));
    if (own(CLASSES)) return this.#classed(name);
    if (own(BOXES)) return item(ml("mrow", { class: BOXES[name] }, this.argument().node));
    if (symbols.ACCENTS.has(name)) return this.#accent(symbols.ACCENTS.get(name));
    if (symbols.ARROWS.has(name)) return this.#arrow(symbols.ARROWS.get(name));
    const size = /^(big|Big|bigg|Bigg)([lrm]?)$/.exec(name);
    if (size) return this.#sized(SIZES[size[1]], size[2]);
    const run = COMMANDS[name];
    if (run && Object.hasOwn(COMMANDS, name)) return run(this, single);
    return this.#named(name);
  }

  #inFont(font) {
    const before = this.#font;
    this.#font = font;
    const read = this.argument();
    this.#font = before;
    return read;
  }

  #fraction(name) {
    if (name === "cfrac") this.option();
    return styled(item(ml("mfrac", {}, this.argument().node, this.argument().node)), FRACTIONS[name]);
  }

  #binomial(top, bottom) {
    return item(ml("mrow", {}, fence("(", "prefix"), ml("mfrac", { linethickness: "0" }, top, bottom), fence(")", "postfix")));
  }

  #classed(name) {
    const read = this.argument();
    return { ...read, kind: CLASSES[name], ...(name === "mathop" ? { limits: "movable" } : {}) };
  }

  #accent({ mark, wide, under, limits }) {
    const base = this.argument();
    const over = ml("mo", { stretchy: String(wide), ...tight }, mark);
    const node = ml(under ? "munder" : "mover", { [under ? "accentunder" : "accent"]: "true" }, base.node, over);
    return item(node, "ord", limits ? { limits: "above" } : {});
  }

  #arrow(text) {
    const below = this.peek() === "[" ? (this.next(), this.row("]")) : null;
    if (below) this.expect("]");
    const above = ml("mpadded", { lspace: "0.4em", width: "+0.8em" }, this.argument().node);
    const core = ml("mo", { stretchy: "true" }, text);
    return item(below ? ml("munderover", {}, core, below, above) : ml("mover", {}, core, above), "rel");
  }

  #sized(size, side) {
    const text = this.delimiter();
    const kind = { l: "open", r: "close", m: "rel" }[side] ?? ("([{⟨⌊⌈".includes(text) ? "open" : ")]}⟩⌋⌉".includes(text) ? "close" : "ord");
    const form = { open: "prefix", close: "postfix" }[kind] ?? "infix";
    return operator(text, kind, { stretchy: "true", symmetric: "true", minsize: size, maxsize: size, form, ...(kind === "rel" ? {} : tight) });
  }

  /** Takes a delimiter. */
  delimiter() {
    const token = this.next();
    const known = token.startsWith("\\") ? symbols.DELIMITERS.get(token.slice(1)) : { "<": "⟨", ">": "⟩" }[token] ?? (/^[()[\]|/.]$/.test(token) ? token : undefined);
    if (!known) throw new Unknown(`delimiter ${token}`);
    return known;
  }

  /** Text, in which `$` may begin a formula. */
  #text(source, style) {
    const nodes = source.split(/(?<!\\)\$/).map((part, at) => {
      if (at % 2) return this.sub(part);
      const plain = part.replace(/\\([%_$&#{} ,])/g, "$1").replace(/\s+|~/g, "\u00a0");
      if (/\\|[{}]/.test(plain)) throw new Unknown("a command in text");
      return ml("mtext", style ? { class: style } : {}, plain);
    });
    return item(row(nodes));
  }

  /** Reads another source, at the same depth. */
  sub(source) {
    const parser = new Parser(source);
    parser.#depth = this.#depth;
    const node = parser.row("");
    if (parser.peek() !== "") throw new Unknown(`unexpected ${parser.peek()}`);
    return node;
  }
}

function styled(read, display) {
  if (display === null) return read;
  return { ...read, node: ml("mstyle", { displaystyle: display, ...(display === "true" ? { scriptlevel: "0" } : {}) }, read.node) };
}

/** Commands that are unlike all others. */
const COMMANDS = {
  sqrt(parser) {
    const index = parser.peek() === "[" ? (parser.next(), parser.row("]")) : null;
    if (index) parser.expect("]");
    return item(root(parser.argument().node, index));
  },
  left(parser) {
    const nodes = [fence(parser.delimiter(), "prefix"), parser.row("")];
    while (parser.peek() === "\\middle") {
      parser.next();
      nodes.push(fence(parser.delimiter(), "infix"), parser.row(""));
    }
    parser.expect("\\right");
    return item(ml("mrow", {}, ...nodes, fence(parser.delimiter(), "postfix")), "inner");
  },
  begin: (parser) => item(begin(parser), "inner"),
  substack(parser) {
    parser.expect("{");
    const node = begin(parser, "substack");
    parser.expect("}");
    return item(node);
  },
  operatorname(parser) {
    const limits = parser.peek() === "*" && parser.next() === "*";
    const name = parser.raw().replace(/\\[,;: ]|\s+/g, "\u2009");
    if (/[\\{}$]/.test(name)) throw new Unknown("a command in a name");
    if (!limits) return item(ml("mi", { mathvariant: "normal" }, name), "fn");
    return { ...operator(name, "fn", { movablelimits: "true", form: "prefix", ...tight }), limits: "movable" };
  },
  overset: (parser) => stack(parser, "mover"),
  stackrel: (parser) => stack(parser, "mover"),
  underset: (parser) => stack(parser, "munder"),
  not(parser) {
    const read = parser.argument();
    if (!read?.core) throw new Unknown("\\not");
    read.core.append("\u0338");
    return { ...read, kind: read.inside ?? read.kind };
  },
  pmod: (parser) => item(ml("mrow", {}, ml("mspace", { width: "0.444em" }), ml("mo", { stretchy: "false", form: "prefix" }, "("), ml("mi", { mathvariant: "normal" }, "mod"), ml("mspace", { width: "0.333em" }), parser.argument().node, ml("mo", { stretchy: "false", form: "postfix" }, ")"))),
  bmod: () => operator("mod", "bin", { lspace: "0.222em", rspace: "0.222em" }),
  mod: (parser) => item(ml("mrow", {}, ml("mspace", { width: "0.667em" }), ml("mi", { mathvariant: "normal" }, "mod"), ml("mspace", { width: "0.333em" }), parser.argument().node)),
  tag(parser) {
    const bare = parser.peek() === "*" && parser.next() === "*";
    const label = parser.raw();
    if (/[\\{}$]/.test(label)) throw new Unknown("a command in a tag");
    return item(ml("mrow", {}, ml("mspace", { width: "2em" }), ml("mtext", {}, bare ? label : `(${label})`)));
  },
  textcolor: (parser) => (parser.raw(), parser.argument()),
  hspace(parser) {
    if (parser.peek() === "*") parser.next();
    return width(parser.raw());
  },
  mspace: (parser) => width(parser.raw()),
  phantom: (parser) => item(ml("mphantom", {}, parser.argument().node)),
  hphantom: (parser) => item(ml("mphantom", {}, parser.argument().node)),
  vphantom: (parser) => item(ml("mpadded", { width: "0" }, ml("mphantom", {}, parser.argument().node))),
};

let rootsAreDrawn = null;

/**
 * Finds out what the fonts of this system can: some browsers leave out the sign of a root, and show boxes for
 * slanted Greek letters.
 */
function askFonts() {
  const box = document.createElement("div");
  box.className = "sr";
  document.body.append(box);
  const width = (node) => {
    box.replaceChildren(ml("math", {}, node));
    return node.getBoundingClientRect().width;
  };
  const letter = (text) => width(ml("mi", {}, text));
  rootsAreDrawn = width(ml("msqrt", {}, ml("mi", {}, "x"))) > 1.2 * letter("x");
  // No font has an iota as wide as an omega, unless both are boxes.
  if (letter("ι") === letter("ω")) document.documentElement.classList.add("no-math-letters");
  box.remove();
}

/** A root. Where the browser draws none, it is set from a character and a line. */
function root(body, index) {
  if (rootsAreDrawn) return index ? ml("mroot", {}, body, index) : ml("msqrt", {}, body);
  const sign = ml("mo", { form: "prefix", stretchy: "false", ...tight }, "√");
  return ml("mrow", {}, ...(index ? [ml("msup", {}, ml("mrow"), index)] : []), sign, ml("mrow", { class: "tex-radicand" }, body));
}

function stack(parser, name) {
  const [mark, base] = [parser.argument().node, parser.argument()];
  return item(ml(name, {}, base.node, mark), base.inside ?? base.kind);
}

function width(text) {
  const found = /^\s*([\d.]+)\s*(em|ex|pt|mu|mm|cm|in|px)\s*$/.exec(text);
  if (!found) return null;
  const [amount, unit] = [Math.min(20, Number(found[1]) || 0), found[2]];
  return space(unit === "mu" ? `${amount / 18}em` : `${amount}${unit}`);
}

/**
 * The nodes of items: an operator without a term before it is a sign, and functions stand apart from their
 * arguments.
 */
function arrange(items) {
  const nodes = [];
  let before = "open";
  items.forEach(({ node, kind, core }, at) => {
    let now = kind;
    if (kind === "space") return nodes.push(node);
    const after = items[at + 1]?.kind ?? "close";
    if (kind === "bin" && (["open", "bin", "rel", "punct", "large", "fn"].includes(before) || ["close", "rel", "punct"].includes(after))) {
      core?.setAttribute("form", before === "open" && items.length === 1 ? "infix" : "prefix");
      for (const [name, value] of Object.entries(tight)) core?.setAttribute(name, value);
      now = "ord";
    }
    if (kind === "rel" && items.length === 1) for (const [name, value] of Object.entries(tight)) core?.setAttribute(name, value);
    const apart = (now === "fn" && ["ord", "close", "inner", "fn"].includes(before)) || (before === "fn" && ["ord", "inner", "large"].includes(now));
    if (apart) nodes.push(ml("mspace", { width: "0.167em" }));
    nodes.push(node);
    before = now;
  });
  return nodes;
}

/** Items in parts that may stand on lines of their own: each ends with an operator. */
function parts(items) {
  if (items.length < LONG) return [items];
  const found = [[]];
  items.forEach((read, at) => {
    found.at(-1).push(read);
    const breaks = read.kind === "rel" || (read.kind === "bin" && at > 0 && !["open", "bin", "rel", "punct"].includes(items[at - 1].kind));
    if (breaks && at < items.length - 1) found.push([]);
  });
  return found;
}

/**
 * Reads a formula. Returns its elements: one, or several between which a line may break. Throws `Unknown` for
 * what is not known here or is not TeX.
 */
export function formula(source, display) {
  if (source.length > LONGEST) throw new Unknown("too long");
  if (rootsAreDrawn === null) askFonts();
  const parser = new Parser(source);
  const items = parser.items("");
  const attributes = { dir: "ltr", ...(display ? { display: "block" } : {}) };
  if (parser.peek() !== "") {
    // Rows and columns without an environment.
    const whole = new Parser(source);
    const node = begin(whole, "aligned");
    if (whole.peek() !== "") throw new Unknown(`unexpected ${whole.peek()}`);
    return [ml("math", attributes, node)];
  }
  if (display) return [ml("math", attributes, ...arrange(items))];
  // Signs are told apart before the items are parted.
  const all = parts(items);
  if (all.length === 1) return [ml("math", attributes, ...arrange(items))];
  const nodes = arrange(items);
  const cut = new Set(all.slice(0, -1).map((part) => part.at(-1).node));
  const rows = [[]];
  for (const node of nodes) {
    rows.at(-1).push(node);
    if (cut.has(node)) rows.push([]);
  }
  return rows.map((nodes) => ml("math", attributes, ...nodes));
}
