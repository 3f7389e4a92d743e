"""What the scripts of this folder share: where the server is, what its model can do, and a list of cases."""

import os
import sys
import time
import traceback

URL = os.environ["WEFT_URL"]
KEY = os.environ["WEFT_KEY"]
MODEL = os.environ["WEFT_MODEL"]

# Every client gives up after this time, and none tries again: a request that fails is a failure.
TIMEOUT = 60

CASES = []

# The fixtures have random weights, and reply with gibberish. What a grammar allows is valid all the same, and has an end
# because every string, number and array has one.
WEATHER = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "enum": ["Paris", "Oslo", "Lima"]},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
        "metric": {"type": "boolean"},
        "hours": {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 23}, "maxItems": 3},
    },
    "required": ["city", "days", "metric", "hours"],
    "additionalProperties": False,
}
CLOCK = {
    "type": "object",
    "properties": {"zone": {"type": ["string", "null"], "enum": ["UTC", "CET", None]}},
    "required": ["zone"],
    "additionalProperties": False,
}
SCHEMAS = {"get_weather": WEATHER, "get_time": CLOCK}
DESCRIPTIONS = {"get_weather": "The weather of the next days", "get_time": "The time in a zone"}


def case(function):
    """Adds a case."""
    CASES.append(function)
    return function


def main():
    """Runs all cases. Exits with 1 if one fails."""
    script = os.path.basename(sys.argv[0]).removesuffix(".py")
    failed = []
    for function in CASES:
        begun = time.monotonic()
        try:
            function()
        except Exception:
            failed.append(function.__name__)
            traceback.print_exc()
        result = "FAILED" if function.__name__ in failed else "ok"
        print(f"{script} {MODEL}: {function.__name__} {result} ({time.monotonic() - begun:.1f} s)", flush=True)
    if failed:
        sys.exit(f"{script} {MODEL}: {len(failed)} of {len(CASES)} failed: {', '.join(failed)}")


def same(found, expected, what=""):
    """Fails unless the two are equal."""
    assert found == expected, f"{what}: expected\n  {expected!r}\nfound\n  {found!r}"


def refused(kind, call, **fields):
    """The exception that a call must raise, with these attributes."""
    try:
        call()
    except kind as error:
        for name, value in fields.items():
            same(getattr(error, name), value, name)
        return error
    raise AssertionError(f"{kind.__name__} was expected")
