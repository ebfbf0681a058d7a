"""Generates RTL, documentation and Rust of the NIC's registers from rtl/nic/registers.toml.

`registers.py` writes the files, `registers.py --check` fails when one of them is stale. Needs only Python 3.11.
"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "rtl/nic/registers.toml"


def sentence(text):
    return text[0].upper() + text[1:] + "."


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def read():
    data = tomllib.loads(SOURCE.read_text())
    registers = data["register"]
    words = {}
    for r in registers:
        for w in range(r.get("count", 1)):
            address = r["offset"] + 4 * w
            if address % 4 or address in words or address >= data["counters"]["offset"]:
                sys.exit(f"registers: {r['name']} at {address:#x}: taken by {words.get(address)}, no multiple of 4, or among the counters")
            words[address] = r["name"]
        end = 0
        for f in r.get("fields", []):
            if f["low"] < end or f["low"] + f["width"] > 32:
                sys.exit(f"registers: {r['name']}.{f['name']} overlaps or does not fit")
            end = f["low"] + f["width"]
    return registers, data["counters"]


def settings(registers):
    """Returns the fields of the struct: name, width, elements, reset, sentence."""
    for r in registers:
        if r["access"] == "rw":
            if "fields" in r:
                for f in r["fields"]:
                    yield f["name"], f["width"], 1, f.get("reset", 0), f["text"]
            else:
                yield r["name"], r.get("width", 32), r.get("count", 1), r.get("reset", 0), r["text"]


def package(registers, counters):
    out = ["// The NIC's registers. Made by tools/registers.py from rtl/nic/registers.toml: do not edit.", "package nic_registers_pkg;", ""]
    out += ["  typedef logic [15:0] address_t;", ""]
    for r in registers:
        out.append(f"  localparam address_t Address{camel(r['name'])} = 16'h{r['offset']:03X};")
    out += [f"  localparam address_t AddressCounters = 16'h{counters['offset']:03X};", ""]
    out.append("  typedef struct packed {")
    for name, width, count, _, _ in settings(registers):
        dims = (f"[{count - 1}:0]" if count > 1 else "") + (f"[{width - 1}:0]" if width > 1 or count > 1 else "")
        out.append(f"    logic {dims} {name};")
    out += ["  } nic_settings_t;", ""]
    out += ["  localparam nic_settings_t SettingsReset = '{"]
    rows = []
    for name, width, count, reset, _ in settings(registers):
        value = f"{width}'h{reset:X}"
        rows.append(f"      {name}: {{{count}{{{value}}}}}" if count > 1 else f"      {name}: {value}")
    out += [",\n".join(rows), "  };", ""]

    out += ["  // The settings after a write. Bits that do not exist are ignored, as is a write to anything else.",
            "  function automatic nic_settings_t settings_write(input nic_settings_t old, input address_t address, input logic [31:0] data);",
            "    nic_settings_t settings = old;", "    case (address)"]
    for r in registers:
        if r["access"] != "rw":
            continue
        for w in range(r.get("count", 1)):
            label = f"      16'h{r['offset'] + 4 * w:03X}:"
            if "fields" in r:
                parts = "".join(f" settings.{f['name']} = {part(f)};" for f in r["fields"])
                out.append(f"{label} begin{parts} end")
            else:
                element = f"[{w}]" if "count" in r else ""
                width = r.get("width", 32)
                out.append(f"{label} settings.{r['name']}{element} = data{'' if width == 32 else f'[{width - 1}:0]'};")
    out += ["      default: ;", "    endcase", "    return settings;", "  endfunction", ""]

    out += ["  // A setting as it reads back; 0 for what is none.",
            "  function automatic logic [31:0] settings_read(input nic_settings_t settings, input address_t address);",
            "    logic [31:0] data = '0;", "    case (address)"]
    for r in registers:
        if r["access"] != "rw":
            continue
        for w in range(r.get("count", 1)):
            label = f"      16'h{r['offset'] + 4 * w:03X}:"
            if "fields" in r:
                parts = "".join(f" {part(f)} = settings.{f['name']};" for f in r["fields"])
                out.append(f"{label} begin{parts} end")
            else:
                element = f"[{w}]" if "count" in r else ""
                width = r.get("width", 32)
                value = f"settings.{r['name']}{element}"
                out.append(f"{label} data = {value if width == 32 else f'32{chr(39)}({value})'};")
    out += ["      default: ;", "    endcase", "    return data;", "  endfunction", ""]

    names = counters["names"]
    out += [f"  localparam int unsigned Counters = {len(names)};", "", "  typedef enum logic [5:0] {"]
    out += [",\n".join(f"    Count{camel(name)} = 6'd{i}" for i, (name, _) in enumerate(names)), "  } counter_e;", "", "endpackage", ""]
    return "\n".join(out)


def part(f):
    return f"data[{f['low']}]" if f["width"] == 1 else f"data[{f['low'] + f['width'] - 1}:{f['low']}]"


def document(registers, counters):
    out = ["# The NIC's registers", "", "Made by `tools/registers.py` from `registers.toml`. Words of 32 bits; what is named nowhere reads 0.", "",
           "| offset | name | bits | access | reset | |", "|---|---|---|---|---|---|"]
    for r in registers:
        count, reset = r.get("count", 1), r.get("reset", 0)
        offset = f"{r['offset']:#05x}" + (f" … {r['offset'] + 4 * count - 4:#05x}" if count > 1 else "")
        value = "" if "fields" in r or r["access"] != "rw" else f"{reset:#x}" if reset > 9 else f"{reset}"
        out.append(f"| {offset} | {r['name']} | {'' if 'fields' in r else r.get('width', 32)} | {r['access']} | {value} | {r['text']} |")
        for f in r.get("fields", []):
            low, high = f["low"], f["low"] + f["width"] - 1
            out.append(f"| | · {f['name']} | {low if low == high else f'{high}–{low}'} | | {f.get('reset', 0)} | {f['text']} |")
    for i, (name, text) in enumerate(counters["names"]):
        out.append(f"| {counters['offset'] + 4 * i:#05x} | {name} | 32 | ro | 0 | counter: {text} |")
    return "\n".join(out) + "\n"


def rust(registers, counters):
    out = ["//! The NIC's registers: offsets and fields. Made by `tools/registers.py` from `rtl/nic/registers.toml`: do not edit.", ""]
    for r in registers:
        out += [f"/// {sentence(r['text'])}" + (f" The first of {r['count']} words." if "count" in r else ""),
                f"pub const {r['name'].upper()}: u16 = {r['offset']:#05x};"]
        for f in r.get("fields", []):
            out += [f"/// {sentence(f['text'])} Lowest of its {f['width']} bits in [`{r['name'].upper()}`].", f"pub const {f['name'].upper()}_LOW: u32 = {f['low']};"]
    for i, (name, text) in enumerate(counters["names"]):
        out += [f"/// Counter: {text}.", f"pub const {name.upper()}: u16 = {counters['offset'] + 4 * i:#05x};"]
    out += ["", "/// A counter of the NIC.", "#[derive(Debug, Clone, Copy, PartialEq, Eq)]", "pub struct Counter {",
            "    /// As in the map.", "    pub name: &'static str,", "    /// Its register.", "    pub address: u16,",
            "    /// Counts bytes, else pulses of its bit of `event_o`.", "    pub bytes: bool,", "}", "",
            "impl Counter {", "    const fn new(name: &'static str, address: u16, bytes: bool) -> Self {", "        Self {",
            "            name,", "            address,", "            bytes,", "        }", "    }", "", "    /// Its bit of `event_o`.", "    pub const fn bit(self) -> u32 {", "        event_bit(self.address)", "    }", "}", "",
            "/// A counter's bit of `event_o`: of [`FRAMES_IN`] 0.", "pub const fn event_bit(address: u16) -> u32 {",
            f"    (address - {counters['offset']:#05x}) as u32 / 4", "}", "",
            "/// All counters, in the order of their registers and of the bits of `event_o`.",
            f"pub const COUNTERS: [Counter; {len(counters['names'])}] = ["]
    for name, _ in counters["names"]:
        out.append(f'    Counter::new("{name}", {name.upper()}, {str(name in counters["bytes"]).lower()}),')
    out += ["];", "", "/// A word of settings: it can be written, and reads as it was written.", "#[derive(Debug, Clone, Copy, PartialEq, Eq)]",
            "pub struct Setting {", "    /// As in the map.", "    pub name: &'static str,", "    /// Its register.", "    pub address: u16,",
            "    /// The bits that exist; the others read 0.", "    pub bits: u32,", "    /// What it reads after reset.", "    pub reset: u32,", "}", "",
            "impl Setting {", "    const fn new(name: &'static str, address: u16, bits: u32, reset: u32) -> Self {", "        Self {",
            "            name,", "            address,", "            bits,", "            reset,", "        }", "    }", "}", ""]
    words = []
    for r in registers:
        if r["access"] == "rw":
            fields = r.get("fields") or [{"low": 0, "width": r.get("width", 32), "reset": r.get("reset", 0)}]
            bits = sum((1 << f["width"]) - 1 << f["low"] for f in fields)
            reset = sum(f.get("reset", 0) << f["low"] for f in fields)
            for w in range(r.get("count", 1)):
                words.append(f'    Setting::new("{r["name"]}", {r["offset"] + 4 * w:#05x}, {bits:#x}, {reset:#x}),')
    out += ["/// All words of settings.", f"pub const SETTINGS: [Setting; {len(words)}] = [", *words, "];"]
    return "\n".join(out) + "\n"


def main():
    registers, counters = read()
    stale = []
    for path, text in [
        ("rtl/pkg/nic_registers_pkg.sv", package(registers, counters)),
        ("rtl/nic/registers.md", document(registers, counters)),
        ("sim/xoff-sim/src/nic_registers.rs", rust(registers, counters)),
    ]:
        path = ROOT / path
        # Formatters may change the layout of the code, so whitespace is ignored in the comparison.
        same = path.exists() and "".join(path.read_text().split()) == "".join(text.split())
        if same:
            continue
        if "--check" in sys.argv:
            stale.append(str(path.relative_to(ROOT)))
        else:
            path.write_text(text)
    if stale:
        sys.exit("registers: stale, run tools/registers.py: " + ", ".join(stale))


main()
