// What a reply is made of: formulas, code in colours, tasks, text from right to left, and long messages.

import assert from "node:assert/strict";
import { complete, send, until } from "./harness.mjs";

/** Formulas and their MathML, without attributes. */
const FORMULAS = [
  ["x^2", "<msup><mi>x</mi><mn>2</mn></msup>"],
  ["x^23", "<msup><mi>x</mi><mn>2</mn></msup><mn>3</mn>"],
  ["x_i^{n+1}", "<msubsup><mi>x</mi><mi>i</mi><mrow><mi>n</mi><mo>+</mo><mn>1</mn></mrow></msubsup>"],
  ["f''(x)", "<msup><mi>f</mi><mo>′′</mo></msup><mo>(</mo><mi>x</mi><mo>)</mo>"],
  ["\\frac{a}{b} + \\frac12", "<mfrac><mi>a</mi><mi>b</mi></mfrac><mo>+</mo><mfrac><mn>1</mn><mn>2</mn></mfrac>"],
  ["\\frac{\\frac{a}{b}}{c}", "<mfrac><mfrac><mi>a</mi><mi>b</mi></mfrac><mi>c</mi></mfrac>"],
  ["\\alpha \\le \\Omega", "<mi>α</mi><mo>≤</mo><mi>Ω</mi>"],
  ["a - 3.14", "<mi>a</mi><mo>−</mo><mn>3.14</mn>"],
  ["\\sum_{i=1}^n i", "<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><mi>i</mi>"],
  ["\\int_0^1", "<msubsup><mo>∫</mo><mn>0</mn><mn>1</mn></msubsup>"],
  ["\\int\\limits_0", "<munder><mo>∫</mo><mn>0</mn></munder>"],
  ["2\\sin x", "<mn>2</mn><mspace></mspace><mi>sin</mi><mspace></mspace><mi>x</mi>"],
  ["\\lim_{n\\to\\infty}", "<munder><mo>lim</mo><mrow><mi>n</mi><mo>→</mo><mi>∞</mi></mrow></munder>"],
  ["\\operatorname{foo bar}", "<mi>foo\u2009bar</mi>"],
  ["\\left(\\frac{a}{b}\\right]", "<mrow><mo>(</mo><mfrac><mi>a</mi><mi>b</mi></mfrac><mo>]</mo></mrow>"],
  ["\\left.x\\right|", "<mrow><mrow></mrow><mi>x</mi><mo>|</mo></mrow>"],
  ["\\begin{pmatrix}a&b\\\\c&d\\end{pmatrix}",
    "<mrow><mo>(</mo><mtable><mtr><mtd><mi>a</mi></mtd><mtd><mi>b</mi></mtd></mtr><mtr><mtd><mi>c</mi></mtd><mtd><mi>d</mi></mtd></mtr></mtable><mo>)</mo></mrow>"],
  ["\\begin{cases}1&\\text{if } x>0\\\\0\\end{cases}",
    "<mrow><mo>{</mo><mtable><mtr><mtd><mn>1</mn></mtd><mtd><mrow><mtext>if&nbsp;</mtext><mi>x</mi><mo>&gt;</mo><mn>0</mn></mrow></mtd></mtr><mtr><mtd><mn>0</mn></mtd></mtr></mtable><mrow></mrow></mrow>"],
  ["\\begin{aligned}a&=b\\\\&=c\\\\\\end{aligned}",
    "<mtable><mtr><mtd><mi>a</mi></mtd><mtd><mrow><mo>=</mo><mi>b</mi></mrow></mtd></mtr><mtr><mtd><mrow></mrow></mtd><mtd><mrow><mo>=</mo><mi>c</mi></mrow></mtd></mtr></mtable>"],
  ["a &= b", "<mtable><mtr><mtd><mi>a</mi></mtd><mtd><mrow><mo>=</mo><mi>b</mi></mrow></mtd></mtr></mtable>"],
  ["\\hat x + \\overline{ab}", "<mover><mi>x</mi><mo>^</mo></mover><mo>+</mo><mover><mrow><mi>a</mi><mi>b</mi></mrow><mo>‾</mo></mover>"],
  ["\\underbrace{x}_n", "<munder><munder><mi>x</mi><mo>⏟</mo></munder><mi>n</mi></munder>"],
  ["\\mathbb{R} \\mathcal F \\mathbf{v} \\mathrm{Var}", "<mi>ℝ</mi><mi>ℱ</mi><mi>v</mi><mi>Var</mi>"],
  ["\\binom nk", "<mrow><mo>(</mo><mfrac><mi>n</mi><mi>k</mi></mfrac><mo>)</mo></mrow>"],
  ["a \\over b", "<mfrac><mi>a</mi><mi>b</mi></mfrac>"],
  ["\\not= \\neq", "<mo>=\u0338</mo><mo>≠</mo>"],
  ["x ≥ y % left out", "<mi>x</mi><mo>≥</mo><mi>y</mi>"],
  ["\\text{costs \\$5}", "<mtext>costs&nbsp;$5</mtext>"],
  ["50\\%", "<mn>50</mn><mi>%</mi>"],
];

/** What is refused, and shown as it was written. */
const UNKNOWN = [
  "\\ce{H2O}", "\\toString", "\\constructor", "\\def\\x{1}", "a}b", "{a", "x^", "x^a^b", "\\frac{a}", "\\left( x", "\\begin{tikz}\\end{tikz}", "\\begin{matrix}a\\end{cases}",
  "\\href{javascript:alert(1)}{x}", "#1", "{".repeat(200), "\\frac".repeat(200), "\\left(".repeat(200), "x^{".repeat(200), `${"a".repeat(10_001)}`,
  "\\begin{matrix}".repeat(100), "\\text{\\input{x}}",
];

/** Text in which nothing is a formula. */
const PLAIN = [
  "It costs $5 and not $10.", "Between $3.50-$4.20, or US$5 and A$6.", "In $HOME/$USER or $PATH:$HOME.", "From $5 to 7$ and more.", "\\$x$ and $ x $", "A lone $ and $$$.",
  "`\\(x\\)` and ``$a$``", "    \\[ x \\]", "```\n\\[ x \\]\n$$y$$\n```", "$5, $6 and $7", "Pay $20 or get $30",
];

/** Formulas among Markdown: the text, and what of it is shown as formulas. */
const AMONG = [
  ["Let \\( a_1 * b_2 * c \\) and \\(d\\).", 2],
  ["**\\(x\\)** and [\\(y\\)](https://example.org), $z_1$, $n$th and $-1$; $$w$$", 6],
  ["\\[\na\n= b\n\\]", 1],
  ["Text\n\\[ a \\].\nmore", 1],
  ["$$\n\na\n\n- b\n\n$$", 1],
  ["- \\[\n  a\n  \\]\n- $$b$$", 2],
  ["> \\[\n> a\n> \\]", 1],
  ["\\begin{align*}\na &= b \\\\\n&= c\n\\end{align*}", 1],
  ["| \\(a\\) | $b$ |\n|---|---|\n| \\[c\\] | d |", 3],
  ["# $E = mc^2$", 1],
  ["\\(open **b** \\[ c \\] \\(also open, \\[d\\]", 2],
];

/** Code, and those of its pieces that have a colour. */
const CODE = [
  ["rust", "let s: &'a str = \"x\\\"\"; // 'c' \"", "k:let t:'a s:\"x\\\"\" c:// 'c' \""],
  ["rust", "/* a */ 'x' r#\"b\"#", "c:/* a */ s:'x' s:r#\"b\"#"],
  ["python", "def f(x=1.5): # d\n  '''a\nb''' + 'c'", "k:def n:1.5 c:# d s:'''a s:b''' s:'c'"],
  ["js", "const a = `b\n${c}` + 0xff;", "k:const s:`b s:${c}` n:0xff"],
  ["json", "{\"a\": [\"b\", -1e5, null]}", "t:\"a\" s:\"b\" n:1e5 k:null"],
  ["bash", "echo $HOME 'it' # done\na#b", "t:$HOME s:'it' c:# done"],
  ["sql", "select 'a' FROM b -- c", "k:select s:'a' k:FROM c:-- c"],
  ["html", "<!-- x --><a href=\"y\">if &amp;</a>", "c:<!-- x --> k:<a t:href s:\"y\" k:> n:&amp; k:</a>"],
  ["yaml", "a-b: \"c\" # d\n- e: true", "t:a-b s:\"c\" c:# d t:e k:true"],
  ["css", ".a { color: #fff; margin: 0 2px } /* b", "t:color n:#fff t:margin n:0 n:2px c:/* b"],
  ["diff", "+++ a\n+b\n-c\n d", "c:+++ a a:+b d:-c"],
  ["c", "#include <a>\nint x = 'y';", "t:#include k:int s:'y'"],
  ["lua", "--[[ a\nb ]] local x", "c:--[[ a c:b ]] k:local"],
  ["unknown", "let x = \"y\"", ""],
  ["__proto__", "let x", ""],
];

export async function prose(t) {
  const page = await t.open("/");
  await until(page, () => !document.getElementById("model").disabled);
  const inPage = async (name, run, argument) => {
    const module = await page.evaluateHandle((path) => import(path), `/page/${name}.js`);
    return module.evaluate(run, argument);
  };
  const render = (texts) =>
    inPage("markdown", ({ MarkdownView }, texts) =>
      texts.map((text) => {
        const root = document.createElement("div");
        new MarkdownView(root).finish(text);
        return { text: root.textContent.trim(), math: root.querySelectorAll(".formula").length, failed: root.querySelectorAll(".tex-source").length, html: root.innerHTML };
      }), texts);
  const script = (reply) => page.evaluate((reply) => window.reply(reply), reply);
  const say = async (text, reply) => {
    await script({ pieces: [{ content: reply }] });
    await send(page, text);
    await complete(page);
  };

  await t.check("formulas are MathML", async () => {
    const found = await inPage("tex", ({ formula }, sources) =>
      sources.map((source) => {
        const nodes = formula(source, true);
        return nodes.map((node) => node.innerHTML.replace(/<(\w+)[^>]*>/g, "<$1>")).join("");
      }), FORMULAS.map(([source]) => source));
    assert.deepEqual(found, FORMULAS.map(([, expected]) => expected));
    const roots = await inPage("tex", ({ formula }) => [formula("\\sqrt{x}", true), formula("\\sqrt[3]{x}", true)].map(([node]) => [...node.textContent.replace("√", "")].sort().join("")));
    assert.deepEqual(roots, ["x", "3x"]);
    // Whatever fonts there are, a root has its sign, and letters are not boxes.
    const widths = await inPage("tex", ({ formula }) => {
      const box = document.body.appendChild(document.createElement("div"));
      const width = (source) => {
        box.replaceChildren(...formula(source, false));
        return box.firstChild.getBoundingClientRect().width;
      };
      const found = ["\\sqrt{x}", "x", "\\omega", "\\iota"].map(width);
      box.remove();
      return found;
    });
    assert.ok(widths[0] > 1.2 * widths[1] && widths[2] > widths[3], String(widths));
  });

  await t.check("a formula that is not known is shown as it was written", async () => {
    const found = await render(UNKNOWN.map((tex) => `Here \\(${tex}\\) it is`));
    assert.deepEqual(found.map(({ text }) => text), UNKNOWN.map((tex) => `Here \\(${tex}\\) it is`));
    assert.ok(found.every(({ html }) => !/<(?:math|a|script)\b/.test(html)));
  });

  await t.check("prices, variables and code are no formulas", async () => {
    const found = await render(PLAIN);
    assert.deepEqual(found.map(({ math }) => math), PLAIN.map(() => 0));
    assert.equal(found[0].text, PLAIN[0]);
    assert.equal(found[4].text, "$x$ and $ x $");
  });

  await t.check("formulas stand in Markdown wherever text does", async () => {
    const found = await render(AMONG.map(([text]) => text));
    assert.deepEqual(found.map(({ math, failed }) => [math, failed]), AMONG.map(([, math]) => [math, 0]));
  });

  await t.check("a formula that is still coming is shown as it is written", async () => {
    const texts = ["So \\( a_1 * b_2 * c \\, \\{ x \\\\ y \\} \\)", "\\[\n\\begin{aligned}\na &= b \\\\\n- c &= \\text{x_1 *y*}\n\\end{aligned}\n\\]", "$$\na *b* \\\\ c\n$$"];
    const wrong = await inPage("markdown", ({ MarkdownView }, texts) => {
      const wrong = [];
      for (const text of texts) {
        const root = document.createElement("div");
        const view = new MarkdownView(root);
        for (let at = text.search(/[\\$]/) + 2; at < text.length - 1; at += 1) {
          view.update(text.slice(0, at));
          if (root.textContent.trim() !== text.slice(0, at).trim()) wrong.push([text.slice(0, at), root.textContent]);
        }
        view.finish(text);
        if (!root.querySelector("math")) wrong.push([text, root.innerHTML]);
      }
      return wrong;
    }, texts);
    assert.deepEqual(wrong, []);
  });

  await t.check("code has its colours", async () => {
    const found = await inPage("syntax", ({ Painter }, code) =>
      code.map(([language, text]) => {
        const element = document.createElement("code");
        new Painter(element, language).show(text);
        if (element.textContent !== text) return "another text";
        return [...element.querySelectorAll("span")].map((span) => `${span.className.slice(5)}:${span.textContent}`).join(" ");
      }), CODE);
    assert.deepEqual(found, CODE.map(([, , expected]) => expected));
  });

  await t.check("code that grows has the colours of the whole, and its lines stay", async () => {
    const wrong = await inPage("syntax", ({ Painter }, code) => {
      const wrong = [];
      for (const [language, text] of code) {
        const whole = document.createElement("code");
        new Painter(whole, language).show(text);
        const element = document.createElement("code");
        const painter = new Painter(element, language);
        let kept = [];
        for (let at = 1; at <= text.length; at += 1) {
          painter.show(text.slice(0, at));
          if (kept.some((node) => node.parentNode !== element)) wrong.push([text.slice(0, at), "a line was made again"]);
          if (text[at - 1] === "\n") kept = [...element.childNodes];
        }
        if (element.innerHTML !== whole.innerHTML) wrong.push([text, element.innerHTML, whole.innerHTML]);
      }
      return wrong;
    }, CODE.filter(([, , colours]) => colours));
    assert.deepEqual(wrong, []);
  });

  await t.check("formulas, code and tasks can be seen by all", async () => {
    const code = CODE.slice(0, 13).map(([language, text]) => `\`\`\`${language}\n${text}\n\`\`\``).join("\n\n");
    const formulas = FORMULAS.slice(0, 20).map(([tex]) => `\\(${tex}\\)`).join(", ");
    await say("Everything", `${formulas}\n\n\\[ \\sqrt{\\frac{a}{b}}, \\ce{x} \\]\n\n- [ ] to do\n- [x] done \\(x\\)\n- [ ]not\n\n1. [X] first\n\n   more\n\n${code}`);
    const reply = page.locator(".message.assistant").last();
    assert.deepEqual(await reply.locator(".task").evaluateAll((tasks) => tasks.map((task) => task.querySelector("[role=img]").getAttribute("aria-label"))), ["To do:", "Done:", "Done:"]);
    assert.match(await reply.locator("li").nth(2).innerText(), /^\[ \]not$/);
    await t.accessible(page, "prose");
    await page.locator("#thread").evaluate((thread) => thread.scrollTo(0, 0));
    await t.accessible(page, "prose-top");
  });

  await t.check("text from right to left is laid out so, and code is not", async () => {
    await page.keyboard.press("Control+Shift+O");
    const text = "أهلا (Hello)!\n\n- عنصر `code`\n- item\n\n> اقتباس\n\n| اسم | b |\n|---|---|\n| 1 | 2 |\n\n```js\nlet أ = 1;\n```\n\n\\(x = 1\\) صيغة\n\nEnglish";
    await say("ما هذا؟", text);
    const reply = page.locator(".message.assistant").last();
    const direction = (selector) => reply.locator(selector).first().evaluate((element) => getComputedStyle(element).direction);
    for (const selector of [".prose > p", "ul", "blockquote", "table"]) assert.equal(await direction(selector), "rtl", selector);
    for (const selector of ["li code", ".code pre", "math", ".prose > p:last-child"]) assert.equal(await direction(selector), "ltr", selector);
    for (const selector of [".message.user .said", "#title", ".chat a"]) {
      assert.equal(await page.locator(selector).first().evaluate((element) => getComputedStyle(element).direction), "rtl", selector);
    }
    const right = (selector) => reply.locator(selector).first().evaluate((element) => element.closest(".prose").getBoundingClientRect().right - element.getBoundingClientRect().right);
    assert.ok((await right("table")) < 2, "the table is on the left");
    const box = page.locator("#prompt");
    await box.fill("مرحبا");
    assert.equal(await box.evaluate((element) => getComputedStyle(element).direction), "rtl");
    await box.fill("");
    await t.accessible(page, "right-to-left");
  });

  await t.check("a long message is folded, and nothing of it is lost", async () => {
    await page.keyboard.press("Control+Shift+O");
    const long = Array.from({ length: 400 }, (_, at) => `Line ${at}`).join("\n");
    await say(long, "Read.");
    const said = page.locator(".said");
    const height = () => said.evaluate((element) => element.offsetHeight);
    assert.ok((await height()) < 600);
    await t.accessible(page, "folded");
    await page.getByRole("button", { name: /^Show all [\d,]+ characters$/ }).click();
    assert.ok((await height()) > 4000);
    assert.equal(await said.innerText(), long);
    await page.getByRole("button", { name: "Show less" }).click();
    assert.ok((await height()) < 600);
    await say("Short", "Read.");
    assert.equal(await page.locator(".fold").count(), 1);
  });

  await t.check("a chat has a system prompt of its own", async () => {
    const system = () => page.evaluate(() => window.sent.at(-1).messages.filter(({ role }) => role === "system").map(({ content }) => content));
    const settle = async (run) => {
      await page.getByRole("button", { name: "Settings" }).click();
      await run(page.locator("#settings"));
      await page.keyboard.press("Escape");
    };
    await page.keyboard.press("Control+Shift+O");
    await settle(async (settings) => {
      await settings.getByLabel("For all chats").fill("Be brief.");
      await settings.getByLabel("For this chat").fill("Be a poet.");
    });
    await say("One", "1");
    assert.deepEqual(await system(), ["Be a poet."]);
    await page.reload();
    await page.locator(".message").first().waitFor();
    await say("Two", "2");
    assert.deepEqual(await system(), ["Be a poet."]);
    await settle((settings) => settings.getByLabel("For this chat").fill(""));
    await say("Three", "3");
    assert.deepEqual(await system(), ["Be brief."]);
    await settle((settings) => settings.getByLabel("For this chat").fill("Be a cook."));
    await page.keyboard.press("Control+Shift+O");
    await settle(async (settings) => assert.equal(await settings.getByLabel("For this chat").inputValue(), ""));
    await say("Four", "4");
    assert.deepEqual(await system(), ["Be brief."]);
    await settle((settings) => settings.getByLabel("For all chats").fill(""));
  });

  await page.context().close();
}
