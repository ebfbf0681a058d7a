"""Checks that the broken copies of the RTL can be made of the RTL as it is now.

The proofs (formal/proofs.toml, formal/gates.toml) break their copies by replacing a line that they quote, which has to
occur once; the planted bugs (tools/planted) are patches, which have to apply. Making the copies and running them takes
many minutes; this takes none, so `make check` does it. Needs only Python 3.11 and git.
"""

import subprocess
import sys

from formal_files import gates, proofs
from units import ROOT


def quotes():
    """Yields where a line is quoted, the file under rtl/ and the line."""
    for proof, row in proofs():
        for label, file, line, _ in row["broken"]:
            yield f"formal/proofs.toml: {proof.name}, {label}", file, line
    for row in gates()["gate"]:
        file, line, _ = row["broken"]
        yield f"formal/gates.toml: {row['top']}.{row['gate']}", file, line


def main():
    wrong = []
    for place, file, line in quotes():
        found = (ROOT / "rtl" / file).read_text().count(line)
        if found != 1:
            wrong.append(f"{place}: rtl/{file} has {found} times, not once: {line}")
    for patch in sorted((ROOT / "tools/planted").glob("*.patch")):
        done = subprocess.run(["git", "apply", "--check", str(patch)], cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            wrong.append(f"{patch.relative_to(ROOT)}: does not apply to rtl/ as it is now\n{done.stderr.rstrip()}")
    if wrong:
        sys.exit("\n".join(wrong))


main()
