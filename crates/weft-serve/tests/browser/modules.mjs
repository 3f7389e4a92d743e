// Checks of the page's modules by themselves. They run in the browser, as served.

import assert from "node:assert/strict";

/** Markdown that is hard to cut: each text is fed to the view in pieces of every size. */
const TEXTS = [
  "# One\n\n### Deep\n\n## Less\n\nTwo *three* `four`\nfive\n\nSix\n===\n\n- a\n- b\n\n  c\n- d\n\ne",
  "1. a\n\n2. b\n\n10. c\n\n   d\n\n\ne",
  "```rust\nfn main() {\n\n    x();\n}\n```\nafter\n\n~~~\nopen",
  "| a | b |\n|---|--:|\n| 1 | 2 |\n| 3 | 4 |\n\nafter",
  "> a\nb\n>\n> - c\n\n---\n\n    code\n\n    more\n\nend",
  "See [one][1] and [two].\n\n* x\n\n*\n* y\n\n[1]: https://example.org/1\n[two]: https://example.org/2\n",
  "a\rb\r\r# c\r\n\r\n- b\r\n- c\r\n\r\nd",
  "A \\(x_1\\) and \\[ y\\\\z\n= w \\] b\n\n\\[\na\n\n- b\n\n\\].\n\nc $$d$$ \\( open *e*\n\n- [ ] f $g$\n- [x] h",
  "$$\nopen\n\nb\n\n# c\n\n\\begin{align}\na &= b\n\\end{align}\n\n$$\nd",
  "\n\n  a\n\n\t\tb\n* * *\n<div>\n\n<b>c</b>\n&amp; &lt;script&gt; 漢字 👍🏽\n\n5) e\n6) f",
];

export async function modules(t) {
  const page = await t.open("/");
  const inPage = async (name, run, argument) => {
    const module = await page.evaluateHandle((path) => import(path), `/page/${name}.js`);
    return module.evaluate(run, argument);
  };

  await t.check("markdown that grows is the markdown of the whole", async () => {
    const wrong = await inPage(
      "markdown",
      ({ MarkdownView }, texts) => {
        const whole = (text) => {
          const root = document.createElement("div");
          new MarkdownView(root).finish(text);
          return root.innerHTML;
        };
        const wrong = [];
        for (const text of texts) {
          for (let size = 1; size <= text.length; size += 1) {
            const root = document.createElement("div");
            const view = new MarkdownView(root);
            for (let at = size; at < text.length; at += size) view.update(text.slice(0, at));
            view.finish(text);
            if (root.innerHTML !== whole(text)) wrong.push({ text, size, found: root.innerHTML, expected: whole(text) });
          }
        }
        return wrong;
      },
      TEXTS,
    );
    assert.deepEqual(wrong, []);
  });

  await t.check("hostile markdown is text", async () => {
    const found = await inPage("markdown", ({ MarkdownView }) => {
      const text = [
        "<img src=x onerror=alert(1)><script>alert(1)</script><style>*{}</style>",
        "[a](javascript:alert(1)) [b](data:text/html,x) [c](vbscript:x) [d](/status) [e](//example.org) ![f](https://example.org/f.png)",
        '[g](https://example.org "\\" onclick=\\"x")',
        "![h](data:image/png;base64,AAAA)",
        '```x" onclick="y\n</code><script>z</script>\n```',
        "| a |\n|:-:|\n| <b style=\"color:red\">x</b> |",
        "<a id=prompt name=ask>k</a>",
        "3. third",
      ].join("\n\n");
      const root = document.createElement("div");
      new MarkdownView(root).finish(text);
      const all = [...root.querySelectorAll("*")];
      return {
        tags: [...new Set(all.map((element) => element.localName))].sort(),
        attributes: [...new Set(all.flatMap((element) => element.getAttributeNames()))].sort(),
        links: all.filter((element) => element.localName === "a").map((link) => [link.textContent, link.getAttribute("href"), link.rel, link.target]),
        start: root.querySelector("ol").start,
        align: root.querySelector("th").align,
      };
    });
    const rel = "noopener noreferrer nofollow";
    assert.deepEqual(found.links, [
      ["f", "https://example.org/f.png", rel, "_blank"],
      ["g", "https://example.org", rel, "_blank"],
    ]);
    assert.deepEqual(found.tags, "a button code div li ol p path pre span svg table tbody td th thead tr".split(" "));
    const expected = "align aria-hidden aria-label class d data-language dir href rel role start tabindex target title type viewBox";
    assert.deepEqual(found.attributes, expected.split(" ").sort());
    assert.deepEqual([found.start, found.align], [3, "center"]);
  });

  await t.check("events are the same however the stream is cut", async () => {
    const wrong = await inPage("stream", ({ EventParser }) => {
      const text = ': ping\n\ndata: {"a":1}\n\nevent: x\r\ndata: b\r\ndata:c\r\n\r\ndata: d\rdata: \r\rid: 1\n\ndata: [DONE]\n\n';
      const expected = ['{"a":1}', "b\nc", "d\n", "[DONE]"];
      const wrong = [];
      for (let size = 1; size <= text.length; size += 1) {
        const comments = [];
        const parser = new EventParser((comment) => comments.push(comment));
        const events = [];
        for (let at = 0; at < text.length; at += size) events.push(...parser.push(text.slice(at, at + size)));
        if (JSON.stringify([events, comments]) !== JSON.stringify([expected, ["ping"]])) wrong.push({ size, events, comments });
      }
      return wrong;
    });
    assert.deepEqual(wrong, []);
  });

  await t.check("a conversation is a tree", async () => {
    const found = await inPage("thread", ({ Thread }) => {
      const thread = new Thread();
      const add = (parent, content) => {
        const message = thread.add(parent?.id ?? null, { role: "user", content });
        message.created = thread.messages.size;
        return message;
      };
      const shown = () => thread.path().map(({ content }) => content).join("");
      const a = add(null, "a");
      const b = add(a, "b");
      add(b, "c");
      const lines = [shown()];
      const d = add(a, "d");
      lines.push(shown(), thread.siblings(d).length);
      thread.show(b);
      lines.push(shown());
      const again = new Thread([...thread.messages.values()], "gone");
      lines.push(again.path().map(({ content }) => content).join(""));
      const circle = new Thread([{ id: "x", parent: "y", created: 1 }, { id: "y", parent: "x", created: 2 }], "x");
      return [...lines, circle.path().length];
    });
    assert.deepEqual(found, ["abc", "ad", 2, "abc", "ad", 2]);
  });

  await t.check("an export is imported as it was, beside what exists", async () => {
    const found = await inPage("transfer", ({ fromJson, toJson, toMarkdown, fileName }) => {
      const chat = { id: "0123456789abcdef01234567", title: "A: b/c?", created: 1, updated: 2, leaf: "r", model: "m" };
      const messages = [
        { id: "u", chat: chat.id, parent: null, role: "user", content: "Hi", created: 1 },
        {
          id: "r", chat: chat.id, parent: "u", role: "assistant", content: "Ho", reasoning: "Hm", created: 2, finish: "stop",
          calls: [{ id: "c", name: "f", json: '{"a": "```"}' }], figures: { tokens: 3 }, other: "x",
        },
      ];
      const text = toJson([{ chat, messages }]);
      const [first] = fromJson(text, new Set());
      const [second] = fromJson(text, new Set([chat.id]));
      const refused = [
        "x", "[]", '{"format":"other"}', '{"format":"weft-chats","version":9}', '{"format":"weft-chats","version":1}',
        '{"format":"weft-chats","version":1,"conversations":[{"title":1,"messages":[]}]}',
        '{"format":"weft-chats","version":1,"conversations":[{"title":"","messages":[{"role":"x"}]}]}',
      ].map((text) => {
        try {
          fromJson(text, new Set());
          return "accepted";
        } catch (error) {
          return error.message;
        }
      });
      const fresh = new Set([...first.messages, ...second.messages].map(({ id }) => id)).size;
      return {
        refused, fresh,
        same: [first.chat.id === chat.id, second.chat.id === chat.id],
        reply: { ...first.messages[1], id: 0, parent: first.messages[1].parent === first.messages[0].id, created: 0 },
        leaf: first.chat.leaf === first.messages[1].id,
        markdown: toMarkdown({ chat, messages }),
        name: [fileName(chat.title, "md"), fileName("???", "json")],
      };
    });
    assert.deepEqual(found.same, [true, false]);
    assert.equal(found.fresh, 4);
    assert.equal(found.leaf, true);
    assert.deepEqual(found.reply, {
      id: 0, parent: true, role: "assistant", content: "Ho", created: 0, reasoning: "Hm", finish: "stop",
      calls: [{ id: "c", name: "f", json: '{"a": "```"}' }], figures: { tokens: 3 },
    });
    assert.equal(found.markdown, '# A: b/c?\n\n## You\n\nHi\n\n## m\n\n> Hm\n\nHo\n\nCalls `f`:\n\n````json\n{"a": "```"}\n````\n');
    assert.deepEqual(found.name, ["a-b-c.md", "chat.json"]);
    assert.equal(found.refused.filter((message) => message === "accepted").length, 0);
    assert.match(found.refused[5], /conversations\[0\]\.title: expected a string/);
    assert.match(found.refused[6], /conversations\[0\]\.messages\[0\]\.role: expected one of/);
  });

  await t.check("metrics are read and their quantiles are right", async () => {
    const found = await inPage("metrics", ({ parse, sum, buckets, quantile, labelValues, rate, reading }) => {
      const text = [
        "# HELP a:b Some text", "# TYPE a:b gauge", 'a:b{model_name="x\\"y",z="1"} 2', 'a:b{model_name="w"} 3.5', "plain 1e3 1700000000",
        'h_bucket{le="0.1"} 2', 'h_bucket{le="1.0"} 6', 'h_bucket{le="+Inf"} 8', "# EOF", "",
      ].join("\n");
      const samples = parse(text);
      const now = buckets(samples, "h");
      const r = reading(samples, 5000);
      return {
        sums: [sum(samples, "a:b"), sum(samples, "plain"), sum(samples, "absent")],
        labels: labelValues(samples, "a:b", "model_name"),
        quantiles: [quantile(0.25, [], now), quantile(0.5, [], now), quantile(0.99, [], now), quantile(0.5, now, now)],
        since: quantile(0.5, [[0.1, 2], [1, 2], [Infinity, 2]], now),
        rates: [rate({ at: 0, x: 1 }, { at: 2000, x: 5 }, "x"), rate({ at: 0, x: 5 }, { at: 2000, x: 1 }, "x"), rate(null, r, "prompt")],
        absent: [r.running, r.first],
      };
    });
    assert.deepEqual(found.sums, [5.5, 1000, null]);
    assert.deepEqual(found.labels, ['x"y', "w"]);
    assert.deepEqual(found.quantiles.map((value) => value && Number(value.toFixed(3))), [0.1, 0.55, 1, null]);
    assert.equal(Number(found.since.toFixed(3)), 0.775);
    assert.deepEqual(found.rates, [2, null, null]);
    assert.deepEqual(found.absent, [null, []]);
  });

  await t.check("speech gets whole sentences", async () => {
    const found = await inPage("announce", ({ sentences }) =>
      ["One. Two", "No end", "3.5 is one! Is it? Yes", "a\nb", "終わり。次"].map((text) => sentences(text)));
    assert.deepEqual(found, [["One.", " Two"], ["", "No end"], ["3.5 is one! Is it?", " Yes"], ["a\n", "b"], ["終わり。", "次"]]);
  });

  await page.context().close();
}
