"""`litellm`, which speaks OpenAI's and Anthropic's APIs for others."""

import asyncio
import json
import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import jsonschema  # noqa: E402
import litellm  # noqa: E402
from harness import DESCRIPTIONS, KEY, MODEL, SCHEMAS, TIMEOUT, URL, case, main, refused, same  # noqa: E402

litellm.telemetry = False
litellm.suppress_debug_info = True
HELLO = [{"role": "user", "content": "Say hello in two words."}]
TOOLS = [
    {"type": "function", "function": {"name": name, "description": DESCRIPTIONS[name], "parameters": schema}}
    for name, schema in SCHEMAS.items()
]
PROVIDERS = {"openai": f"{URL}/v1", "anthropic": URL}
# Models with random weights rarely stop to think.
DIRECT = {
    "openai": {"extra_body": {"chat_template_kwargs": {"enable_thinking": False}}},
    "anthropic": {"thinking": {"type": "disabled"}, "allowed_openai_params": ["thinking"]},
}
COMMON = {"api_key": KEY, "timeout": TIMEOUT, "num_retries": 0, "max_retries": 0}


def options(provider, more):
    options = {"max_tokens": 24, "temperature": 0, "messages": HELLO} | COMMON | more
    return {"model": f"{provider}/{MODEL}", "api_base": PROVIDERS[provider]} | options


def complete(provider, **more):
    return litellm.completion(**options(provider, more))


def content(message):
    calls = [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or []]
    return message.content or "", calls


def check_stream(provider, **more):
    """The stream of a request adds up to its answer. Returns the answer."""
    whole = complete(provider, **more)
    chunks = list(complete(provider, stream=True, **more))
    built = litellm.stream_chunk_builder(chunks, messages=HELLO)
    same(content(built.choices[0].message), content(whole.choices[0].message), f"{provider}: stream and answer")
    same(built.choices[0].finish_reason, whole.choices[0].finish_reason)
    same(whole.usage.total_tokens, whole.usage.prompt_tokens + whole.usage.completion_tokens)
    return whole


def both(check):
    def run():
        for provider in PROVIDERS:
            check(provider)

    run.__name__ = check.__name__
    return case(run)


@both
def the_stream_is_the_answer(provider):
    answer = check_stream(provider)
    assert answer.choices[0].finish_reason in ("stop", "length")
    check_stream(provider, max_tokens=40, temperature=1, top_p=0.0001)


@both
def forced_tools(provider):
    answer = check_stream(provider, max_tokens=400, tools=TOOLS, tool_choice="required", parallel_tool_calls=False,
                          **DIRECT[provider])
    same(answer.choices[0].finish_reason, "tool_calls")
    for name, arguments in content(answer.choices[0].message)[1]:
        jsonschema.validate(arguments, SCHEMAS[name])


@case
def a_schema_is_kept():
    form = {"type": "json_schema", "json_schema": {"name": "weather", "schema": SCHEMAS["get_weather"], "strict": True}}
    answer = check_stream("openai", max_tokens=400, response_format=form, **DIRECT["openai"])
    jsonschema.validate(json.loads(answer.choices[0].message.content), SCHEMAS["get_weather"])


@case
def text():
    answer = litellm.text_completion(
        model=f"text-completion-openai/{MODEL}", prompt="Once upon a", api_base=PROVIDERS["openai"], max_tokens=8, **COMMON
    )
    assert answer.choices[0].text


@case
def together():
    async def run():
        return await asyncio.gather(*(litellm.acompletion(**options("openai", {})) for _ in range(4)))

    answers = asyncio.run(run())
    same(len({content(answer.choices[0].message)[0] for answer in answers}), 1)


@both
def errors(provider):
    refused(litellm.AuthenticationError, lambda: complete(provider, api_key="wrong"))
    refused(litellm.NotFoundError, lambda: litellm.completion(**options(provider, {}) | {"model": f"{provider}/nothing"}))
    refused(litellm.BadRequestError, lambda: complete(provider, temperature=9))


main()
