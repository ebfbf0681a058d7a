#!/usr/bin/env python3
"""Where the claims of built-in scenarios end: halves and doubles each parameter, and says which expectations fail.

    tools/claims.py --xoff target/release/xoff [--key 'flows.*.window'] [SCENARIO…]

SCENARIO is `deadlock`, with all of its variants, or `deadlock[cured]` (default: all scenarios). Parameters are the
numbers and quantities that the scenario's file sets: counts, bytes, lengths, rates, fractions, times of events, and
those of fault rules. Left out are what names or classifies something, when it is measured, and what is expected. A
value that several entries of a list have is one parameter and changes in all of them. With --key, which may be given
several times, it is those whose names match a pattern, among all keys that a run has, also those that are left at their
defaults: `xoff show SCENARIO --set host.nic=model` has them.

Each run is a line: the value, and whether all expectations hold, which of them fail, with the measured value and the
bound, why the value is refused, that the program ended by itself, or that the run took longer than --limit. With
--seeds 10 a value holds if it does with seeds 1 to 10. Exit code 1: an unchanged scenario fails.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path

SCENARIOS = Path(__file__).resolve().parent.parent / "testbenches/scenarios"
# Keys at the top that are none of the network's, and numbers of which a half means nothing: names, classes, seeds.
NO_TABLES = set(
    "version seed title name description variant variants duration measure_from sample expect audit detect "
    "breaks".split()
)
NO_PARAMETERS = set(
    "dscp ack_dscp cnp_dscp pcp ack_pcp vlan trunk class classes lossless weights hash_seed udp_port".split()
)
QUANTITY = re.compile(r"(\d+(?:\.\d+)?) ?([a-zµ]+(?:/s)?)", re.IGNORECASE)
# What a fault rule has of numbers that can be more or less.
IN_RULE = re.compile(r"(?<=chance 1/)\d+|(?<=delay )\d+(?:\.\d+)? ?\w+|(?<=shots )\d+")


def leaves(value, path=()):
    """All keys of a table with their values; entries of lists have their name or place, as in --set."""
    if isinstance(value, dict) and set(value) == {"num", "den"}:
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list) and value and all(isinstance(entry, dict) for entry in value):
        for place, entry in enumerate(value):
            yield from leaves(entry, (*path, entry.get("name") or str(place)))
    else:
        yield path, value


def scaled(value, factor, key):
    """Half or twice a value; None if it has none."""
    if isinstance(value, bool) or not value:
        return None
    if isinstance(value, dict):
        return {**value, "den": scaled(value["den"], 1 / factor, "den")} if value["den"] > 1 else None
    # The code of a time: one more is twice as long.
    if key == "timeout":
        return value + (1 if factor > 1 else -1)
    if isinstance(value, int):
        return int(value * factor) or None
    if isinstance(value, float):
        return value * factor
    if isinstance(value, list) and any(isinstance(rule, str) and IN_RULE.search(rule) for rule in value):
        return [IN_RULE.sub(lambda found: in_rule(found[0], factor), rule) for rule in value]
    found = QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if found and float(found[1]):
        return f"{float(f'{float(found[1]) * factor:.10g}'):.15g} {found[2]}"
    return None


def in_rule(text, factor):
    """Half or twice a number of a fault rule: of `chance 1/N` the chance, so that N is twice or half."""
    if text.isdecimal():
        return str(max(1, round(int(text) / factor)))
    return scaled(text, factor, "delay")


def shown(value):
    """A value as a reader writes it."""
    if isinstance(value, dict):
        return f"{value['num']}/{value['den']}"
    if isinstance(value, list):
        return ", ".join(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


class Variant:
    """A variant, and its parameters: pattern and value, with the keys that have it."""

    def __init__(self, xoff, name, variant, arguments):
        self.name, self.variant = name, variant
        self.title = name if variant == "base" else f"{name}[{variant}]"
        self.fixed = [f"variant={variant}", f"host.nic={arguments.nic}", *arguments.set]
        self.parameters = {}
        written = self.written(shown_by(xoff, name, []))
        for path, value in leaves(shown_by(xoff, name, self.fixed)):
            key = ".".join(path)
            wanted = any(fnmatchcase(key, glob) for glob in arguments.key) if arguments.key else path in written
            if path[0] in NO_TABLES or NO_PARAMETERS & set(path) or scaled(value, 2, path[-1]) is None:
                continue
            if wanted:
                listed = path[0] in ("hosts", "switches", "links", "flows", "events", "routes", "inject")
                pattern = (path[0], "*", *path[2:]) if listed else path
                self.parameters.setdefault((pattern, json.dumps(value)), []).append((key, value))

    def written(self, table):
        """The keys that the file sets, in its base or for the variant."""
        changes = table.get("variants", {}).get(self.variant, {}).get("set", {})
        paths = {path for path, _ in leaves(table)}
        for key, value in changes.items():
            paths |= {path for path, _ in leaves(value, tuple(key.split(".")))}
        return paths

    def runs(self):
        """The unchanged variant, and each parameter halved and doubled: what is changed, and settings for that."""
        yield "unchanged", []
        for (pattern, _), having in self.parameters.items():
            key = having[0][0] if len(having) == 1 else f"{'.'.join(pattern)} ({len(having)})"
            for factor in (0.5, 2):
                value = scaled(having[0][1], factor, pattern[-1])
                if value is not None and value != having[0][1]:
                    change = f"{key}: {shown(having[0][1])} → {shown(value)}"
                    yield change, [setting(key, value) for key, _ in having]


def setting(key, value):
    """The text for --set; of a fraction all of it, since one that is not written has no numerator to keep."""
    text = f"{{ num = {value['num']}, den = {value['den']} }}" if isinstance(value, dict) else json.dumps(value)
    return f"{key}={text}"


def shown_by(xoff, name, settings):
    """The scenario as a table: its file, or, with settings, all keys of a run."""
    command = [xoff, "show", name, *with_set(settings)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        sys.exit(f"claims: --xoff {xoff}: {error.strerror}; expected the program, such as target/release/xoff")
    if done.returncode:
        sys.exit(f"claims: {' '.join(map(str, command))}\n{done.stderr}")
    return tomllib.loads(done.stdout)


def with_set(settings):
    return [part for text in settings for part in ("--set", text)]


def verdict(arguments, variant, settings):
    """What a change comes to, as one word and a text for the reader."""
    failed = []
    for seed in range(1, arguments.seeds + 1) if arguments.seeds else [None]:
        with tempfile.TemporaryDirectory() as folder:
            command = [arguments.xoff, "run", variant.name, "--json", "--checkpoints", "off", "--threads", "1"]
            command += ["--out", folder, *with_set(variant.fixed + settings)]
            command += ["--seed", str(seed)] if seed else []
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=arguments.limit, check=False)
            except subprocess.TimeoutExpired:
                return "no result", f"after {arguments.limit} s" + (f", seed {seed}" if seed else "")
        if done.returncode > 1:
            return "refused" if done.returncode == 2 else "CRASHES", done.stderr.strip().split("\n")[0]
        wrong = [each for each in json.loads(done.stdout)["expectations"] if not each["held"]]
        if wrong:
            failed.append((seed, "; ".join(map(missed, wrong))))
    if not failed:
        return "holds", ""
    seeds = f" (seed {failed[0][0]}; {len(failed)} of {arguments.seeds} seeds fail)" if arguments.seeds else ""
    return "FAILS", failed[0][1] + seeds


def missed(each):
    """An expectation that failed; what a metric is of may not have happened, and then it was not measured."""
    measured = "not measured" if each["measured"] is None else f"{each['measured']:.6g}"
    return f"{each['metric']} {measured}, not {each['op']} {each['value']:.6g}"


def chosen(xoff, wanted):
    """Names of scenarios and variants: `deadlock` means all of its variants."""
    for text in wanted or sorted(file.stem for file in SCENARIOS.glob("*.toml")):
        name, _, variant = text.rstrip("]").partition("[")
        variants = [variant] if variant else ["base", *shown_by(xoff, name, []).get("variants", {})]
        yield from ((name, each) for each in variants)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xoff", required=True, help="the program")
    parser.add_argument("--key", action="append", metavar="GLOB", help="parameters by name, in place of the file's")
    parser.add_argument("--seeds", type=int, help="seeds 1 to N of each run, in place of the scenario's")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of all runs")
    parser.add_argument("--nic", default="model", help="the NICs of all hosts")
    parser.add_argument("--jobs", type=int, help="runs at the same time (default: one per core)")
    parser.add_argument("--limit", type=int, default=300, help="seconds that a run may take")
    parser.add_argument("scenario", nargs="*", help="such as deadlock, or deadlock[cured]")
    arguments = parser.parse_args()
    bad, changes = 0, 0
    with ThreadPoolExecutor(arguments.jobs or os.cpu_count()) as pool:
        for name, which in list(chosen(arguments.xoff, arguments.scenario)):
            variant = Variant(arguments.xoff, name, which, arguments)
            runs, counts = list(variant.runs()), {}
            changes += len(runs) - 1
            print(variant.title, flush=True)
            answers = pool.map(lambda run: verdict(arguments, variant, run[1]), runs)
            for (change, _), (word, text) in zip(runs, answers):
                print(f"  {word:9} {change:52} {text}".rstrip(), flush=True)
                bad += change == "unchanged" and word != "holds"
                counts[word] = counts.get(word, 0) + (change != "unchanged")
            print(f"  {variant.title}: " + ", ".join(f"{count} {word}" for word, count in counts.items()), flush=True)
    if not changes:
        sys.exit("claims: no parameter to change; `xoff show SCENARIO --set host.nic=model` has the keys of a run")
    sys.exit(bad > 0)


main()
