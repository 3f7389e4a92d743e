"""Writes what Python's Jinja makes of templates: expected.json of the cases in cases.json, expressions.txt of those in
expressions.py, and conversations.txt of the templates of llama.cpp with the conversations in conversations.py.

`expect.py MODEL NUMBER` prints the prompt of one conversation instead. The environment is configured as in HF
transformers (utils/chat_template_utils.py). Needs `pip install jinja2` (made with 3.1.6); run it in this folder after
changing a template or a case.
"""

import datetime
import glob
import json
import sys

import jinja2
import jinja2.ext
import jinja2.sandbox

import conversations
import expressions


# Templates written for the tests. The others are llama.cpp's.
OURS = {"chatml", "deepseek", "features", "glm", "harmony", "llama3"}


class Generation(jinja2.ext.Extension):
    """transformers' tag around the model's replies, of which only the text matters here."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_keep"), [], [], body).set_lineno(line)

    def _keep(self, caller):
        return caller()


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def new_environment(now=None, sandbox=jinja2.sandbox.ImmutableSandboxedEnvironment):
    environment = sandbox(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    if now is not None:
        environment.globals["strftime_now"] = datetime.datetime.fromtimestamp(now, datetime.timezone.utc).strftime
    return environment


def render(case):
    environment = new_environment(case.get("now"))
    with open(case["template"] + ".jinja", encoding="utf-8") as file:
        template = environment.from_string(file.read())
    tokens = {key + "_token": case[key] for key in ("bos", "eos") if key in case}
    context = {"tools": None, "documents": None, **case.get("extra", {}), **tokens}
    prompt = case.get("add_generation_prompt", True)
    try:
        return {"prompt": template.render(messages=case["messages"], add_generation_prompt=prompt, **context)}
    except jinja2.exceptions.TemplateError as error:
        return {"refused": str(error)}


NOW = 1709210096


def evaluate(template):
    """A line: the template and its value, or the template alone if it fails."""
    context = {"tools": None, "documents": None, "messages": [{"role": "user", "content": "hi"}], **expressions.CONTEXT}
    try:
        value = new_environment(NOW).from_string(template).render(add_generation_prompt=True, **context)
    except Exception:
        return [template]
    # What prints an address has no value to compare.
    return None if " at 0x" in value or "<generator" in value else [template, value]


def fnv(text):
    """The first twelve digits of FNV-1a: enough to see that a prompt changed."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return f"{value:016x}"[:12]


def completed(value, is_function=True):
    """Tools as Weft gives them to a template that fails: with descriptions, and with text as the defaults of choices."""
    if isinstance(value, list):
        return [completed(item, is_function) for item in value]
    if not isinstance(value, dict):
        return value
    if is_function:
        if "function" in value:
            return {**value, "function": completed(value["function"])}
        value = value if isinstance(value.get("description"), str) else {**value, "description": ""}
        return {key: completed(item, False) if key == "parameters" else item for key, item in value.items()}
    if any(isinstance(value.get(key), list) for key in ("enum", "oneOf")) and not isinstance(value.get("default", ""), str):
        value = {**value, "default": json.dumps(value["default"])}
    return {key: completed(item, False) for key, item in value.items()}


def converse(source, messages, variables):
    """The prompt of a conversation; None if the template fails or refuses it."""
    prompt = converse_once(source, messages, variables)
    if prompt is None and "tools" in variables:
        return converse_once(source, messages, {**variables, "tools": completed(variables["tools"])})
    return prompt


def converse_once(source, messages, variables):
    context = {"tools": None, "documents": None, "add_generation_prompt": True, "bos_token": "<s>", "eos_token": "</s>", **variables}
    try:
        try:
            return new_environment(NOW).from_string(source).render(messages=messages, **context)
        except jinja2.exceptions.SecurityError:
            # The template changes a list, which transformers forbids and Weft allows.
            sandbox = jinja2.sandbox.SandboxedEnvironment
            return new_environment(NOW, sandbox).from_string(source).render(messages=messages, **context)
    except Exception:
        return None


def models():
    """The templates of llama.cpp's collection: the names of those that are the same, and their source."""
    names = {}
    for path in sorted(glob.glob("*.jinja")):
        name = path.removesuffix(".jinja")
        if name not in OURS:
            with open(path, encoding="utf-8", newline="") as file:
                names.setdefault(file.read(), []).append(name)
    return [(" ".join(those), source) for source, those in names.items()]


def hashed(source, messages, variables):
    """The hash of a prompt, after `~` if it needs an empty list of tools where the conversation has none; `-` if it fails."""
    prompt = converse(source, messages, variables)
    if prompt is not None:
        return fnv(prompt)
    prompt = None if "tools" in variables else converse(source, messages, {**variables, "tools": []})
    return "-" if prompt is None else "~" + fnv(prompt)


def main():
    if len(sys.argv) == 3:
        source = next(source for names, source in models() if sys.argv[1] in names)
        messages, variables = conversations.CONVERSATIONS[int(sys.argv[2])]
        print(converse(source, messages, variables))
        return
    with open("cases.json", encoding="utf-8") as file:
        cases = json.load(file)
    with open("expected.json", "w", encoding="utf-8") as file:
        json.dump({case["name"]: render(case) for case in cases}, file, ensure_ascii=False, indent=1)
        file.write("\n")
    with open("expressions.txt", "w", encoding="utf-8") as file:
        for line in [expressions.CONTEXT, *map(evaluate, expressions.all_templates())]:
            if line is not None:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
    with open("conversations.json", "w", encoding="utf-8") as file:
        lines = (json.dumps({"messages": m, "extra": v}, ensure_ascii=False) for m, v in conversations.CONVERSATIONS)
        file.write("[\n" + ",\n".join(lines) + "\n]\n")
    with open("conversations.txt", "w", encoding="utf-8") as file:
        for names, source in models():
            hashes = (hashed(source, messages, variables) for messages, variables in conversations.CONVERSATIONS)
            file.write(f"{names}: " + " ".join(hashes) + "\n")


main()
