"""The `ollama` package: chat, generate, streams, tools, schemas, models, errors."""

import asyncio
import json

import jsonschema
import ollama
from harness import DESCRIPTIONS, KEY, MODEL, SCHEMAS, TIMEOUT, URL, case, main, refused, same

HEADERS = {"Authorization": f"Bearer {KEY}"}
client = ollama.Client(host=URL, headers=HEADERS, timeout=TIMEOUT)
HELLO = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say hello in two words."}]
OPTIONS = {"temperature": 0, "num_predict": 24}
TOOLS = [
    {"type": "function", "function": {"name": name, "description": DESCRIPTIONS[name], "parameters": schema}}
    for name, schema in SCHEMAS.items()
]


def chat(messages=HELLO, options=OPTIONS, **more):
    return client.chat(model=MODEL, messages=messages, options=options, **more)


@case
def a_stream_adds_up_to_the_answer():
    whole = chat()
    parts = list(chat(stream=True))
    same("".join(part.message.content or "" for part in parts), whole.message.content, "content")
    same("".join(part.message.thinking or "" for part in parts), whole.message.thinking or "", "thinking")
    same([part.done for part in parts], [False] * (len(parts) - 1) + [True], "only the last is done")
    same(parts[-1].done_reason, whole.done_reason)
    assert whole.done_reason in ("stop", "length")
    assert whole.prompt_eval_count > 0 and 0 < whole.eval_count <= 24
    assert whole.total_duration > 0 and whole.eval_duration >= 0


@case
def a_prompt_is_answered_and_a_raw_one_continued():
    whole = client.generate(model=MODEL, prompt="Hello", options=OPTIONS)
    parts = list(client.generate(model=MODEL, prompt="Hello", options=OPTIONS, stream=True))
    same("".join(part.response or "" for part in parts), whole.response)
    raw = client.generate(model=MODEL, prompt="Hello", raw=True, options=OPTIONS, logprobs=True, top_logprobs=2)
    assert raw.response and len(raw.logprobs) == raw.eval_count
    assert all(len(token.top_logprobs) == 2 for token in raw.logprobs)


@case
def texts_have_embeddings():
    both = client.embed(model="embed", input=["one text", "another"])
    same(len(both.embeddings), 2)
    same(client.embed(model="embed:latest", input="another").embeddings[0], both.embeddings[1])
    same(len(client.embed(model="embed", input="a", dimensions=16).embeddings[0]), 16)
    same(len(client.embeddings(model="embed", prompt="one text").embedding), len(both.embeddings[0]))
    refused(ollama.ResponseError, lambda: client.embed(model=MODEL, input="a"), status_code=400)


@case
def forms_are_enforced():
    schema = SCHEMAS["get_weather"]
    answer = chat(format=schema, think=False, options=OPTIONS | {"num_predict": 400})
    jsonschema.validate(json.loads(answer.message.content), schema)


@case
def tools_are_called_and_their_results_come_back():
    messages = [*HELLO, {"role": "user", "content": "What is the weather in Paris, and the time?"}]
    # Models with random weights call no tool by themselves, so the answer need not have a call.
    answer = chat(messages, tools=TOOLS, think=False)
    call = {"function": {"name": "get_time", "arguments": {"zone": "UTC"}}}
    result = {"role": "tool", "tool_name": "get_time", "content": "12:00"}
    again = chat([*messages, answer.message, {"role": "assistant", "tool_calls": [call]}, result], tools=TOOLS)
    assert again.done

    def get_time(zone: str) -> str:
        """The time.

        Args:
            zone: a zone
        """
        return zone

    assert chat(messages, tools=[get_time], think=False).done


@case
def models_are_listed_and_described():
    names = [model.model for model in client.list().models]
    assert f"{MODEL}:latest" in names, names
    model = next(model for model in client.list().models if model.model == f"{MODEL}:latest")
    assert model.size > 0 and model.modified_at and model.details.parameter_size and model.details.family
    shown = client.show(MODEL)
    same(shown.modelinfo["general.architecture"], model.details.family)
    assert "completion" in shown.capabilities and shown.template
    running = [model for model in client.ps().models if model.model == f"{MODEL}:latest"]
    same(len(running), 1, "running models")
    assert running[0].context_length > 0 and running[0].expires_at
    same(client.pull(MODEL).status, "success")


@case
def models_are_loaded_and_kept():
    same(client.generate(model=MODEL, keep_alive="10m").done_reason, "load")
    same(client.chat(model=MODEL, keep_alive=-1).done_reason, "load")


@case
def errors_have_a_status_and_a_sentence():
    error = refused(ollama.ResponseError, lambda: client.chat(model="missing", messages=HELLO), status_code=404)
    assert MODEL in error.error, error
    error = refused(ollama.ResponseError, lambda: chat(options={"temperature": 9}), status_code=400)
    same(error.error, "options.temperature: expected a number from 0 to 2, found 9")
    images = [{"role": "user", "content": "What is this?", "images": [b"hi"]}]
    error = refused(ollama.ResponseError, lambda: chat(images), status_code=400)
    assert "text only" in error.error, error
    # A stream is refused before it begins.
    refused(ollama.ResponseError, lambda: list(chat(options={"temperature": 9}, stream=True)), status_code=400)
    stranger = ollama.Client(host=URL, timeout=TIMEOUT)
    refused(ollama.ResponseError, stranger.list, status_code=401)


@case
def replies_can_be_awaited():
    async def ask():
        talk = ollama.AsyncClient(host=URL, headers=HEADERS, timeout=TIMEOUT)
        whole, stream = await asyncio.gather(
            talk.chat(model=MODEL, messages=HELLO, options=OPTIONS),
            talk.chat(model=MODEL, messages=HELLO, options=OPTIONS, stream=True),
        )
        text = ""
        async for part in stream:
            text += part.message.content or ""
        same(text, whole.message.content)

    asyncio.run(ask())


main()
