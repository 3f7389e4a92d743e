// The AI SDK (npm `ai` and `@ai-sdk/openai-compatible`): text, streams, tools, objects, errors.

import assert from "node:assert/strict";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, generateText, jsonSchema, Output, streamText, tool } from "ai";

const { WEFT_URL, WEFT_KEY, WEFT_MODEL } = process.env;
const provider = createOpenAICompatible({
  name: "weft",
  baseURL: `${WEFT_URL}/v1`,
  apiKey: WEFT_KEY,
  includeUsage: true,
  supportsStructuredOutputs: true,
});
const model = provider(WEFT_MODEL);
const hello = { model, prompt: "Say hello in two words.", temperature: 0, maxOutputTokens: 24, maxRetries: 0 };
// Models with random weights rarely stop, to reason or to call.
const direct = { ...hello, maxOutputTokens: 400, providerOptions: { weft: { reasoningEffort: "none", parallel_tool_calls: false } } };
const schema = {
  type: "object",
  properties: { city: { type: "string", enum: ["Paris", "Oslo"] }, days: { type: "integer", minimum: 1, maximum: 9 } },
  required: ["city", "days"],
  additionalProperties: false,
};
const valid = ({ city, days }) => ["Paris", "Oslo"].includes(city) && Number.isInteger(days) && days > 0 && days < 10;
const weather = tool({ description: "The weather", inputSchema: jsonSchema(schema) });

const cases = {
  async the_stream_is_the_answer() {
    const whole = await generateText(hello);
    const stream = streamText(hello);
    let text = "";
    for await (const piece of stream.textStream) text += piece;
    assert.equal(text, whole.text);
    assert.equal(await stream.reasoningText, whole.reasoningText);
    assert.equal(await stream.finishReason, whole.finishReason);
    assert.ok(["stop", "length"].includes(whole.finishReason), whole.finishReason);
    const usage = await stream.usage;
    assert.equal(usage.outputTokens, whole.usage.outputTokens);
    assert.equal(usage.totalTokens, usage.inputTokens + usage.outputTokens);
  },

  async forced_tools() {
    const options = { ...direct, tools: { weather }, toolChoice: "required" };
    const whole = await generateText(options);
    assert.equal(whole.finishReason, "tool-calls");
    assert.ok(whole.toolCalls.length > 0);
    for (const call of whole.toolCalls) assert.ok(call.toolName === "weather" && valid(call.input), call);
    const stream = streamText(options);
    const calls = [];
    for await (const part of stream.fullStream) if (part.type === "tool-call") calls.push(part.input);
    assert.deepEqual(calls, whole.toolCalls.map((call) => call.input));
  },

  async a_tool_answers() {
    const answering = tool({ inputSchema: jsonSchema(schema), execute: async () => "clear" });
    const named = { type: "tool", toolName: "weather" };
    const first = await generateText({ ...direct, tools: { weather: answering }, toolChoice: named });
    const messages = [{ role: "user", content: hello.prompt }, ...first.response.messages];
    const { prompt, ...rest } = hello;
    const second = await generateText({ ...rest, messages, tools: { weather: answering }, toolChoice: "none" });
    const without = await generateText(hello);
    assert.ok(second.usage.inputTokens > without.usage.inputTokens);
  },

  async an_object_is_kept() {
    const options = { ...direct, output: Output.object({ schema: jsonSchema(schema) }) };
    const whole = await generateText(options);
    assert.ok(valid(whole.output), whole.output);
    const stream = streamText(options);
    let last;
    for await (const part of stream.partialOutputStream) last = part;
    assert.deepEqual(last, whole.output);
  },

  async a_stream_left_early() {
    const controller = new AbortController();
    const stream = streamText({ ...hello, maxOutputTokens: 2000, abortSignal: controller.signal });
    for await (const _ of stream.fullStream) {
      controller.abort();
      break;
    }
    await generateText(hello);
  },

  async errors() {
    const status = (code) => (error) => APICallError.isInstance(error) && error.statusCode === code;
    await assert.rejects(generateText({ ...hello, temperature: 9 }), status(400));
    await assert.rejects(generateText({ ...hello, model: provider("nothing") }), status(404));
    const stranger = createOpenAICompatible({ name: "weft", baseURL: `${WEFT_URL}/v1`, apiKey: "wrong" });
    await assert.rejects(generateText({ ...hello, model: stranger(WEFT_MODEL) }), status(401));
  },
};

const failed = [];
for (const [name, run] of Object.entries(cases)) {
  const begun = performance.now();
  try {
    await run();
  } catch (error) {
    failed.push(name);
    console.error(error);
  }
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  console.log(`ai_sdk ${WEFT_MODEL}: ${name} ${failed.includes(name) ? "FAILED" : "ok"} (${seconds} s)`);
}
if (failed.length) {
  console.error(`ai_sdk ${WEFT_MODEL}: ${failed.length} failed: ${failed.join(", ")}`);
  process.exit(1);
}
