// The names that TeX has for characters, and how each is set.

/** Reads a table: names and characters by turns. */
const table = (text) => {
  const words = text.trim().split(/\s+/);
  const found = new Map();
  for (let at = 0; at < words.length; at += 2) found.set(words[at], words[at + 1]);
  return found;
};

/** Letters, which are set as variables. */
export const LETTERS = table(`
  alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι kappa κ varkappa ϰ lambda λ mu μ
  nu ν xi ξ omicron ο pi π varpi ϖ rho ρ varrho ϱ sigma σ varsigma ς tau τ upsilon υ phi ϕ varphi φ chi χ psi ψ omega ω
  ell ℓ imath ı jmath ȷ`);

/** Letters and signs that stand upright. */
export const UPRIGHT = table(`
  Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Upsilon Υ Phi Φ Psi Ψ Omega Ω
  infty ∞ partial ∂ nabla ∇ hbar ℏ hslash ℏ Re ℜ Im ℑ aleph ℵ beth ℶ wp ℘ eth ð emptyset ∅ varnothing ∅ angle ∠ measuredangle ∡
  triangle △ square □ Box □ blacksquare ■ qed ■ diamond ⋄ Diamond ◊ clubsuit ♣ diamondsuit ♢ heartsuit ♡ spadesuit ♠ bigstar ★
  top ⊤ bot ⊥ forall ∀ exists ∃ nexists ∄ prime ′ backprime ‵ degree ° flat ♭ natural ♮ sharp ♯ checkmark ✓ dagger † ddagger ‡
  S § P ¶ copyright © pounds £ euro € yen ¥ ldots … dots … dotsc … dotso … cdots ⋯ dotsb ⋯ dotsm ⋯ dotsi ⋯ vdots ⋮ ddots ⋱ iddots ⋰
  lnot ¬ neg ¬ surd √ complement ∁ mho ℧ Bbbk 𝕜 digamma ϝ # # % % $ $ & & _ _`);

/** Operators between two terms. */
export const BINARY = table(`
  pm ± mp ∓ times × div ÷ cdot ⋅ ast ∗ star ⋆ circ ∘ bullet ∙ oplus ⊕ ominus ⊖ otimes ⊗ oslash ⊘ odot ⊙ cup ∪ cap ∩ uplus ⊎
  sqcup ⊔ sqcap ⊓ vee ∨ lor ∨ wedge ∧ land ∧ setminus ∖ smallsetminus ∖ wr ≀ amalg ⨿ dag † ddag ‡ triangleleft ◁ triangleright ▷
  bigtriangleup △ bigtriangledown ▽ ltimes ⋉ rtimes ⋊ Join ⋈ bowtie ⋈ boxplus ⊞ boxtimes ⊠ centerdot ⋅ barwedge ⊼ veebar ⊻ intercal ⊺`);

/** Relations. */
export const RELATIONS = table(`
  le ≤ leq ≤ ge ≥ geq ≥ ne ≠ neq ≠ lt < gt > ll ≪ gg ≫ lll ⋘ ggg ⋙ leqslant ⩽ geqslant ⩾ lesssim ≲ gtrsim ≳ approx ≈ approxeq ≊
  equiv ≡ sim ∼ simeq ≃ cong ≅ propto ∝ asymp ≍ doteq ≐ triangleq ≜ coloneqq ≔ coloneq ≔ eqqcolon ≕ models ⊨ vdash ⊢ dashv ⊣ vDash ⊨
  Vdash ⊩ nvdash ⊬ perp ⊥ parallel ∥ nparallel ∦ mid ∣ nmid ∤ in ∈ notin ∉ ni ∋ owns ∋ subset ⊂ supset ⊃ subseteq ⊆ supseteq ⊇
  subsetneq ⊊ supsetneq ⊋ nsubseteq ⊈ nsupseteq ⊉ sqsubset ⊏ sqsupset ⊐ sqsubseteq ⊑ sqsupseteq ⊒ prec ≺ succ ≻ preceq ⪯ succeq ⪰
  nless ≮ ngtr ≯ nleq ≰ ngeq ≱ ncong ≇ nsim ≁ smile ⌣ frown ⌢ therefore ∴ because ∵ unlhd ⊴ unrhd ⊵ trianglelefteq ⊴ trianglerighteq ⊵
  to → gets ← rightarrow → leftarrow ← leftrightarrow ↔ Rightarrow ⇒ Leftarrow ⇐ Leftrightarrow ⇔ implies ⟹ impliedby ⟸ iff ⟺
  longrightarrow ⟶ longleftarrow ⟵ longleftrightarrow ⟷ Longrightarrow ⟹ Longleftarrow ⟸ Longleftrightarrow ⟺ mapsto ↦ longmapsto ⟼
  hookrightarrow ↪ hookleftarrow ↩ uparrow ↑ downarrow ↓ updownarrow ↕ Uparrow ⇑ Downarrow ⇓ Updownarrow ⇕ nearrow ↗ searrow ↘
  swarrow ↙ nwarrow ↖ rightharpoonup ⇀ rightharpoondown ⇁ leftharpoonup ↼ leftharpoondown ↽ rightleftharpoons ⇌ leftrightharpoons ⇋
  rightleftarrows ⇄ leftrightarrows ⇆ rightrightarrows ⇉ nrightarrow ↛ nleftarrow ↚ nRightarrow ⇏ nLeftarrow ⇍ twoheadrightarrow ↠
  twoheadleftarrow ↞ rightsquigarrow ⇝ leadsto ⇝ circlearrowleft ↺ circlearrowright ↻ upharpoonright ↾ restriction ↾ colon :`);

/** Large operators, whose limits stand above and below in a displayed formula. */
export const LARGE = table(`
  sum ∑ prod ∏ coprod ∐ bigcup ⋃ bigcap ⋂ bigsqcup ⨆ bigvee ⋁ bigwedge ⋀ bigoplus ⨁ bigotimes ⨂ bigodot ⨀ biguplus ⨄`);

/** Integrals, whose limits stand beside them. */
export const INTEGRALS = table("int ∫ iint ∬ iiint ∭ oint ∮ oiint ∯ oiiint ∰");

/** Functions. Those of the second list have limits below. */
export const FUNCTIONS = new Set(`
  sin cos tan cot sec csc arcsin arccos arctan arccot sinh cosh tanh coth log ln lg exp arg deg dim hom ker sgn tr Tr rank diag erf
  softmax`.trim().split(/\s+/));
export const LIMITS = new Set("lim max min sup inf limsup liminf det gcd lcm Pr argmax argmin injlim projlim".split(" "));

/** Delimiters by their names. */
export const DELIMITERS = table(`
  langle ⟨ rangle ⟩ lvert | rvert | lVert ‖ rVert ‖ vert | Vert ‖ | ‖ lfloor ⌊ rfloor ⌋ lceil ⌈ rceil ⌉ lbrace { rbrace } { { } }
  lbrack [ rbrack ] ulcorner ⌜ urcorner ⌝ llcorner ⌞ lrcorner ⌟ lgroup ⟮ rgroup ⟯ backslash \\ uparrow ↑ downarrow ↓ updownarrow ↕
  Uparrow ⇑ Downarrow ⇓ Updownarrow ⇕ llbracket ⟦ rrbracket ⟧`);

/** Accents, with whether they are as wide as what is below. */
export const ACCENTS = new Map([
  ..."hat ^ check ˇ tilde ~ acute ´ grave ` dot ˙ ddot ¨ dddot ⃛ breve ˘ bar ¯ vec → mathring ˚".split(" ").reduce(
    (pairs, word, at, words) => (at % 2 ? [...pairs, [words[at - 1], { mark: word, wide: false }]] : pairs), []),
  ["widehat", { mark: "^", wide: true }],
  ["widetilde", { mark: "~", wide: true }],
  ["widecheck", { mark: "ˇ", wide: true }],
  ["overline", { mark: "‾", wide: true }],
  ["overrightarrow", { mark: "→", wide: true }],
  ["overleftarrow", { mark: "←", wide: true }],
  ["overleftrightarrow", { mark: "↔", wide: true }],
  ["overbrace", { mark: "⏞", wide: true, limits: true }],
  ["underline", { mark: "_", wide: true, under: true }],
  ["underbrace", { mark: "⏟", wide: true, under: true, limits: true }],
  ["underrightarrow", { mark: "→", wide: true, under: true }],
  ["underleftarrow", { mark: "←", wide: true, under: true }],
]);

/** Arrows that grow with their labels. */
export const ARROWS = table(`
  xrightarrow → xleftarrow ← xleftrightarrow ↔ xRightarrow ⇒ xLeftarrow ⇐ xLeftrightarrow ⇔ xmapsto ↦ xhookrightarrow ↪
  xhookleftarrow ↩ xrightleftharpoons ⇌`);

/** Widths of spaces. */
export const SPACES = new Map([
  [",", "0.167em"], ["thinspace", "0.167em"], [":", "0.222em"], [">", "0.222em"], ["medspace", "0.222em"], [";", "0.278em"],
  ["thickspace", "0.278em"], [" ", "0.25em"], ["enspace", "0.5em"], ["quad", "1em"], ["qquad", "2em"],
  // Negative spaces are not set.
  ["!", null], ["negthinspace", null], ["negmedspace", null], ["negthickspace", null],
]);

/** Where an alphabet begins: its capital A, its small a and its digit 0, as far as it has them. */
const STARTS = {
  double: [0x1d538, 0x1d552, 0x1d7d8],
  script: [0x1d49c, 0x1d4b6, null],
  fraktur: [0x1d504, 0x1d51e, null],
};

/** Letters that Unicode had before the alphabets. */
const EARLIER = {
  double: { C: "ℂ", H: "ℍ", N: "ℕ", P: "ℙ", Q: "ℚ", R: "ℝ", Z: "ℤ" },
  script: { B: "ℬ", E: "ℰ", F: "ℱ", H: "ℋ", I: "ℐ", L: "ℒ", M: "ℳ", R: "ℛ", e: "ℯ", g: "ℊ", o: "ℴ" },
  fraktur: { C: "ℭ", H: "ℌ", I: "ℑ", R: "ℜ", Z: "ℨ" },
};

/** Whether a font is an alphabet of Unicode. */
export const isAlphabet = (font) => Object.hasOwn(STARTS, font);

/** A letter or digit in an alphabet: `double`, `script` or `fraktur`. */
export function inAlphabet(letter, alphabet) {
  const earlier = EARLIER[alphabet][letter];
  if (earlier) return earlier;
  const [capital, small, digit] = STARTS[alphabet];
  const code = letter.codePointAt(0);
  const place = (start, first) => (start === null ? letter : String.fromCodePoint(start + code - first));
  if (/^[A-Z]$/.test(letter)) return place(capital, 65);
  if (/^[a-z]$/.test(letter)) return place(small, 97);
  if (/^[0-9]$/.test(letter)) return place(digit, 48);
  return letter;
}
