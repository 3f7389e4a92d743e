"""The `openai` package: chat, streams, tools, structured output, completions, models, errors."""

import asyncio
import enum
import json

import jsonschema
import openai
import pydantic
from harness import DESCRIPTIONS, KEY, MODEL, SCHEMAS, TIMEOUT, URL, case, main, refused, same

client = openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY, timeout=TIMEOUT, max_retries=0)
HELLO = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say hello in two words."}]
# Models with random weights rarely stop to reason.
DIRECT = {"reasoning_effort": "none"}
TOOLS = [
    {"type": "function", "function": {"name": name, "description": DESCRIPTIONS[name], "parameters": schema}}
    for name, schema in SCHEMAS.items()
]


def chat(messages=HELLO, **options):
    options = {"max_tokens": 24, "temperature": 0} | options
    return client.chat.completions.create(model=MODEL, messages=messages, **options)


def content(message):
    """What a message says, without ids."""
    calls = [(call.function.name, call.function.arguments) for call in message.tool_calls or []]
    return getattr(message, "reasoning_content", None) or "", message.content or "", calls


def collect(stream, n=1):
    """What a stream adds up to, and what must hold of its chunks: `(contents, reasons, usage)`."""
    texts, reasons, usage, ids = [["", "", []] for _ in range(n)], [None] * n, None, set()
    begun = [False] * n
    for chunk in stream:
        ids.add((chunk.id, chunk.created, chunk.model, chunk.object))
        assert usage is None, "a chunk after the usage"
        if not chunk.choices:
            usage = chunk.usage
            continue
        same(getattr(chunk, "usage", None), None, "usage of a chunk")
        for choice in chunk.choices:
            at, delta, text = choice.index, choice.delta, texts[choice.index]
            assert reasons[at] is None, "a chunk after the reason"
            same(delta.role == "assistant", not begun[at], "the role comes first, once")
            begun[at] = True
            text[0] += getattr(delta, "reasoning_content", None) or ""
            text[1] += delta.content or ""
            for call in delta.tool_calls or []:
                if call.index == len(text[2]):
                    assert call.id and call.type == "function" and call.function.name, call
                    text[2].append([call.function.name, ""])
                else:
                    same((call.index, call.id, call.function.name), (len(text[2]) - 1, None, None), "later delta")
                text[2][call.index][1] += call.function.arguments or ""
            reasons[at] = choice.finish_reason
    same(len(ids), 1, f"the chunks agree on id, time, model and object: {ids}")
    assert next(iter(ids))[3] == "chat.completion.chunk"
    contents = [(reasoning, text, [tuple(call) for call in calls]) for reasoning, text, calls in texts]
    return contents, reasons, usage


def check_usage(usage, completion=None):
    same(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens, "total")
    assert usage.prompt_tokens > 0 and usage.completion_tokens >= 0
    assert 0 <= usage.prompt_tokens_details.cached_tokens < usage.prompt_tokens
    assert 0 <= usage.completion_tokens_details.reasoning_tokens <= usage.completion_tokens
    if completion is not None:
        same(usage.completion_tokens, completion, "completion tokens")


def check_stream(n=1, **options):
    """The stream of a request adds up to its answer. Returns the answer."""
    whole = chat(n=n, **options)
    stream = chat(n=n, stream=True, stream_options={"include_usage": True}, **options)
    contents, reasons, usage = collect(stream, n)
    same([choice.index for choice in whole.choices], list(range(n)))
    same(contents, [content(choice.message) for choice in whole.choices], "stream and answer")
    same(reasons, [choice.finish_reason for choice in whole.choices], "reasons")
    same(
        (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens),
        (whole.usage.prompt_tokens, whole.usage.completion_tokens, whole.usage.total_tokens),
        "usage",
    )
    check_usage(whole.usage)
    check_usage(usage)
    return whole


@case
def models():
    names = [model.id for model in client.models.list()]
    assert MODEL in names, names
    same(client.models.retrieve(MODEL).id, MODEL)
    same(client.models.list().data[0].object, "model")


@case
def the_answer():
    answer = chat()
    same((answer.object, answer.model, len(answer.choices)), ("chat.completion", MODEL, 1))
    assert answer.id.startswith("chatcmpl-") and answer.created > 1_700_000_000 and answer.system_fingerprint
    same(answer.choices[0].message.role, "assistant")
    assert any(content(answer.choices[0].message)), answer
    assert answer.choices[0].finish_reason in ("stop", "length")
    check_usage(answer.usage)
    same(content(chat().choices[0].message), content(answer.choices[0].message), "the same request again")


@case
def the_stream_is_the_answer():
    check_stream()
    check_stream(temperature=1, seed=7, top_p=0.9, max_tokens=48)
    check_stream(**DIRECT)
    check_stream(extra_body={"chat_template_kwargs": {"enable_thinking": False}})


@case
def the_limit_is_kept():
    answer = check_stream(max_tokens=5, extra_body={"ignore_eos": True})
    same(answer.choices[0].finish_reason, "length")
    check_usage(answer.usage, 5)
    answer = check_stream(max_tokens=openai.omit, max_completion_tokens=3, extra_body={"ignore_eos": True})
    check_usage(answer.usage, 3)


@case
def a_seed_decides():
    one, again, other = (chat(temperature=1, seed=seed).choices[0].message for seed in (1, 1, 2))
    same(content(again), content(one))
    assert content(other) != content(one), "two seeds give the same reply"


@case
def several_replies():
    answer = check_stream(n=3, temperature=1, seed=5)
    texts = [content(choice.message) for choice in answer.choices]
    same(len(set(map(repr, texts))), 3, "the replies differ")
    same(texts[0], content(chat(temperature=1, seed=5).choices[0].message), "the first is the one of n=1")


@case
def log_probabilities():
    plain = DIRECT | {"logprobs": True, "top_logprobs": 4}
    answer = chat(**plain)
    tokens = answer.choices[0].logprobs.content
    # The token that ends a reply has no text.
    assert len(tokens) in (answer.usage.completion_tokens, answer.usage.completion_tokens - 1)
    for token in tokens:
        same(len(token.top_logprobs), 4)
        values = [top.logprob for top in token.top_logprobs]
        same(sorted(values, reverse=True), values, "the most likely first")
        same(token.token, token.top_logprobs[0].token, "the most likely token was taken")
        assert all(value <= 0 for value in values)
    listed = [token for chunk in chat(stream=True, **plain) for choice in chunk.choices
              for token in (choice.logprobs.content if choice.logprobs else [])]
    same(listed, tokens, "log probabilities of the stream")
    said = bytes(byte for token in tokens for byte in token.bytes)
    text = answer.choices[0].message.content
    assert text.strip().encode() in said or "\ufffd" in text, (text, said)


@case
def stops():
    text = chat(max_tokens=32, **DIRECT).choices[0].message.content
    stop = text[len(text) // 2 :][:2]
    answer = check_stream(max_tokens=32, stop=[stop, "zzzz"], **DIRECT)
    same(answer.choices[0].message.content, text[: text.index(stop)], f"the text before {stop!r}")
    same(answer.choices[0].finish_reason, "stop")


@case
def penalties_and_biases():
    options = DIRECT | {"logprobs": True}
    answer = chat(logit_bias={"64": 100}, max_tokens=4, **options)
    tokens = {token.token for token in answer.choices[0].logprobs.content}
    same(len(tokens), 1, "a bias of 100 leaves one token")
    check_stream(frequency_penalty=2, presence_penalty=-1, max_tokens=16)


@case
def forced_tools():
    for choice in ("required", {"type": "function", "function": {"name": "get_time"}}):
        for options in ({}, {"temperature": 1, "seed": 3}):
            answer = check_stream(max_tokens=400, tools=TOOLS, tool_choice=choice, parallel_tool_calls=False, **DIRECT, **options)
            message = answer.choices[0].message
            same(answer.choices[0].finish_reason, "tool_calls", message)
            same(len(message.tool_calls), 1)
            call = message.tool_calls[0]
            assert call.id and call.type == "function"
            jsonschema.validate(json.loads(call.function.arguments), SCHEMAS[call.function.name])
            if choice != "required":
                same(call.function.name, "get_time")


@case
def a_tool_answers():
    choice = {"type": "function", "function": {"name": "get_weather"}}
    # One call: random weights may begin others until the limit cuts one off, and a call that is cut off cannot be sent back.
    answer = chat(max_tokens=400, tools=TOOLS, tool_choice=choice, parallel_tool_calls=False, **DIRECT)
    same(answer.choices[0].finish_reason, "tool_calls")
    message = answer.choices[0].message.to_dict()
    [call] = message["tool_calls"]
    message["tool_calls"] = [call, call | {"id": "call_2"}]
    messages = [*HELLO, message]
    for call in message["tool_calls"]:
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": '{"sky": "clear"}'})
    check_stream(messages=messages, tools=TOOLS)
    check_stream(messages=messages, tools=TOOLS, tool_choice="none")


@case
def a_schema_is_kept():
    for name, schema in SCHEMAS.items():
        form = {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}
        for options in ({}, {"temperature": 1, "seed": 11}):
            answer = check_stream(max_tokens=400, response_format=form, **DIRECT, **options)
            same(answer.choices[0].finish_reason, "stop", answer)
            jsonschema.validate(json.loads(answer.choices[0].message.content), schema)
    answer = check_stream(max_tokens=100, response_format={"type": "json_object"}, **DIRECT)
    if answer.choices[0].finish_reason == "stop":
        assert isinstance(json.loads(answer.choices[0].message.content), dict)


class City(str, enum.Enum):
    paris = "Paris"
    lima = "Lima"


class Trip(pydantic.BaseModel):
    city: City
    sure: bool


@case
def a_class_is_parsed():
    options = {"model": MODEL, "messages": HELLO, "response_format": Trip, "max_tokens": 400} | DIRECT
    answer = client.chat.completions.parse(**options)
    assert isinstance(answer.choices[0].message.parsed, Trip), answer
    with client.chat.completions.stream(**options) as stream:
        for _ in stream:
            pass
        assert isinstance(stream.get_final_completion().choices[0].message.parsed, Trip)


@case
def completions():
    def complete(prompt, **options):
        options = {"max_tokens": 8, "temperature": 0} | options
        return client.completions.create(model=MODEL, prompt=prompt, **options)

    answer = complete("Once upon a")
    same((answer.object, len(answer.choices), answer.usage.completion_tokens <= 8), ("text_completion", 1, True))
    same(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens)
    text = answer.choices[0].text
    same("".join(chunk.choices[0].text for chunk in complete("Once upon a", stream=True)), text, "stream")
    same(complete("Once upon a", echo=True).choices[0].text, "Once upon a" + text, "echo")
    both = complete(["Once upon a", "The"], n=2, temperature=1, seed=4)
    same([choice.index for choice in both.choices], [0, 1, 2, 3])
    ids = complete([11, 12, 13])
    same(ids.usage.prompt_tokens, 3)
    same([choice.text for choice in complete([[11, 12, 13], [14]]).choices][0], ids.choices[0].text)
    listed = complete([11, 12, 13], logprobs=2).choices[0].logprobs
    same({len(listed.tokens), len(listed.token_logprobs), len(listed.top_logprobs), len(listed.text_offset)}, {len(listed.tokens)})
    streamed = list(complete(["Once upon a", "The"], stream=True, stream_options={"include_usage": True}))
    assert streamed[-1].usage.completion_tokens > 0 and not streamed[-1].choices


@case
def embeddings():
    embed = lambda **more: client.embeddings.create(model="embed", **more)
    # The SDK asks for base64 and decodes it.
    found = embed(input=["one text", "another"])
    same([one.index for one in found.data], [0, 1])
    for one in found.data:
        assert abs(sum(value * value for value in one.embedding) - 1) < 1e-5
    same(found.usage.prompt_tokens, found.usage.total_tokens)
    plain = embed(input="one text", encoding_format="float").data[0].embedding
    assert max(abs(a - b) for a, b in zip(plain, found.data[0].embedding, strict=True)) < 1e-6
    same(len(embed(input="one text", dimensions=16).data[0].embedding), 16)


@case
def errors():
    error = refused(openai.BadRequestError, lambda: chat(n=100), param="n", type="invalid_request_error")
    assert error.request_id and "n: expected an integer from 1 to 8, found 100" in str(error), error
    refused(openai.NotFoundError, lambda: client.chat.completions.create(model="gpt-4", messages=HELLO), code="model_not_found")
    refused(openai.AuthenticationError, lambda: client.with_options(api_key="wrong").models.list(), code="invalid_api_key")
    long = [{"role": "user", "content": "a b c d " * 20_000}]
    refused(openai.BadRequestError, lambda: chat(long), code="context_length_exceeded")
    refused(openai.BadRequestError, lambda: chat(extra_body={"grammar": "x"}), code="invalid_grammar")
    refused(openai.BadRequestError, lambda: client.embeddings.create(model=MODEL, input="a"), code="model_not_supported")
    refused(openai.BadRequestError, lambda: client.chat.completions.create(model="embed", messages=HELLO), code="model_not_supported")
    bad = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "nothing"}}}
    refused(openai.BadRequestError, lambda: chat(response_format=bad))


@case
def company_changes_nothing():
    alone = [content(chat([{"role": "user", "content": f"Count to {i}."}]).choices[0].message) for i in range(8)]

    async def together():
        async with openai.AsyncOpenAI(base_url=f"{URL}/v1", api_key=KEY, timeout=TIMEOUT, max_retries=0) as many:
            one = lambda i: many.chat.completions.create(
                model=MODEL, messages=[{"role": "user", "content": f"Count to {i}."}], max_tokens=24, temperature=0
            )
            return await asyncio.gather(*map(one, range(8)))

    answers = asyncio.run(together())
    same([content(answer.choices[0].message) for answer in answers], alone)


@case
def a_stream_left_early():
    for _ in range(3):
        with chat(stream=True, max_tokens=2000, extra_body={"ignore_eos": True}) as stream:
            next(iter(stream))
    check_stream()


main()
