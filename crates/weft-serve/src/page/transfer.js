// Conversations as files: JSON for keeping and importing, Markdown for reading.

import { Thread, newId } from "./thread.js";

const FORMAT = "weft-chats";
const ROLES = ["user", "assistant", "tool", "system"];

/** The text of an export. Each entry is `{chat, messages}`. */
export function toJson(entries) {
  const conversations = entries.map(({ chat, messages }) => ({
    ...chat,
    messages: messages.map(({ chat: _, ...message }) => message).sort((a, b) => a.created - b.created),
  }));
  return JSON.stringify({ format: FORMAT, version: 1, conversations }, null, 2) + "\n";
}

/** The branch of a conversation that is shown, as Markdown. */
export function toMarkdown({ chat, messages }) {
  const names = { user: "You", assistant: chat.model || "Assistant", tool: "Tool", system: "System" };
  const parts = new Thread(messages, chat.leaf).path().map((message) => {
    const lines = [`## ${names[message.role] ?? message.role}`];
    if (message.reasoning) lines.push(message.reasoning.trim().replace(/^/gm, "> "));
    if (message.content) lines.push(message.content.trim());
    for (const call of message.calls ?? []) lines.push(`Calls \`${call.name}\`:\n\n${fenced(call.json, "json")}`);
    return lines.join("\n\n");
  });
  if (chat.system) parts.unshift(`## System\n\n${chat.system.trim()}`);
  return [`# ${chat.title}`, ...parts].join("\n\n") + "\n";
}

/** A code block whose fence is longer than any in its text. */
function fenced(text, language) {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

/**
 * Reads an export. `known` are the ids of conversations that exist: those are imported as copies, so nothing is overwritten.
 * Throws an error that says what is wrong and where.
 */
export function fromJson(text, known) {
  let file;
  try {
    file = JSON.parse(text);
  } catch (error) {
    throw new Error(`The file is not JSON: ${error.message}`);
  }
  if (file?.format !== FORMAT) throw new Error(`The file is not an export of this page: "format" is not "${FORMAT}".`);
  if (file.version !== 1) throw new Error(`The file has version ${file.version}; this page reads version 1.`);
  if (!Array.isArray(file.conversations)) throw new Error('"conversations" is not a list.');
  return file.conversations.map((entry, at) => readChat(entry, `conversations[${at}]`, known));
}

function readChat(entry, where, known) {
  const expect = (fine, field, wanted) => {
    if (!fine) throw new Error(`${where}.${field}: expected ${wanted}.`);
  };
  expect(entry !== null && typeof entry === "object", "", "an object");
  expect(typeof entry.title === "string", "title", "a string");
  expect(Array.isArray(entry.messages), "messages", "a list");
  // Ids are always new: those of the file may belong to other conversations here.
  const ids = new Map(entry.messages.map((message) => [message?.id, newId()]));
  const messages = entry.messages.map((message, at) => {
    expect(message !== null && typeof message === "object", `messages[${at}]`, "an object");
    expect(ROLES.includes(message.role), `messages[${at}].role`, `one of ${ROLES.join(", ")}`);
    expect(typeof message.content === "string", `messages[${at}].content`, "a string");
    return readMessage(message, ids, at);
  });
  const chat = {
    id: typeof entry.id === "string" && /^[0-9a-f]{24}$/.test(entry.id) && !known.has(entry.id) ? entry.id : newId(),
    title: entry.title.slice(0, 200),
    created: time(entry.created),
    updated: time(entry.updated),
    leaf: ids.get(entry.leaf) ?? null,
    model: typeof entry.model === "string" ? entry.model : null,
    ...(typeof entry.system === "string" ? { system: entry.system } : {}),
  };
  return { chat, messages };
}

function readMessage(message, ids, at) {
  const read = {
    id: ids.get(message.id),
    parent: ids.get(message.parent) ?? null,
    role: message.role,
    content: message.content,
    created: time(message.created) + at / 1e6,
  };
  for (const field of ["reasoning", "model", "finish", "error", "code"]) {
    if (typeof message[field] === "string") read[field] = message[field];
  }
  if (Array.isArray(message.calls)) {
    const calls = message.calls.filter((call) => typeof call?.name === "string" && typeof call?.json === "string");
    read.calls = calls.map(({ id, name, json }) => ({ id: typeof id === "string" ? id : newId(), name, json }));
  }
  if (message.figures !== null && typeof message.figures === "object") {
    const numbers = Object.entries(message.figures).filter(([, value]) => Number.isFinite(value));
    read.figures = Object.fromEntries(numbers);
  }
  return read;
}

const time = (value) => (Number.isFinite(value) ? value : Date.now());

/** A title as the name of a file. */
export function fileName(title, extension) {
  const name = title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 60);
  return `${name || "chat"}.${extension}`;
}
