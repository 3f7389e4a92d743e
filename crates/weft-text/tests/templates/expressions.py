"""The expressions whose values expect.py writes to expressions.txt: what Jinja and Python can do with values."""

CONTEXT = {
    "s": "The quick, brown-fox <jumps> over\tthe lazy dög\n",
    "w": "  \tpadded text\n ",
    "e": "",
    "u": "Straße 日本 ﬁ Ǆ İ É😀",
    "n": "12",
    "items": [3, 1, 2, 10],
    "words": ["b", "A", "c", "a"],
    "mixed": [1, 2.5, True, None, "x", [1], {"k": 1}],
    "d": {"b": 1, "a": [2, 3], "C": {"x": None}},
    "schema": {"items": {"type": "string"}, "keys": 1, "type": "array"},
    "users": [
        {"name": "Bob", "age": 30, "tag": {"x": 1}},
        {"name": "alice", "age": 25, "tag": {"x": 3}},
        {"name": "Carl", "age": 30, "tag": {"x": 2}},
        {"name": "dora"},
    ],
    "numbers": [0, 1, -1, 2.5, -2.5, 1e-7, 1e16, 1.5e300, 0.1, 100.0, 12345678901234567890, 1e22, 5e-324],
    "html": "<p class='x'>Tom &amp; \"Jerry\"</p> <!-- no --> <br/> end",
}


def methods():
    yield from (f"s.{m}()" for m in (
        "upper lower title capitalize swapcase casefold strip lstrip rstrip split rsplit splitlines isalpha isalnum "
        "isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper expandtabs"
    ).split())
    yield from (f"u.{m}()" for m in "upper lower title capitalize swapcase split isalpha isupper".split())
    yield from (f"w.{m}()" for m in "strip lstrip rstrip split rsplit splitlines isspace".split())
    yield from (f"e.{m}()" for m in (
        "upper strip split splitlines isalpha isspace isascii isprintable isdigit islower istitle isidentifier").split())
    for text in ("'abc'", "'ABC'", "'Abc Def'", "'a1_'", "'1a'", "'²'", "'½'", "'٣'", "'日本'", "' '", "'a\\n'", "'Ab-Cd'",
                 "'\\u00a0'", "'\\x1f'", "'é'"):
        for m in ("isalpha isalnum isdecimal isdigit isnumeric isidentifier islower isupper istitle isspace "
                  "isprintable isascii").split():
            yield f"{text}.{m}()"
    for a in ("'x'", "', '", "'o'", "'the'", "'<'", "'zzz'", "'ö'", "''"):
        for m in "find rfind count index rindex startswith endswith partition rpartition removeprefix removesuffix split rsplit".split():
            yield f"s.{m}({a})"
    for a in ("'o', 1", "'o', maxsplit=1", "None, 2", "sep='o'", "sep=None, maxsplit=1", "'o', -1", "'o', 0", "None, 0"):
        yield f"s.split({a})"
        yield f"s.rsplit({a})"
        yield f"w.split({a})"
        yield f"w.rsplit({a})"
    for a in ("'o', 15", "'o', 2, 14", "'o', -5", "'o', 100", "'o', 0, -100", "'', 100", "'', 3", "'e', None, 5"):
        for m in "find rfind count startswith endswith index".split():
            yield f"s.{m}({a})"
    yield from (f"s.startswith({a})" for a in ("('x', 'The')", "()", "('x',)", "['The']", "1", ""))
    yield from (f"s.endswith({a})" for a in ("('x', '\\n')", "('g', 'x')", "None"))
    for a in ("'o', '0'", "'o', '0', 1", "'o', '0', 0", "'o', '0', -1", "'', '-'", "'', '-', 3", "'the', ''", "'o'", "'o', 1",
              "'o', '0', count=1"):
        yield f"s.replace({a})"
        yield f"s | replace({a})"
    for w in ("0", "3", "7", "8", "-1"):
        for m in "ljust rjust center zfill".split():
            yield f"'abc'.{m}({w}) ~ '|'"
            yield f"'-12'.{m}({w}) ~ '|'"
            yield f"'日'.{m}({w})"
    yield from ("'a'.ljust(4, '*')", "'a'.rjust(4, 'é')", "'ab'.center(5, '*')", "'ab'.center(7, '*')", "'abc'.center(6, '*')",
                "'a'.ljust(4, '**')", "'a'.ljust(4, '')", "'a'.zfill(3, 'x')", "'+1'.zfill(5)", "''.zfill(2)",
                "'a\\tb'.expandtabs(4)", "'ab\\tc\\n\\td'.expandtabs()", "'a\\tb'.expandtabs(0)",
                "'abc'.strip('ac')", "'xxabcxx'.lstrip('x')", "'xxabcxx'.rstrip('xc')", "'abc'.strip('')", "'abc'.strip(None)",
                "'a-b-c'.rsplit('-', 1)[0]", "'a,,b,'.split(',')", "'a  b'.split(' ')", "' a '.split(' ')",
                "'a\\nb\\r\\nc\\n'.splitlines()", "'a\\nb\\r\\nc\\n'.splitlines(True)", "'a\\n\\nb'.splitlines(keepends=True)",
                "'a\\x0bb\\x1cc\\u2028d'.splitlines()", "'\\n'.splitlines()",
                "'-'.join(['a', 'b'])", "'-'.join('abc')", "'-'.join({'a': 1, 'b': 2})", "'-'.join([1, 2])", "'-'.join([])",
                "''.join(words | map('upper'))", "', '.join(d.keys())",
                "'{} {}'.format(1, 'a')", "'{0} {1} {0}'.format('a', 2)", "'{a} {b!r}'.format(a=1, b='x')",
                "'{:>5}|{:<5}|{:^5}'.format('a', 'b', 'c')", "'{:05d} {:x} {:#x} {:b} {:o}'.format(42, 255, 255, 5, 8)",
                "'{:.2f} {:.0f} {:e} {:g} {:%}'.format(3.14159, 2.5, 12345.678, 0.0001, 0.25)", "'{:,} {:_}'.format(1234567, 1234567)",
                "'{:,.2f}'.format(1234567.891)", "'{:+d} {: d} {:-d}'.format(1, 1, 1)", "'{:*^9}'.format('mid')", "'{{}} {}'.format(1)",
                "'{0[0]} {0[1]}'.format([1, 2])", "'{a[k]}'.format(a={'k': 3})", "'{:{w}}|'.format('a', w=4)", "'{}'.format()",
                "'{:d}'.format('a')", "'{:.3}'.format('abcdef')", "'{:.3}'.format(1234.5)", "'{:g}'.format(1e20)", "'{}'.format(1e16)",
                "'{}'.format(None)", "'{:>6}'.format(True)", "'{!s:>4}'.format(1)", "'{'.format()", "'}'.format()", "'{:08.3f}'.format(-3.14159)",
                "'{:<08}'.format(1)", "'{:=+6}'.format(3)", "'{:c}'.format(65)", "'{a}'.format_map({'a': 1})",
                "'x'.nosuch()", "'x'.encode is defined", "'x'.upper is callable", "'x'['upper']()", "s.upper", "'abc'.index('z')",
                "s.find('q') + 1", "s.count('e') * 2", "'aXbX'.removesuffix('X').removeprefix('a')", "'a.b.c'.partition('.') | list")


def formats():
    for f, v in (("'%s'", "1"), ("'%s %s'", "(1, 'a')"), ("'%d'", "3.9"), ("'%5d|%-5d|%05d'", "(1, 2, 3)"), ("'%+d % d'", "(1, 2)"),
                 ("'%x %X %o %#x'", "(255, 255, 8, 255)"), ("'%.2f'", "3.14159"), ("'%5.1f|%-8.3f|'", "(2.25, 1.5)"), ("'%e'", "12345.678"),
                 ("'%g %g %g'", "(0.0001, 1e20, 123456789.0)"), ("'%r %s'", "('a', 'b')"), ("'%c%c'", "('a', 98)"), ("'%%'", "()"),
                 ("'%(a)s-%(b)d'", "{'a': 'x', 'b': 2}"), ("'%(a)s'", "{'b': 1}"), ("'%s'", "(1, 2)"), ("'%s %s'", "1"), ("'%d'", "'a'"),
                 ("'%s'", "[1, 2]"), ("'%s'", "{'a': 1}"), ("'x'", "()"), ("'x'", "1"), ("'x'", "{}"), ("'%.3s|%10s|%-10s|'", "('abcdef', 'r', 'l')"),
                 ("'%*d'", "(5, 42)"), ("'%i %u'", "(1, 2)"), ("'%q'", "1"), ("'%'", "1"), ("'%s'", "None"), ("'%s'", "True"), ("'%d'", "True"),
                 ("'%5s%%'", "99"), ("'%.0f %.0f %.0f'", "(0.5, 1.5, 2.5)"), ("'%s'", "1e16"), ("'%s'", "nothing"), ("'%G'", "1e-10"), ("'%010.3f'", "-3.14159")):
        yield f"{f} % {v}"
    yield from ("'%s-%d' | format('a', 3)", "'%(x)s' | format(x=1)", "'%s' | format", "'%s' | format(1, 2)", "'%s' | format([1])")


def numbers():
    yield from (f"numbers[{i}]" for i in range(13))
    yield from (f"numbers[{i}] | string | length" for i in (5, 6, 7))
    for a in ("7", "-7", "7.0", "-7.5", "0", "2", "True"):
        for b in ("2", "-2", "2.0", "0.3", "0", "3"):
            for op in ("+", "-", "*", "/", "//", "%", "**"):
                if (a, op) != ("0", "**") or not b.startswith("-"):
                    yield f"{a} {op} {b}"
    yield from ("1 / 3", "2 ** 0.5", "2 ** 100", "10 ** 16", "10.0 ** 16", "1e16 + 1", "0.1 + 0.2", "1 + 1.0", "3 - 3.0", "-0.0", "0.0 * -1",
                "1_000 + 1", "0x1f", "0b11 + 0o7", "1e3", "1.5e-7", "-2 ** 2", "2 ** 3 ** 2", "- -3", "+3", "-(3)", "-'a'", "1 + 'a'", "'a' + 1",
                "'a' * 3", "3 * 'a'", "'a' * -1", "'a' * 1.5", "[1, 2] * 2", "(1,) * 3", "[1] + [2]", "(1,) + (2,)", "[1] + (2,)", "{} + {}",
                "None + 1", "True + True", "True * 'ab'", "'a' ~ 1 ~ None ~ 1.0 ~ True", "1 ~ 2 + 3", "1 + 2 ~ 3", "1 / 0", "1 % 0", "1 // 0",
                "5 // 0.0", "7 % 2.5", "-7 // 2", "-7 % 3", "7 // -2.0", "1e308 * 10", "2 * 3 + 4 * 5 - 6 / 2", "(2 + 3) * 4", "10 - 2 - 3",
                "100 // 7 % 4", "1 - -1", "2 * -3", "9007199254740993 + 0", "9007199254740993 / 1", "123456789012345678901234567890",
                "99999999999 * 99999999999", "'3' | int + 4", "1.0 | string", "(1 / 2) | string", "5 | float", "'1e3' | float", "'x' | float",
                "'x' | float(1.5)", "None | float", "'12' | int", "'12.7' | int", "12.7 | int", "-12.7 | int", "'x' | int", "'x' | int(7)",
                "'ff' | int(base=16)", "'0x1f' | int(0, 16)", "'101' | int(base=2)", "None | int", "True | int", "' 12 ' | int", "'1_000' | int",
                "'' | int", "[] | int", "nothing | int", "nothing | float", "1e400 | int", "42.55 | round", "42.55 | round(1)", "42.55 | round(1, 'floor')",
                "42.41 | round(1, 'ceil')", "2.5 | round", "3.5 | round", "5 | round", "1234 | round(-2)", "1250 | round(-2)", "1234.5 | round(-2)",
                "2.675 | round(2)", "-2.5 | round", "42 | round(0, 'floor')", "42.4 | round(0, 'ceil')", "'a' | round", "1.5 | round(method='up')", "-3 | abs",
                "-3.5 | abs", "'a' | abs", "nothing | abs", "1000000 | filesizeformat", "1000 | filesizeformat", "1 | filesizeformat", "500 | filesizeformat",
                "1024 | filesizeformat(true)", "123456789 | filesizeformat(binary=True)", "'1500' | filesizeformat", "1.5e24 | filesizeformat",
                "1.0 == 1", "1 == True", "0 == False", "1 == '1'", "1 is sameas 1", "1 is sameas 1.0", "None is sameas none")


def comparisons():
    pairs = [("1", "2"), ("2", "1.0"), ("'a'", "'b'"), ("'B'", "'a'"), ("'a'", "1"), ("None", "None"), ("None", "1"), ("True", "1"), ("[1]", "[1]"),
             ("[1, 2]", "[1, 3]"), ("[1]", "(1,)"), ("(1, 2)", "(1, 2)"), ("{'a': 1}", "{'a': 1.0}"), ("{'a': 1, 'b': 2}", "{'b': 2, 'a': 1}"), ("nothing", "nothing"),
             ("nothing", "None"), ("nothing", "''"), ("''", "[]"), ("'é'", "'z'"), ("[1, 'a']", "[1, 2]"), ("[]", "[1]"), ("'ab'", "'abc'")]
    for a, b in pairs:
        for op in ("==", "!=", "<", "<=", ">", ">="):
            yield f"{a} {op} {b}"
    yield from ("1 < 2 < 3", "1 < 3 < 2", "1 < 2 == 2", "3 > 2 >= 2 > 1", "1 == 1.0 == True", "'a' < 'b' != 'c'", "1 in [1] == True", "not 1 == 2",
                "not not 1", "not []", "1 and 2", "0 and 2", "0 or 2", "'' or [] or 'x'", "1 or nothing.x", "none and 1", "1 if true", "'' ~ (1 if false)",
                "1 if 0 else 2", "1 if 0 else 2 if 0 else 3", "(1 if 1 else 2) + 1", "'a' if 'a' in 'abc' else 'b'", "1 if nothing else 2",
                "'a' in 'abc'", "'d' in 'abc'", "'' in 'abc'", "1 in 'abc'", "1 in [1, 2]", "1.0 in [1]", "'1' in [1]", "'a' in {'a': 1}", "1 in {'a': 1}", "'a' not in 'abc'",
                "'a' not in ['b']", "None in [None]", "[1] in [[1]]", "'a' in none", "'a' in nothing", "nothing in 'abc'", "nothing in ['a']", "1 in 5", "[1] in {}",
                "'b' in d", "'b' in d.keys()", "1 in d.values()", "('b', 1) in d.items()", "2 in range(3)", "'x' in ('x', 'y')", "'role' in messages[0]",
                "1 not in [2] and 3 in [3]", "not 1 in [2]")


def lists():
    for value in ("s", "'abcdef'", "'日本語é'", "items", "(1, 2, 3, 4)", "range(6)"):
        for cut in ("0", "-1", "99", "-99", "1:", ":2", ":-1", "-2:", "1:3", "::2", "::-1", "3:0:-1", "-3:-1", "5:1", "99:", ":99", "1:-1:2", "::-2", ":", "True", "None:2"):
            yield f"{value}[{cut}]" if "range" not in value or ":" not in cut else f"{value}[{cut}] | list"
    yield from ("items[::0]", "items['a']", "items[1.0]", "'abc'['a']", "'abc'[nothing:]", "'abc'[:'x']", "none[0]", "none[1:]", "5[0]", "nothing[0]", "nothing[1:]", "d[1:]",
                "d['b']", "d['zzz']", "d.a[1]", "d['C'].x", "d.C['x']", "d.zzz", "d.zzz.y", "none.x", "5.x", "'a'.x", "items.0", "users.0.name", "[[1, 2], [3]][0][1]", "(1, 2).0",
                "{'a': {'b': [1, {'c': 2}]}}['a'].b[1].c", "{1: 'a', 2.5: 'b', None: 'c', True: 'd'}", "{1: 'a'}[1.0]", "{(1, 2): 'x'}[(1, 2)]", "d[none]", "{'a': 1, 'a': 2}", "{'a': 1,}",
                "[1, 2, ]", "(1,)", "()", "(1)", "[]", "{}", "[none, true, 1.0, 'a\\'b', \"q'q\", 'b\\\\c', '\\n\\t\\x07é\\u200b😀']", "[nothing]", "mixed", "d", "schema", "[[], {}, ()]",
                "{'a': (1,), 'b': {'c': []}}", "['\\x7f\\xa0\\xad']", "[1e16, 1e-5, 0.1, -0.0]",
                "items | first", "items | last", "[] | first", "'' | first", "'abc' | first", "'abc' | last", "d | first", "d | last", "none | first", "nothing | first", "range(3) | last",
                "items | length", "d | length", "s | length", "none | length", "nothing | length", "5 | length", "range(4) | length", "d.items() | length", "'é😀' | count", "() | count",
                "items | sum", "[] | sum", "[1.5, 2] | sum", "items | sum(start=10)", "users[:3] | sum(attribute='age')", "users[:3] | sum('tag.x')", "['a'] | sum", "[[1], [2]] | sum(start=[])",
                "items | max", "items | min", "words | max", "words | min", "words | max(true)", "words | min(case_sensitive=true)", "[] | max", "users[:3] | max(attribute='age')", "[1, 'a'] | max",
                "items | sort", "items | sort(reverse=true)", "items | sort(true)", "words | sort", "words | sort(case_sensitive=true)", "users[:3] | sort(attribute='age') | map(attribute='name') | list",
                "users[:3] | sort(attribute='tag.x') | map(attribute='name') | join(',')", "users[:3] | sort(attribute='age,name') | map(attribute='name') | list", "[1, 'a'] | sort", "'hello' | sort | join", "d | sort",
                "users | sort(attribute='age')", "[(2, 'b'), (1, 'z'), (2, 'a')] | sort", "[none, 1] | sort", "[true, 0, 3] | sort",
                "words | unique | list", "words | unique(true) | list", "[1, 1.0, true, 2] | unique | list", "users | unique(attribute='age') | map(attribute='name') | list", "[[1], [1]] | unique | list", "'Aab' | unique | join",
                "items | reverse | list", "'abc' | reverse", "d | reverse | list", "(1, 2) | reverse | list", "none | reverse", "range(3) | reverse | list", "nothing | reverse | list",
                "items | list", "'abc' | list", "d | list", "none | list", "nothing | list", "5 | list", "d.items() | list", "range(3) | list", "range(1, 10, 3) | list", "range(5, 0, -2) | list", "range(0)", "range(3)", "range(1, 7, 2)",
                "range(0, 3, 0)", "range('a')", "range(200000) | length", "range(5)[1]", "range(5)[-1]", "range(10)[2:8:3]", "range(10)[::-1] | list", "range(3) == range(0, 3)",
                "items | join", "items | join(', ')", "mixed | join('|')", "users | map(attribute='name') | join(' ')", "users | join(', ', attribute='name')", "'abc' | join('-')", "d | join(',')", "none | join", "nothing | join", "[nothing, none] | join(',')", "items | join(1)",
                "items | batch(3) | list", "items | batch(3, 0) | list", "range(7) | batch(3, 'x') | map('join') | list", "items | slice(3) | list", "range(7) | slice(3) | map('list') | list", "range(7) | slice(3, 0) | list", "items | batch(0) | list",
                "items | map('string') | list", "words | map('upper') | join", "words | map('replace', 'b', 'x') | list", "words | map('default', 'z') | list", "users | map(attribute='age', default=0) | list", "users | map(attribute='age') | list", "users | map(attribute='tag.x', default='-') | list", "items | map('nosuch') | list", "items | map | list",
                "[[1, 2], [3]] | map('sum') | list", "[[1, 2], [3, 4]] | map(attribute=0) | list", "[(1, 2)] | map('last') | list", "['1', '2'] | map('int') | sum", "words | map('center', 3) | list", "['a,b'] | map('replace', ',', '-', count=1) | list",
                "items | select('odd') | list", "items | select('gt', 2) | list", "items | select | list", "mixed | select | list", "mixed | select('string') | list", "mixed | reject('none') | list", "items | reject('in', [1, 2]) | list", "mixed | select('number') | list", "mixed | select('mapping') | list", "items | select('divisibleby', 2) | list", "items | select('==', 1) | list", "items | select('nosuch') | list",
                "users | selectattr('age') | map(attribute='name') | list", "users | selectattr('age', 'defined') | list | length", "users | selectattr('age', 'equalto', 30) | map(attribute='name') | list", "users | rejectattr('age') | map(attribute='name') | list", "users | rejectattr('age', 'ge', 30) | list", "users[:3] | rejectattr('age', 'ge', 30) | map(attribute='name') | list", "users | selectattr('name', 'in', ['Bob']) | list | length", "users | selectattr('tag.x', 'eq', 1) | list", "users[:3] | selectattr('tag.x', 'lt', 3) | map(attribute='name') | list", "messages | selectattr('role', '==', 'user') | list | length",
                "users[:3] | groupby('age') | map('first') | list", "users | groupby('age', default=0) | map(attribute='grouper') | list", "users[:3] | groupby('age') | map(attribute='list') | map('length') | list", "(users[:3] | groupby('age'))[0].list[0].name", "(users[:3] | groupby('age'))[0][0]", "['b', 'B', 'a'] | groupby('0') | list", "[{'k': 'b'}, {'k': 'B'}, {'k': 'a'}] | groupby('k')", "[{'k': 'b'}, {'k': 'B'}] | groupby('k', case_sensitive=true) | length",
                "d | dictsort", "d | dictsort(true)", "d | dictsort(reverse=true)", "{'a': 3, 'b': 1} | dictsort(by='value')", "{'a': 3, 'b': 1} | dictsort(false, 'value', true)", "d | dictsort(by='x')", "[1] | dictsort", "nothing | dictsort", "{'b': 1, 'A': 2} | dictsort",
                "d | items | list", "nothing | items | list", "[1] | items | list", "d.items()", "d.keys()", "d.values()", "d.items() | list", "d.keys() | list", "d.get('b')", "d.get('z')", "d.get('z', 5)", "d.get('b', 5)", "d.get()", "d.copy()", "{'a': 1}.copy() == {'a': 1}", "d.nosuch()", "d.items()[0]",
                "schema.items()", "schema.items() | list | length", "schema['items'].type", "schema.keys() | list", "schema.items.type", "schema.items is defined", "schema['items']['type']", "schema.keys is callable", "schema.type", "d['items'] is defined", "d['items']['type']", "d.items is mapping", "d.update", "d.update({'x': 1})", "items.append(1)", "items.pop()", "d.pop('b')",
                "[1, 2].index(2)", "[1, 2].index(9)", "[1, 2, 1].count(1)", "(1, 2).index(2)", "[1, 2].copy()", "['a', 'b', 'a'].index('a', 1)", "items.sort()", "items.count(3)", "items.nosuch()",
                "dict(a=1, b=2)", "dict({'a': 1}, b=2)", "dict([('a', 1), ['b', 2]])", "dict()", "dict(d, b=9)", "d | string", "items | string", "d | list | sort", "namespace(a=1).a", "namespace({'a': 2}).a", "namespace(items=[1]).items", "namespace(a=1).b is defined", "namespace(keys=2).keys",
                "cycler('a', 'b').next()", "cycler('a', 'b').current", "cycler()", "joiner()() ~ '|'", "lipsum is defined", "nosuch()", "nosuch", "nosuch.x", "nosuch['x']", "nosuch + 1", "-nosuch", "nosuch ~ 'a'", "none | map('upper') | list", "none | selectattr('a') | list", "0 | select | list", "nosuch | default('x')", "nosuch | upper", "nosuch | trim", "nosuch is defined", "nosuch == nosuch", "nosuch < 1", "nosuch()", "nosuch.strip()", "[nosuch] | list", "nosuch | string | length", "nosuch or 'x'", "nosuch | length == 0", "nosuch | tojson", "nosuch | indent", "nosuch | e", "nosuch | wordcount", "nosuch | max", "nosuch | title", "nosuch | replace('a', 'b')", "nosuch | unique | list", "nosuch | batch(2) | list", "nosuch | join(',')", "nosuch | sort", "nosuch | sum", "nosuch | items | list", "nosuch | select | list", "nosuch | map('upper') | list", "nosuch | capitalize", "nosuch | truncate", "nosuch | urlencode")


def strings():
    yield from ("s | upper", "s | lower", "s | title", "s | capitalize", "u | title", "'foo-bar (baz) [x] {y} <z> o\\'neil' | title", "1 | upper", "none | upper", "true | lower", "w | trim", "'xxaxx' | trim('x')", "5 | trim", "none | trim", "w | trim | length",
                "'a' | center(5) ~ '|'", "'abc' | center", "'a' | center(width=4) ~ '|'", "s | truncate(10)", "s | truncate(10, true)", "s | truncate(10, false, '…')", "s | truncate(10, end='')", "'hello world foo' | truncate(8)", "'hello world' | truncate(9)", "'hello world' | truncate(9, leeway=0)", "'hello' | truncate(2)", "'日本語日本語日本語' | truncate(5, leeway=0)", "'abcdefghijkl' | truncate(5)", "5 | truncate",
                "s | wordcount", "'a b  c' | wordcount", "'' | wordcount", "\"it's a-b\" | wordcount", "'日本 x' | wordcount", "s | wordwrap(10)", "s | wordwrap(10, false)", "'a very long sentence with abcdefghijklmnop inside' | wordwrap(8)", "'a very long sentence with abcdefghijklmnop inside' | wordwrap(8, false)", "'one two\\n\\nthree four' | wordwrap(5)", "'one two three' | wordwrap(7, wrapstring='|')", "'well-known words' | wordwrap(6)", "'well-known words' | wordwrap(6, break_on_hyphens=false)",
                "'a\\nb\\n\\nc' | indent", "'a\\nb\\n\\nc' | indent(2)", "'a\\nb\\n\\nc' | indent(2, true)", "'a\\nb\\n\\nc' | indent(2, blank=true)", "'a\\nb' | indent('> ')", "'a\\nb\\n' | indent(2) ~ '|'", "'a' | indent(first=true)", "'' | indent(2, true) ~ '|'", "5 | indent",
                "html | e", "html | escape", "html | striptags", "'<a> b &lt;c&gt;' | striptags", "'a b/c?d=é&' | urlencode", "{'a b': 'c d', 'x': 1} | urlencode", "[('a', 'b/')] | urlencode", "5 | urlencode", "'~_-.' | urlencode", "'a' | safe", "none | string", "1.5 | string", "'x' | string", "'x' | forceescape", "'a' | pprint", "items | pprint",
                "none | default('x')", "none | default('x', true)", "'' | default('x', true)", "nothing | default", "nothing | d(5)", "0 | default(1, boolean=true)", "false | d('x')", "nothing | default(default_value='y')",
                "'a,b' | split(',')" if False else "'a,b'.split(',')", "'a' | nosuch", "'a' is nosuch", "s | tojson", "u | tojson", "mixed | tojson", "d | tojson(indent=2)", "numbers | tojson", "none | tojson", "(1, 2) | tojson", "{1: 2} | tojson", "schema | tojson(sort_keys=true)", "d | tojson(separators=(',', ':'))", "range(3) | tojson", "d.items() | tojson", "items | map('string') | tojson", "items | map('string') | list | tojson", "html | tojson", "'\\u2028' | tojson", "[1.0, 1e16, 1e-7] | tojson", "'é' | tojson(ensure_ascii=true)", "[] | tojson(indent=4)", "[[]] | tojson(indent=1)",
                "'a' 'b' \"c\"", "'a\\tb\\\\n\\'q\\''", "\"\\u00e9\\x41\\101\"", "'\\d\\w'", "'line\nbreak'", "'{{ x }}'", "'%}'", "'a' ~ '}}'", "d | attr('items')() | length", "d | attr('b')", "'x' | attr('upper') is defined", "messages | attr('x')", "('a', 'b') | join", "'a' | list | length", "strftime_now('%Y-%m-%d')", "strftime_now('%d %B %Y')", "raise_exception is callable", "raise_exception('no')", "raise_exception is defined", "tools", "tools is none", "documents is none", "messages[0].content | upper", "messages[-1]['role']", "messages", "loop is defined", "self is defined", "caller is defined", "varargs is defined")


def tests():
    values = ("1", "0", "1.0", "True", "None", "'a'", "'A'", "''", "[1]", "()", "{}", "nothing", "range(2)", "d.items()", "items | map('string')", "namespace()", "raise_exception", "'a'.upper", "d.get", "12345678901234567890", "-3")
    for test in ("boolean callable defined undefined even odd false true float integer iterable lower upper mapping none number sequence string").split():
        for value in values:
            yield f"{value} is {test}" if "|" not in value else f"({value}) is {test}"
    yield from ("4 is divisibleby 2", "4 is divisibleby(3)", "4.0 is divisibleby 2", "1 is eq 1", "1 is eq(2)", "1 is ne 1", "1 is lt 2", "2 is gt 1", "1 is le 1", "1 is ge 2", "1 is lessthan 2", "1 is greaterthan 2", "1 is equalto 1", "1 is in [1]", "1 is not in [1]", "'a' is in 'abc'", "1 is not none", "1 is not defined",
                "not 1 is none", "1 + 1 is odd", "(1 + 1) is even", "'upper' is filter", "'nosuch' is filter", "'odd' is test", "'nosuch' is test", "1 is sameas true", "none is none is true", "1 is divisibleby 0", "'a' is divisibleby 2", "'x' is eq 'x' and 1 is odd", "d.b is odd", "items[0] is odd", "1 is not odd or 2 is odd", "d is mapping and d is not string", "nothing is not defined and true", "nothing.x is defined", "d.zz is defined", "d.zz.y is defined", "d['a'] is sequence", "'a' is escaped", "('a' | e) is string")


def templates():
    yield from (
        "{% for x in items %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.revindex }}{{ loop.revindex0 }}:{{ x }} {% endfor %}",
        "{% for x in items %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }} {% endfor %}",
        "{% for x in items %}{{ loop.cycle('a', 'b') }}{{ loop.changed(x // 2) }}{{ loop.depth }}{{ loop.depth0 }}{% endfor %}",
        "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "{% for k in d %}{{ k }}{% endfor %}", "{% for k, v in d | dictsort %}{{ k }}{% endfor %}",
        "{% for x in 'aé😀' %}{{ x }}.{% endfor %}", "{% for x in nothing %}{{ x }}{% else %}none{% endfor %}", "{% for x in none %}{% endfor %}", "{% for x in 5 %}{% endfor %}",
        "{% for x in items if x > 2 %}{{ loop.index }}{{ x }}{% if not loop.last %},{% endif %}{% else %}no{% endfor %}", "{% for x in [] %}{% else %}empty{% endfor %}",
        "{% for x in 1, 2, 3 %}{{ x }}{% endfor %}", "{% for x in (1, 2) %}{{ x }}{% endfor %}", "{% for a, b in [(1, 2), [3, 4]] %}{{ a }}{{ b }}{% endfor %}", "{% for a, b in [(1, 2, 3)] %}{% endfor %}",
        "{% for x in items %}{% if x == 1 %}{% continue %}{% endif %}{% if x == 10 %}{% break %}{% endif %}{{ x }}{% endfor %}", "{% for x in items | sort %}{{ x }}{% endfor %}{{ x }}",
        "{% set x = 1 %}{% for i in items %}{% set x = i %}{% endfor %}{{ x }}", "{% set ns = namespace(x=0) %}{% for i in items %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}", "{% set ns = namespace(a=1, b='x') %}{{ ns.a }}{{ ns.b }}{{ ns.c is defined }}",
        "{% set ns = namespace(items=[1], keys='k') %}{{ ns.items }}{{ ns.keys }}{% set ns.items = ns.items + [2] %}{{ ns.items }}", "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "{% set a = 1, 2 %}{{ a }}", "{% set x %}a{{ 1 }}b{% endset %}[{{ x }}]{{ x | length }}", "{% set x | upper %}abc{% endset %}{{ x }}", "{% set x | replace('a', 'b') | upper %}aXa{% endset %}{{ x }}",
        "{% set x = 'a' %}{% if true %}{% set x = 'b' %}{% endif %}{{ x }}", "{% if nothing %}a{% elif 0 %}b{% elif 'x' %}c{% else %}d{% endif %}", "{% if none is none and not false %}y{% endif %}", "{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a }}", "{% with %}{% set z = 3 %}{{ z }}{% endwith %}{{ z }}",
        "{% macro f(a, b=2, c='x') %}{{ a }}-{{ b }}-{{ c }};{% endmacro %}{{ f(1) }}{{ f(1, 3) }}{{ f(c='q', a=0) }}{{ f() }}", "{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, 2) }}", "{% macro f(a) %}{{ a }}{% endmacro %}{{ f(b=2) }}", "{% macro f(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ f(1) }}", "{% macro f() %}{{ caller() }}!{% endmacro %}{% call f() %}x{{ items[0] }}{% endcall %}",
        "{% macro f(l) %}{% for x in l %}{{ caller(x) }},{% endfor %}{% endmacro %}{% call(v) f(items) %}<{{ v }}>{% endcall %}", "{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}", "{% macro f() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, a=3) }}", "{% macro f(a) %}{{ varargs | length }}{% endmacro %}{{ f(1, 2, 3) }}", "{% macro f() %}a{% endmacro %}{{ f() | upper }}{{ f() ~ f() }}{{ f() == 'a' }}{{ f is callable }}{{ f.name }}",
        "{% macro f(x) %}{{ x }}{% endmacro %}{{ f(*[1]) }}{{ f(**{'x': 2}) }}", "{% macro f(x, y) %}{{ x }}{{ y }}{% endmacro %}{{ f(1, **{'y': 2}) }}{{ f(*[3, 4]) }}", "{% set f = 3 %}{% macro g() %}{{ f }}{% endmacro %}{{ g() }}", "{% filter upper %}a{{ 'b' }}c{% endfilter %}", "{% filter replace('a', 'x') | upper %}abc{% endfilter %}", "{% filter indent(2) %}a\nb{% endfilter %}", "{% filter trim %}  x {% endfilter %}|",
        "{% for x in [[1, [2, 3]], [4]] recursive %}{% if x is iterable %}({{ loop(x) }}){% else %}{{ x }}@{{ loop.depth }}{% endif %}{% endfor %}", "a\n{% if true %}\nb\n{% endif %}\nc\n", "a\n  {% if true %}\n  b\n  {% endif %}\nc", "a {%- if true -%} b {%- endif -%} c", "a\n{{- 'x' -}}\nb", "  {%+ if true %}x{% endif %}", "{% if true +%}\nx{% endif %}", "{{ 'a' }}\n\n{{ 'b' }}\n", "{# c #}\na", "a {#- c -#} b", "  {# c #}  \n  x", "\n\n{% set x = 1 %}\n\n{{ x }}", "x  {% set y = 1 %}  z", "{% raw %}{{ x }} {% if %}{% endraw %}", "  {% raw %}  a{% endraw %}\nb", "a{% raw -%}  b  {%- endraw %}c", "{%- raw %} a {% endraw -%} b", "{{ '{% raw %}' }}", "{# {{ x }} {% if %} #}y", "{{ {'a': {'b': 1}} }}", "{{ {'a': {'b': 1}}['a']}}", "{{ '}}' }}", "{% set x = '%}' %}{{ x }}", "{{ 1, 2 }}", "{{ (1, 2)[0] }}", "{{\n1\n+\n1\n}}",
        "{% block b %}x{% endblock %}", "{% block b %}{{ items[0] }}{% endblock b %}", "{% include 'x' %}", "{% import 'x' as y %}", "{% extends 'x' %}", "{% if %}{% endif %}", "{{ }}", "{{ 1 + }}", "{% for %}{% endfor %}", "{% endif %}", "{% if x %}", "{{ 'a }}", "{% nosuch %}", "{{ a b }}", "{% set %}", "{% set 1 = 2 %}", "{{ [1, 2 }}", "{{ 1 if }}", "{% macro %}{% endmacro %}", "{{ x. }}", "{{ x[ }}", "{{ | upper }}", "{{ not }}", "{% break %}", "{% do items.append(1) %}",
        "{% generation %}x{% endgeneration %}", "{% generation -%}  x\n{%- endgeneration %}\ny", "{% autoescape true %}{{ '<' }}{% endautoescape %}", "{% set g = items | map('string') %}{{ g | list }}{{ g | list }}", "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.reset() }}{{ c.next() }}", "{% set j = joiner('|') %}{% for x in items %}{{ j() }}{{ x }}{% endfor %}", "{% set m = 'a'.upper %}{{ m() }}", "{% set q = d.get %}{{ q('b') }}{{ q('z', 1) }}", "{% for m in messages %}{{ m['role'] + ': ' + m.content }}{% endfor %}", "{% set x = {'a': 1} %}{% set x = dict(x, b=2) %}{{ x }}", "{% set l = [1] %}{% set l = l + [2] %}{{ l }}", "{% for i in range(3) %}{% for j in range(i) %}{{ i }}{{ j }} {% endfor %}{% endfor %}", "{% for i in range(2) %}{% set outer = loop %}{% for j in range(2) %}{{ outer.index }}{{ loop.index }} {% endfor %}{% endfor %}", "{% for x in items | batch(2) %}{{ loop.length }}{{ x }}{% endfor %}", "{% for x in items | reverse %}{{ x }}{{ loop.last }}{% endfor %}", "{% for x in d.values() %}{{ loop.length }}{% endfor %}", "{% for g in users[:3] | groupby('age') %}{{ g.grouper }}:{{ g.list | map(attribute='name') | join('+') }};{% endfor %}", "{% for age, us in users[:3] | groupby('age') %}{{ age }}={{ us | length }};{% endfor %}", "{% for u in users %}{{ u.age or '-' }}{{ u.get('age', 0) }}{% endfor %}", "{{ nothing }}|{{ nothing | default('x') }}|{{ none }}|{{ true }}", "{{ items | map('string') | join(', ') ~ '.' }}", "{% if 'a' in d and d.a | length == 2 %}ok{% endif %}", "{{ d.a[0] if d.a else 'x' }}", "{{ '%02d:%02d' % (5, 7) ~ '!' }}", "{{ ('a' ~ 1) * 2 }}", "{{ -items[0] | abs }}", "{{ 2 * items | length }}", "{{ (items | sort)[0] }}", "{{ items | sort | first }}", "{{ {'a': items}.a[-1] }}", "{{ [1, 2, 3][1:] + [4] }}", "{{ 'abc'[::-1] | upper }}", "{{ ['x', 'y'] | join(',') | upper ~ '!' }}", "{{ (nothing | default([])) + [1] }}", "{%- set a = 1 -%}\n{%- set b = 2 -%}\n{{ a + b }}\n", "{{ caller }}", "{% set loop = 1 %}{{ loop }}", "{% set _ = 1 %}{{ _ }}", "{% set x = y = 1 %}", "{% for x in items recursive %}{{ x }}{% endfor %}", "{% set é = 1 %}{{ é }}", "{{ foo(1)(2) }}", "{{ raise_exception('a ' ~ 1) }}", "{% if false %}{{ 1 | nosuch }}{% endif %}x", "{% if false %}{{ nosuch.x.y }}{% endif %}x", "line1\r\nline2\r{{ 1 }}\n")


def all_templates():
    seen = set()
    for part in (methods, formats, numbers, comparisons, lists, strings, tests):
        for expression in part():
            if expression not in seen:
                seen.add(expression)
                yield "{{ " + expression + " }}"
    yield from templates()
