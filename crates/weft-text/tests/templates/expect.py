"""Writes expected.json: the results of Python's Jinja on the cases in cases.json.

The environment is configured as in HF transformers (utils/chat_template_utils.py). Needs `pip install jinja2` (made
with 3.1.6); run it in this folder after changing a template or a case.
"""

import datetime
import json

import jinja2
import jinja2.ext
import jinja2.sandbox


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


def render(case):
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    if "now" in case:
        now = datetime.datetime.fromtimestamp(case["now"], datetime.timezone.utc)
        environment.globals["strftime_now"] = now.strftime
    with open(case["template"] + ".jinja", encoding="utf-8") as file:
        template = environment.from_string(file.read())
    tokens = {key + "_token": case[key] for key in ("bos", "eos") if key in case}
    context = {"tools": None, "documents": None, **case.get("extra", {}), **tokens}
    prompt = case.get("add_generation_prompt", True)
    try:
        return {"prompt": template.render(messages=case["messages"], add_generation_prompt=prompt, **context)}
    except jinja2.exceptions.TemplateError as error:
        return {"refused": str(error)}


with open("cases.json", encoding="utf-8") as file:
    cases = json.load(file)
with open("expected.json", "w", encoding="utf-8") as file:
    json.dump({case["name"]: render(case) for case in cases}, file, ensure_ascii=False, indent=1)
    file.write("\n")
