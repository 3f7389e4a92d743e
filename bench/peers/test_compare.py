"""Tests of what needs no engine: `python -m unittest discover bench/peers`."""

import json
import pathlib
import tempfile
import unittest

import compare


def turn(engine, depth, rates, limit=None):
    settings = []
    for phase, rate in rates.items():
        setting = {"phase": phase, "depth": depth, "tokens": 8, "tokens_per_second": {"samples": [rate]}}
        if limit:
            setting["limit_tokens_per_second"] = limit
        settings.append(setting)
    return {"engine": engine, "measured": {"settings": settings}}


class Summary(unittest.TestCase):
    def test_medians_ratios_and_shares(self):
        turns = []
        for ours, theirs, limit in [(10, 5, 16), (30, 4, 20), (20, 6, 30)]:
            turns += [turn("weft", 0, {"decode": ours}, limit), turn("llama.cpp", 0, {"decode": theirs})]
        [result] = compare.summary(turns)
        self.assertEqual(result["weft"], {"median": 20, "samples": [10, 30, 20], "share_of_limit": 1.0})
        self.assertEqual(result["llama.cpp"], {"median": 5, "samples": [5, 4, 6], "share_of_limit": 0.25})
        self.assertEqual((result["ratio"], result["limit_tokens_per_second"]), (4.0, 20))

    def test_settings_are_kept_apart(self):
        turns = [turn("weft", depth, {"prefill": 2, "decode": 1}, 4) for depth in (0, 64)]
        found = [(result["phase"], result["depth"]) for result in compare.summary(turns)]
        self.assertEqual(found, [("prefill", 0), ("decode", 0), ("prefill", 64), ("decode", 64)])

    def test_an_unfinished_run_has_a_table_too(self):
        results = compare.summary([turn("weft", 0, {"decode": 2}, 4)])
        self.assertIsNone(results[0]["ratio"])
        row = compare.table(results).splitlines()[-1]
        self.assertEqual(row, "| decode | 0 | 8 | 2.00 (2.00) | 50 % | – | – | – |")


class Save(unittest.TestCase):
    def test_a_report_replaces_the_one_before(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "out.json"
            for number in (1, 2):
                compare.save(path, {"number": number})
            self.assertEqual(json.loads(path.read_text()), {"number": 2})
            self.assertEqual([entry.name for entry in pathlib.Path(folder).iterdir()], ["out.json"])


class Commands(unittest.TestCase):
    def arguments(self, *more):
        line = ["--weft", "weft", "--model", "m.gguf", "--threads", "2", "--out", "out.json", *more]
        return compare.parser().parse_args(line)

    def test_an_instruction_set_of_the_cpu_is_for_weft(self):
        lines = [compare.command(engine, self.arguments("--device", "cpu:avx2"), 0) for engine in compare.ENGINES]
        self.assertEqual(lines[0][-2:], ["--device", "cpu:avx2"])
        self.assertNotIn("--gpu", lines[1])

    def test_a_device_is_for_both_engines(self):
        lines = [compare.command(engine, self.arguments("--device", "cuda"), 0) for engine in compare.ENGINES]
        self.assertEqual(lines[0][-2:], ["--device", "cuda"])
        self.assertEqual(lines[1][-1], "--gpu")
        for engine in compare.ENGINES:
            self.assertFalse({"--device", "--gpu"} & set(compare.command(engine, self.arguments(), 0)))

    def test_a_program_that_does_not_exist_is_named(self):
        with self.assertRaisesRegex(SystemExit, "cannot run /nowhere/weft: No such file"):
            compare.run(["/nowhere/weft"])


if __name__ == "__main__":
    unittest.main()
