"""The `openai` package: the Responses API."""

import json

import jsonschema
import openai
from harness import DESCRIPTIONS, KEY, MODEL, SCHEMAS, TIMEOUT, URL, case, main, refused, same

client = openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY, timeout=TIMEOUT, max_retries=0)
HELLO = "Say hello in two words."
# Models with random weights rarely stop to reason.
DIRECT = {"reasoning": {"effort": "none"}}
TOOLS = [
    {"type": "function", "name": name, "description": DESCRIPTIONS[name], "parameters": schema, "strict": True}
    for name, schema in SCHEMAS.items()
]
OPEN = ("response.created", "response.in_progress")


def create(**options):
    options = {"input": HELLO, "max_output_tokens": 24, "temperature": 0, "store": False} | options
    return client.responses.create(model=MODEL, **options)


def content(response):
    """The items of a response, without ids."""
    items = [item.to_dict() for item in response.output]
    return [{key: value for key, value in item.items() if key not in ("id", "call_id")} for item in items]


def check_stream(**options):
    """The stream of a request adds up to its answer. Returns the answer."""
    whole = create(**options)
    events = list(create(stream=True, **options))
    same(tuple(event.type for event in events[:2]), OPEN)
    same([event.sequence_number for event in events], list(range(len(events))), "sequence numbers")
    final = events[-1]
    same(final.type, f"response.{final.response.status}")
    same(final.response.status, whole.status)
    same(content(final.response), content(whole), "stream and answer")
    done = [event.item.to_dict() for event in events if event.type == "response.output_item.done"]
    same(done, [item.to_dict() for item in final.response.output], "the items that are done")
    added = [event.output_index for event in events if event.type == "response.output_item.added"]
    same(added, list(range(len(done))))
    texts = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    same(texts, final.response.output_text)
    arguments = "".join(event.delta for event in events if event.type == "response.function_call_arguments.delta")
    same(arguments, "".join(item.arguments for item in whole.output if item.type == "function_call"))
    same({event.response.id for event in events if event.type in OPEN}, {final.response.id})
    same(final.response.usage.output_tokens, whole.usage.output_tokens)
    return whole


@case
def the_answer():
    answer = create()
    same((answer.object, answer.model), ("response", MODEL))
    assert answer.id and answer.status in ("completed", "incomplete"), answer
    usage = answer.usage
    same(usage.total_tokens, usage.input_tokens + usage.output_tokens)
    assert usage.input_tokens_details.cached_tokens >= 0 and usage.output_tokens_details.reasoning_tokens >= 0
    same(content(create()), content(answer), "the same request again")


@case
def the_stream_is_the_answer():
    check_stream()
    check_stream(instructions="Be brief.", input=[{"role": "user", "content": HELLO}])
    check_stream(input=[{"type": "message", "role": "user", "content": [{"type": "input_text", "text": HELLO}]}])
    check_stream(**DIRECT)


@case
def the_helper_reads_the_stream():
    # It accepts only responses that are complete, so this one has an end.
    form = {"format": {"type": "json_schema", "name": "time", "schema": SCHEMAS["get_time"], "strict": True}}
    options = {"input": HELLO, "max_output_tokens": 400, "temperature": 0, "text": form} | DIRECT
    with client.responses.stream(model=MODEL, **options) as stream:
        for _ in stream:
            pass
        final = stream.get_final_response()
    same(final.output_text, create(**options).output_text)


@case
def a_reply_that_is_cut_off():
    answer = create(max_output_tokens=1)
    same((answer.status, answer.incomplete_details.reason), ("incomplete", "max_output_tokens"))


@case
def forced_tools():
    for choice in ("required", {"type": "function", "name": "get_time"}):
        answer = check_stream(max_output_tokens=400, **DIRECT, tools=TOOLS, tool_choice=choice, parallel_tool_calls=False)
        calls = [item for item in answer.output if item.type == "function_call"]
        same((answer.status, len(calls)), ("completed", 1))
        jsonschema.validate(json.loads(calls[0].arguments), SCHEMAS[calls[0].name])
        assert calls[0].call_id


@case
def a_tool_answers():
    answer = create(max_output_tokens=400, **DIRECT, tools=TOOLS, tool_choice="required", parallel_tool_calls=False)
    items = [{"role": "user", "content": HELLO}, *(item.to_dict() for item in answer.output)]
    for call in answer.output:
        if call.type == "function_call":
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": "clear"})
    check_stream(input=items, tools=TOOLS)


@case
def a_schema_is_kept():
    for name, schema in SCHEMAS.items():
        form = {"format": {"type": "json_schema", "name": name, "schema": schema, "strict": True}}
        answer = check_stream(max_output_tokens=400, **DIRECT, text=form)
        same(answer.status, "completed")
        jsonschema.validate(json.loads(answer.output_text), schema)


@case
def errors():
    refused(openai.BadRequestError, lambda: create(temperature=9), param="temperature")
    refused(openai.BadRequestError, lambda: create(previous_response_id="resp_1"), param="previous_response_id")
    refused(openai.NotFoundError, lambda: client.responses.create(model="x", input="a"), code="model_not_found")


main()
