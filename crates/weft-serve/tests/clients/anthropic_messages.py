"""The `anthropic` package: messages, streams, tools, thinking, counting, errors."""

import anthropic
import jsonschema
from harness import DESCRIPTIONS, KEY, MODEL, SCHEMAS, TIMEOUT, URL, case, main, refused, same

client = anthropic.Anthropic(base_url=URL, api_key=KEY, timeout=TIMEOUT, max_retries=0)
HELLO = [{"role": "user", "content": "Say hello in two words."}]
# Models with random weights rarely stop to think.
DIRECT = {"thinking": {"type": "disabled"}}
TOOLS = [
    {"name": name, "description": DESCRIPTIONS[name], "input_schema": schema} for name, schema in SCHEMAS.items()
]


# This package has no parameters for them, or none any more.
EXTRA = ("temperature", "top_k", "temprature", "grammar")


def arguments(options):
    """The arguments of a call: what the package does not know goes into the body as it is."""
    options = {"max_tokens": 24, "temperature": 0} | options
    extra = {name: options.pop(name) for name in EXTRA if name in options}
    return options | {"model": MODEL, "extra_body": extra}


def create(messages=HELLO, **options):
    return client.messages.create(messages=messages, **arguments(options))


def content(message):
    """The blocks of a message, without ids and signatures."""
    return [block.to_dict() | {"id": None, "signature": None} for block in message.content]


def check_stream(messages=HELLO, **options):
    """The stream of a request adds up to its answer. Returns the answer."""
    whole = create(messages, **options)
    order, texts = [], ""
    with client.messages.stream(messages=messages, **arguments(options)) as stream:
        for event in stream:
            order.append(event.type)
            if event.type == "text":
                texts += event.text
        final = stream.get_final_message()
    same(content(final), content(whole), "stream and answer")
    same((final.stop_reason, final.stop_sequence), (whole.stop_reason, whole.stop_sequence))
    same((final.usage.output_tokens, total_input(final)), (whole.usage.output_tokens, total_input(whole)))
    same(texts, "".join(block.text for block in whole.content if block.type == "text"))
    same((order[0], order[-1]), ("message_start", "message_stop"))
    same(order.count("content_block_start"), len(whole.content))
    same(order.count("content_block_stop"), len(whole.content))
    return whole


def total_input(message):
    usage = message.usage
    return usage.input_tokens + (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0)


@case
def the_answer():
    answer = create()
    same((answer.type, answer.role, answer.model), ("message", "assistant", MODEL))
    assert answer.id and answer.content, answer
    assert answer.stop_reason in ("end_turn", "max_tokens"), answer
    assert 0 < answer.usage.output_tokens <= 24
    same(content(create()), content(answer), "the same request again")


@case
def the_stream_is_the_answer():
    check_stream()
    check_stream(system="Be brief.", max_tokens=40, temperature=1, top_k=1)
    check_stream(system=[{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}])
    check_stream(**DIRECT)


@case
def the_limit_is_kept():
    answer = create(max_tokens=1)
    same(answer.usage.output_tokens, 1)


@case
def counting():
    for options in ({}, {"system": "Be brief."}, {"tools": TOOLS}):
        counted = client.messages.count_tokens(model=MODEL, messages=HELLO, **options)
        same(counted.input_tokens, total_input(create(max_tokens=1, **options)), f"tokens with {list(options)}")


@case
def stop_sequences():
    said = create(max_tokens=32, **DIRECT)
    text = "".join(block.text for block in said.content if block.type == "text")
    stop = text[len(text) // 2 :][:2]
    answer = check_stream(max_tokens=32, stop_sequences=[stop], **DIRECT)
    same((answer.stop_reason, answer.stop_sequence), ("stop_sequence", stop))


@case
def forced_tools():
    for choice in ({"type": "any"}, {"type": "tool", "name": "get_weather"}):
        choice["disable_parallel_tool_use"] = True
        answer = check_stream(max_tokens=400, **DIRECT, tools=TOOLS, tool_choice=choice)
        same(answer.stop_reason, "tool_use", answer)
        calls = [block for block in answer.content if block.type == "tool_use"]
        same(len(calls), 1)
        jsonschema.validate(calls[0].input, SCHEMAS[calls[0].name])
        assert calls[0].id


@case
def a_tool_answers():
    answer = create(max_tokens=400, **DIRECT, tools=TOOLS, tool_choice={"type": "tool", "name": "get_time"})
    call = next(block for block in answer.content if block.type == "tool_use")
    result = {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": "12:00"}]}
    messages = [*HELLO, {"role": "assistant", "content": [block.to_dict() for block in answer.content]}]
    messages.append({"role": "user", "content": [result, {"type": "text", "text": "So?"}]})
    check_stream(messages, tools=TOOLS)
    result["is_error"] = True
    check_stream(messages, tools=TOOLS)


@case
def errors():
    refused(anthropic.BadRequestError, lambda: create(temperature=9), type="invalid_request_error")
    refused(anthropic.NotFoundError, lambda: client.messages.create(model="x", messages=HELLO, max_tokens=1))
    refused(anthropic.AuthenticationError, lambda: client.with_options(api_key="wrong").messages.create(
        model=MODEL, messages=HELLO, max_tokens=1))
    error = refused(anthropic.BadRequestError, lambda: create([{"role": "user", "content": "a b c d " * 20_000}]))
    assert "prompt is too long: " in str(error), error
    error = refused(anthropic.BadRequestError, lambda: create(grammar="x"))
    assert error.request_id and "grammar" in str(error), error
    create(temprature=1)


@case
def a_stream_left_early():
    for _ in range(3):
        with client.messages.stream(model=MODEL, messages=HELLO, max_tokens=2000) as stream:
            next(iter(stream))
    check_stream()


main()
