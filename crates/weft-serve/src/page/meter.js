// Shows how much of the model's context a conversation fills.

import { byId, count } from "./dom.js";

/** Shows `used` tokens of a context, or nothing where either is unknown. */
export function showContext(used, context) {
  byId("context").hidden = !context || !used;
  if (!context || !used) return;
  const share = Math.min(1, used / context);
  const text = `${count(used)} of ${count(context)} tokens`;
  byId("context-text").textContent = text;
  byId("context-fill").style.inlineSize = `${(share * 100).toFixed(1)}%`;
  const bar = byId("context-bar");
  bar.setAttribute("aria-valuemax", String(context));
  bar.setAttribute("aria-valuenow", String(Math.min(used, context)));
  bar.setAttribute("aria-valuetext", text);
  bar.classList.toggle("nearly", share > 0.85);
}

/** The tokens that a conversation's last reply says it fills. */
export function usedBy(path) {
  const last = path.findLast((message) => message.figures?.prompt);
  return last ? last.figures.prompt + (last.figures.tokens ?? 0) : 0;
}
