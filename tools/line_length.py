"""Lists comments and pages with lines of more than 120 characters. Tables of Markdown and lines with a link are exempt."""

import re
import subprocess
import sys

LIMIT = 120
COMMENT = {".rs": "//", ".sv": "//", ".cpp": "//", ".h": "//", ".toml": "#", ".py": "#", ".sh": "#", ".md": ""}

names = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard", "-z"], text=True).split("\0")
long = []
for name in filter(None, names):
    ending = name[name.rfind(".") :]
    if ending not in COMMENT:
        continue
    pattern = re.compile(r"\s*" + COMMENT[ending])
    table = re.compile(r"\s*(//[/!]?|#)?\s*\|")
    with open(name, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\n")
            exempt = table.match(line) or "https://" in line
            if len(line) > LIMIT and pattern.match(line) and not exempt:
                long.append(f"{name}:{number}: {len(line)} characters; at most {LIMIT}")
print("\n".join(long))
sys.exit(bool(long))
