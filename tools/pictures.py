#!/usr/bin/env python3
"""Opens the page of every built-in scenario, with model NICs, in headless Chromium and looks for what a reader could not
read: texts that are clipped, overlap or are too pale, pages that scroll sideways on a phone, are long on paper or large.
Then it enlarges charts, goes back, and moves the strip by pointer and keys, looks again, and wants no script to fail.

`pictures.py [--keep FOLDER] [--page FILE…] XOFF [SCENARIO…]`: XOFF is the program; a scenario may have settings, as in
`deadlock,variant=cured`. Each FILE is a page that is there, such as that of a regression, and is looked at too. With
--keep the pages stay in the folder, with a picture of each at every width. Exit code 1: there are faults.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from playwright.sync_api import Error, sync_playwright

FAULTS = (Path(__file__).parent / "pictures.js").read_text()
KEPT = (Path(__file__).parent / "pictures_canvas.js").read_text()
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
# What the charts show, the texts of their time axes, and the times at their cursors.
DRAWN = "() => [...document.querySelectorAll('.uplot canvas')].map(canvas => canvas.toDataURL())"
TICKS = """() => [...document.querySelectorAll('.uplot canvas')].map(({ texts = [] }) => {
  const lowest = Math.max(...texts.map(text => text.bottom));
  return texts.filter(text => text.bottom > lowest - 8).map(text => text.text).join(" | ");
})"""
TIMES = "() => [...document.querySelectorAll('figure[data-chart] output.time')].map(output => output.textContent)"
WIDTHS = [1280, 390]
SCHEMES = ["light", "dark"]
# A4 less its margins.
PAPER = 718
MOST_BYTES = 2_000_000
MOST_SHEETS = {"deadlock": 4}
# A scenario whose page has a strip and thresholds in its charts.
WITH_STRIP = "deadlock"

# What has to be found in a page that is wrong on purpose, so that a check that sees nothing is not taken for a clean page.
PLANTED = """<!doctype html><style>body{margin:0;background:#fff;color:#000}@media (prefers-color-scheme:dark){
body{background:#111;color:#eee}}</style><p>good</p><p style="color:#888">pale text</p>
<p style="position:absolute;top:0;left:0">good too</p><p style="overflow:hidden;width:30px;white-space:nowrap">cut at its end</p>
<svg width="100" height="30"><text x="60" y="20">beyond the picture</text></svg><p style="width:1500px">wide</p>
<canvas width="200" height="60"></canvas><script>
const to = document.querySelector("canvas").getContext("2d");
to.fillText("an old text", 20, 20);
to.clearRect(0, 0, 200, 60);
to.fillStyle = "#888888";
to.fillText("pale drawing", 20, 20);
to.fillText("over it", 22, 22);
to.scale(2, 2);
to.fillText("drawn too far", 70, 25);
</script>"""
FOUND = ["contrast", "overlaps: 'good", "clipped: 'cut", "clipped: 'beyond", "scrolls sideways"]
FOUND += ["overlaps: 'pale drawing", "clipped: 'drawn too far"]
# A chart is wrong if the script of a page is changed so: what is found.
BROKEN = {
    "a stretch is not enlarged": ("[from, to] = a === undefined ? part : [a, b];\n    room", "room"),
    "double click does not go back": ("bind: { dblclick: () => () => tell() }", "bind: { dblclick: () => () => null }"),
    "the cursor stays in one chart": ('key: "stretch"', "key: String(given.number)"),
    "the strip does not move": ("if (held.what !== \"new\") return move(", "if (held.what !== \"new\") return Math.max("),
    "its end does not move": ("else tell(from, Math.min(end, Math.max(b, from + least)));", ""),
    "keys do not move it": ("else if (by) move(", "else if (by) Math.max("),
    "clipped": ("size: () => still().left", "size: () => 8"),
    "overlaps": ("i ? textAt[i - 1] + 14 : top + 9", "0"),
    "contrast": ('textAt[i], "right", pen.muted)', 'textAt[i], "right", "#999999")'),
    "script: ": ("const ends = (given", "const ends = (none, given"),
}


def built_in():
    listed = Path(__file__).parent.parent / "testbenches/scenarios"
    return sorted(file.stem for file in listed.glob("*.toml"))


def page_of(xoff, scenario, folder):
    """Runs a scenario, whose expectations may fail with other NICs than it names. Returns its page and the seconds that
    the run took."""
    began = time.monotonic()
    name, *settings = scenario.split(",")
    command = [xoff, "run", name, "--out", folder, "--checkpoints", "off", "--set", "host.nic=model"]
    for setting in settings:
        command += ["--set", setting]
    done = subprocess.run(command, capture_output=True, text=True)
    pages = list(Path(folder).glob("*/report.html"))
    if done.returncode > 1 or not pages:
        sys.exit(f"pictures: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return pages[0], time.monotonic() - began


class Browser:
    def __init__(self, playwright):
        # Root has no sandbox.
        self.chromium = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        contexts = {"viewport": {"width": WIDTHS[0], "height": 900}}
        self.page = self.chromium.new_page(**contexts)
        self.page.add_init_script(KEPT)
        self.page.set_default_timeout(5_000)
        self.errors = []
        self.page.on("pageerror", lambda error: self.errors.append(f"script: {error}"))

    def show(self, scheme, width, media="screen"):
        self.page.emulate_media(media=media, color_scheme=scheme)
        self.page.set_viewport_size({"width": width, "height": 900})
        self.settle()

    def settle(self):
        """Until what scripts do in the next frames is done."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))")

    def faults(self, scheme, width, media="screen"):
        self.show(scheme, width, media)
        return self.page.evaluate(FAULTS, {"scrolls": media == "screen"})

    def planted(self):
        self.page.goto("about:blank")
        self.page.set_content(PLANTED)
        for scheme in SCHEMES:
            found = self.faults(scheme, 390)
            missed = [what for what in FOUND if not any(fault.startswith(what) for fault in found)]
            if missed:
                sys.exit(f"pictures: faults that are there were not found: {missed} of {found}")

    def planted_in_charts(self, file):
        """Breaks the charts of a page that has a strip and thresholds in each way, which has to be found."""
        page = file.read_text()
        if found := self.drive(file, "deadlock", None):
            sys.exit(f"pictures: a page that was not changed has faults: {found}")
        for expected, (right, wrong) in BROKEN.items():
            if page.count(right) != 1:
                sys.exit(f"pictures: {right!r} is {page.count(right)} times in a page, so it cannot be broken")
            file.write_text(page.replace(right, wrong))
            found = self.drive(file, "deadlock", None, [390])
            if not any(expected in fault for fault in found):
                sys.exit(f"pictures: with {wrong!r} it was not found that {expected!r}, but {found}")
        file.write_text(page)

    def stretch(self):
        """What the charts show, as the page says it: nothing for what they show at first."""
        self.settle()
        return self.page.locator(".window output").inner_text()

    def drag(self, box, start, end, y=0.5):
        """Drags within a box, from one part of its width to another, in steps as a hand does."""
        height = box["y"] + box["height"] * y
        self.page.mouse.move(box["x"] + box["width"] * start, height)
        self.page.mouse.down()
        for step in range(1, 5):
            self.page.mouse.move(box["x"] + box["width"] * (start + (end - start) * step / 4), height)
        self.page.mouse.up()

    def drive(self, file, name, keep, widths=WIDTHS):
        """All faults of a page while its charts are enlarged and the strip is moved."""
        self.page.goto(file.resolve().as_uri())
        faults = []
        charts = self.page.locator(".charts figure[data-chart]").count()
        if charts != self.page.locator(".uplot").count():
            faults.append("charts: uPlot draws not all of them")
        elif charts:
            for width in widths:
                try:
                    found = self.drive_charts(name, width, keep) + self.drive_strip(name, width, keep)
                except Error as error:
                    found = [f"cannot be done: {error.message.splitlines()[0]}"]
                faults += [f"{width} pixels: {fault}" for fault in found]
        faults += self.errors
        self.errors.clear()
        return faults

    def drive_charts(self, name, width, keep):
        faults = []
        self.show("light", width)
        before, drawn = self.stretch(), self.page.evaluate(DRAWN)
        over = self.page.locator(".charts .u-over").first
        over.scroll_into_view_if_needed()
        self.drag(over.bounding_box(), 0.3, 0.6)
        if before or not self.stretch():
            faults.append(f"a stretch is not enlarged: '{before}', '{self.stretch()}'")
        enlarged = self.page.evaluate(DRAWN)
        if same := [chart for chart, (a, b) in enumerate(zip(drawn, enlarged)) if a == b]:
            faults.append(f"a stretch is not enlarged by charts {same}")
        if len(ticks := set(self.page.evaluate(TICKS))) != 1:
            faults.append(f"charts show different stretches: {ticks}")
        if "" in self.page.evaluate(TIMES):
            faults.append("the cursor stays in one chart")
        self.page.mouse.move(0, 0)
        faults += self.both_modes(f"{name}-enlarged", width, keep)
        over.scroll_into_view_if_needed()
        over.dblclick()
        self.page.mouse.move(0, 0)
        if self.stretch() or self.page.evaluate(DRAWN) != drawn:
            faults.append(f"double click does not go back: '{self.stretch()}'")
        return faults

    def drive_strip(self, name, width, keep):
        chosen = self.page.locator(".strip svg.chart:visible .grip.both")
        if not chosen.count():
            return []
        faults = []
        grip = lambda end: self.page.locator(f".strip svg.chart:visible .grip.{end}").bounding_box()

        def place():
            box = chosen.bounding_box()
            return box["x"], box["x"] + box["width"]

        chosen.scroll_into_view_if_needed()
        first = place()
        self.drag(chosen.bounding_box(), 0.5, 0.9)
        moved, said = place(), self.stretch()
        if not said or abs((moved[0] - first[0]) - (moved[1] - first[1])) > 1 or moved[0] <= first[0]:
            faults.append(f"the strip does not move: {first} to {moved}, '{said}'")
        self.drag(grip("to"), 0.8, 1.6)
        wider = place()
        if abs(wider[0] - moved[0]) > 1 or wider[1] <= moved[1]:
            faults.append(f"its end does not move: {moved} to {wider}")
        chosen.focus()
        before = self.stretch()
        for key in ["ArrowRight", "Shift+ArrowLeft"]:
            self.page.keyboard.press(key)
            if self.stretch() == before:
                faults.append(f"keys do not move it: {key}")
            before = self.stretch()
        faults += self.both_modes(f"{name}-strip", width, keep)
        self.page.keyboard.press("Escape")
        if self.stretch() or place() != first:
            faults.append(f"Escape does not go back: '{self.stretch()}'")
        self.page.keyboard.press("End")
        self.page.locator(".window button").click()
        if self.stretch():
            faults.append(f"the button does not go back: '{self.stretch()}'")
        return faults

    def both_modes(self, name, width, keep):
        """The faults of what is shown, light and dark."""
        faults = []
        for scheme in SCHEMES:
            faults += [f"{name}, {scheme}: {fault}" for fault in self.faults(scheme, width)]
            if keep:
                self.page.screenshot(path=keep / f"{name}-{scheme}-{width}.png", full_page=True)
        self.show("light", width)
        return faults

    def look(self, file, name, keep):
        """All faults of a page."""
        faults = []
        self.page.goto(file.resolve().as_uri())
        self.page.evaluate("document.querySelectorAll('details').forEach(part => part.open = false)")
        if keep:
            for scheme in SCHEMES:
                for width in WIDTHS:
                    self.show(scheme, width)
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
        faults += self.drive(file, name, keep)
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
    parser.add_argument("--page", type=Path, action="append", default=[])
    parser.add_argument("xoff")
    parser.add_argument("scenario", nargs="*", default=built_in())
    arguments = parser.parse_args()
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    bad = 0
    # By name: a page that is there, or none where a scenario is run for it.
    pages = dict.fromkeys(arguments.scenario) | {page.stem: page for page in arguments.page}
    # Scenarios run one after the other, while the pages of those before are looked at.
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as runs:
        def run(name):
            return runs.submit(page_of, arguments.xoff, name, Path(folder) / name)

        broken = run(WITH_STRIP)
        ran = {name: broken if name == WITH_STRIP else run(name) for name, page in pages.items() if not page}
        browser = Browser(playwright)
        browser.planted()
        browser.planted_in_charts(broken.result()[0])
        for name, page in pages.items():
            file, took = (page, 0) if page else ran[name].result()
            if arguments.keep:
                (arguments.keep / f"{name}.html").write_bytes(file.read_bytes())
            began = time.monotonic()
            faults, sheets, size = browser.look(file, name, arguments.keep)
            for fault in faults:
                print(f"  {name}: {fault}")
            bad += bool(faults)
            print(
                f"{name}: {len(faults)} faults, {sheets} sheets, {size / 1000:.0f} KB; "
                f"ran {took:.1f} s, looked {time.monotonic() - began:.1f} s",
                flush=True,
            )
        browser.chromium.close()
    print(f"pictures: {len(pages) - bad} passed, {bad} failed")
    sys.exit(bad > 0)


main()
