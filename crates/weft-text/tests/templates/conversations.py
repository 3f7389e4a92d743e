"""Conversations that expect.py renders with the templates of llama.cpp: what requests have that templates must cope with."""


def tool(name, description, properties, required=()):
    function = {"name": name, "parameters": {"type": "object", "properties": properties, "required": list(required)}}
    if description is not None:
        function["description"] = description
    return {"type": "function", "function": function}


WEATHER = tool("get_weather", "Get the weather of a \"city\" & more", {
    "city": {"type": "string", "description": "Name of the city, e.g. Zürich"},
    "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
    "days": {"type": "integer", "default": 3, "minimum": 1},
}, ["city"])
SEARCH = tool("search", "Search.\nSecond line.", {
    "queries": {"type": "array", "items": {"type": "string"}, "description": "What to look for"},
    "filter": {"type": "object", "properties": {"lang": {"type": ["string", "null"], "nullable": True}, "max": {"type": "number", "default": 1e-7}}},
    "mode": {"oneOf": [{"type": "string"}, {"type": "integer", "description": "n"}], "default": "fast"},
    "any": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    "flag": {"type": "boolean", "default": False},
})
EMPTY = tool("now", "No parameters", {})
BARE = {"type": "function", "function": {"name": "bare", "description": "nothing more"}}
NO_DESCRIPTION = tool("silent", None, {"x": {"type": "string"}})


def system(content):
    return {"role": "system", "content": content}


def user(content):
    return {"role": "user", "content": content}


def assistant(content, **more):
    return {"role": "assistant", "content": content, **more}


def call(name, arguments, number=0):
    return {"id": f"call0000{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


def result(content, name="get_weather", number=0):
    return {"role": "tool", "content": content, "name": name, "tool_call_id": f"call0000{number}"}


CALLED = [user("Weather in Zürich?"), assistant("", tool_calls=[call("get_weather", {"city": "Zürich", "days": 2, "x": [1.5, None, {"a": True}]})])]
ANSWERED = [*CALLED, result("{\"temp\": 21.5}")]

# Each is its messages and the variables of the template.
CONVERSATIONS = [
    ([user("Hello")], {}),
    ([system("You are terse."), user("Hi")], {"add_generation_prompt": False}),
    ([system("  Be brief.\n"), user(" Hi \n"), assistant(" Hello! <b>&\n"), user("你好 🙂 <|im_start|> </s> {{ x }} [INST]")], {}),
    ([user("1"), assistant("<think>\nhm\n</think>\n\none"), user("2"), assistant("two"), user("3")], {}),
    ([user("1"), assistant("one", reasoning_content="I ponder\nhere"), user("2"), assistant("two", reasoning_content="again")], {"add_generation_prompt": False}),
    ([user("1"), assistant("one", reasoning_content="I ponder", thinking="I think")], {"enable_thinking": False, "thinking": False}),
    ([user("What now?")], {"enable_thinking": True, "thinking": True, "reasoning_effort": "high"}),
    ([user("Weather?")], {"tools": [WEATHER]}),
    ([system("Use tools."), user("Find")], {"tools": [WEATHER, SEARCH, EMPTY]}),
    ([user("Go")], {"tools": [NO_DESCRIPTION, BARE], "enable_thinking": False}),
    (CALLED, {"tools": [WEATHER], "add_generation_prompt": False}),
    (ANSWERED, {"tools": [WEATHER]}),
    ([*ANSWERED, assistant("It is 21.5 °C."), user("Thanks")], {"tools": [WEATHER, EMPTY]}),
    ([user("Both"), assistant("I look.", reasoning_content="two calls", tool_calls=[call("get_weather", {"city": "Oslo"}, 1), call("now", {}, 2)]),
      result("rain", number=1), result("12:00", "now", 2)], {"tools": [WEATHER, EMPTY]}),
    ([user("Text"), assistant(None, tool_calls=[call("get_weather", "{\"city\": \"Rome\"}")]), result("sun")], {"tools": [WEATHER]}),
    ([*ANSWERED, assistant(None, reasoning_content="more", tool_calls=[call("search", {"queries": ["a", "b"], "flag": True, "n": 1e16}, 3)]), result("found", "search", 3)],
     {"tools": [WEATHER, SEARCH]}),
    ([user([{"type": "text", "text": "Part one"}, {"type": "text", "text": " and two"}]), assistant([{"type": "text", "text": "reply"}]), user("ok")], {}),
    ([user(""), assistant(""), user("\n")], {}),
    ([system("A"), user("x"), user("y"), assistant("z")], {"add_generation_prompt": False}),
    ([user("Hi"), system("Late rule"), user("Again"), {"role": "developer", "content": "dev"}], {}),
    (ANSWERED, {}),
    ([user("doc?")], {"documents": [{"title": "T", "text": "body", "doc_id": 1}], "builtin_tools": ["brave_search"], "date_string": "01 Jan 2025"}),
]
