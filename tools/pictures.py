#!/usr/bin/env python3
"""Opens the page of every built-in scenario, with model NICs, in headless Chromium and looks for what a reader could not
read: texts that are clipped, overlap or are too pale, pages that scroll sideways on a phone, are long on paper or large.

`pictures.py [--keep FOLDER] XOFF [SCENARIO…]`: XOFF is the program; a scenario may have settings, as in
`deadlock,variant=cured`. With --keep the pages stay in the folder, with a picture of each at every width. Exit code 1: there
are faults.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

FAULTS = (Path(__file__).parent / "pictures.js").read_text()
# Moves the slider over the network's picture, and says at how many of its places links are stopped.
MOVED = """() => {
  const input = document.querySelector(".moment input");
  if (!input) return null;
  let stopped = 0;
  for (let at = Number(input.max); at >= 0; at--) {
    input.value = at;
    input.dispatchEvent(new Event("input"));
    stopped += document.querySelectorAll(".moment")[0].closest("figure").querySelectorAll(".now").length > 0;
  }
  return stopped;
}"""
WIDTHS = [1280, 390]
SCHEMES = ["light", "dark"]
# A4 less its margins.
PAPER = 718
MOST_BYTES = 2_000_000
MOST_SHEETS = {"deadlock": 4}

# What has to be found in a page that is wrong on purpose, so that a check that sees nothing is not taken for a clean page.
PLANTED = """<!doctype html><style>body{margin:0;background:#fff;color:#000}@media (prefers-color-scheme:dark){
body{background:#111;color:#eee}}</style><p>good</p><p style="color:#888">pale text</p>
<p style="position:absolute;top:0;left:0">good too</p><p style="overflow:hidden;width:30px;white-space:nowrap">cut at its end</p>
<svg width="100" height="30"><text x="60" y="20">beyond the picture</text></svg><p style="width:1500px">wide</p>"""
FOUND = ["contrast", "overlaps", "clipped: 'cut", "clipped: 'beyond", "scrolls sideways"]


def built_in():
    listed = Path(__file__).parent.parent / "testbenches/scenarios"
    return sorted(file.stem for file in listed.glob("*.toml"))


def page_of(xoff, scenario, folder):
    """Runs a scenario, whose expectations may fail with other NICs than it names, and returns its page."""
    name, *settings = scenario.split(",")
    command = [xoff, "run", name, "--out", folder, "--checkpoints", "off", "--set", "host.nic=model"]
    for setting in settings:
        command += ["--set", setting]
    done = subprocess.run(command, capture_output=True, text=True)
    pages = list(Path(folder).glob("*/report.html"))
    if done.returncode > 1 or not pages:
        sys.exit(f"pictures: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return pages[0]


class Browser:
    def __init__(self, playwright):
        # Root has no sandbox.
        self.chromium = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        contexts = {"viewport": {"width": WIDTHS[0], "height": 900}}
        self.page = self.chromium.new_page(**contexts)
        self.errors = []
        self.page.on("pageerror", lambda error: self.errors.append(f"script: {error}"))

    def faults(self, scheme, width, media="screen"):
        self.page.emulate_media(media=media, color_scheme=scheme)
        self.page.set_viewport_size({"width": width, "height": 900})
        return self.page.evaluate(FAULTS, {"scrolls": media == "screen"})

    def planted(self):
        self.page.set_content(PLANTED)
        for scheme in SCHEMES:
            found = self.faults(scheme, 390)
            missed = [what for what in FOUND if not any(fault.startswith(what) for fault in found)]
            if missed:
                sys.exit(f"pictures: faults that are there were not found: {missed} of {found}")

    def look(self, file, name, keep):
        """All faults of a page."""
        faults = []
        self.page.goto(file.resolve().as_uri())
        self.page.evaluate("document.querySelectorAll('details').forEach(part => part.open = false)")
        if keep:
            for scheme in SCHEMES:
                for width in WIDTHS:
                    self.page.emulate_media(media="screen", color_scheme=scheme)
                    self.page.set_viewport_size({"width": width, "height": 900})
                    self.page.screenshot(path=keep / f"{name}-{scheme}-{width}.png", full_page=True)
        self.page.emulate_media(media="print", color_scheme="light")
        sheets = self.page.pdf(format="A4", print_background=True)
        if keep:
            (keep / f"{name}.pdf").write_bytes(sheets)
        count = len(re.findall(rb"/Type\s*/Page[^s]", sheets))
        if count > MOST_SHEETS.get(name, count):
            faults.append(f"printed: {count} pages, at most {MOST_SHEETS[name]} are right")
        faults += [f"printed: {fault}" for fault in self.faults("light", PAPER, "print")]
        self.page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
        for scheme in SCHEMES:
            for width in WIDTHS:
                faults += [f"{scheme}, {width} pixels: {fault}" for fault in self.faults(scheme, width)]
        if self.page.evaluate(MOVED) == 0:
            faults.append("the slider shows no stopped link anywhere, though links were stopped")
        faults += self.errors
        self.errors.clear()
        size = file.stat().st_size
        if size > MOST_BYTES:
            faults.append(f"{size} bytes, at most {MOST_BYTES} are right")
        return faults, count, size


def chromium():
    for name in ["chromium", "chromium-browser", "google-chrome"]:
        found = subprocess.run(["which", name], capture_output=True, text=True).stdout.strip()
        if found:
            return found
    sys.exit("pictures: no Chromium: apt-get install chromium")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("xoff")
    parser.add_argument("scenario", nargs="*", default=built_in())
    arguments = parser.parse_args()
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    bad = 0
    with sync_playwright() as playwright:
        browser = Browser(playwright)
        browser.planted()
        for scenario in arguments.scenario:
            began = time.monotonic()
            with tempfile.TemporaryDirectory() as folder:
                file = page_of(arguments.xoff, scenario, folder)
                if arguments.keep:
                    (arguments.keep / f"{scenario}.html").write_bytes(file.read_bytes())
                ran = time.monotonic()
                faults, sheets, size = browser.look(file, scenario, arguments.keep)
            for fault in faults:
                print(f"  {scenario}: {fault}")
            bad += bool(faults)
            print(
                f"{scenario}: {len(faults)} faults, {sheets} sheets, {size / 1000:.0f} KB; "
                f"ran {ran - began:.1f} s, looked {time.monotonic() - ran:.1f} s",
                flush=True,
            )
        browser.chromium.close()
    print(f"pictures: {len(arguments.scenario) - bad} passed, {bad} failed")
    sys.exit(bad > 0)


main()
