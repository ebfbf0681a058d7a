"""Reads rtl/units.toml, the list of units and tops; what its keys mean stands there.

`units.py lint [MODULE…]` prints the tops that are linted, a line each, with their parameters behind the module; of the
modules alone that are named. Needs only Python 3.11.
"""

import sys
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "rtl/units.toml"


def wrong(what):
    sys.exit(f"{LIST.relative_to(ROOT)}: {what}")


@dataclass
class Top:
    """A module with its parameters. `unit` is the name of its unit."""

    unit: str
    module: str
    params: str = ""
    synth: str = ""
    rust: str = ""
    mutants: bool = False
    gates: list = field(default_factory=list)

    def __post_init__(self):
        if self.synth not in ("", "map", "check"):
            wrong(f'{self}: synth = "{self.synth}"; it is "map" or "check"')
        if not all("=" in word for word in self.words):
            wrong(f'{self}: params = "{self.params}"; they are "Name=value Name=value"')
        if self.mutants and not self.rust:
            wrong(f"{self}: no property runs its mutants without a type in Rust; add `rust`")
        if len(files := list(ROOT.glob(f"rtl/*/{self.module}.sv"))) != 1:
            wrong(f"{self}: {len(files)} files rtl/*/{self.module}.sv, not one")
        self.source = files[0].relative_to(ROOT)

    def __str__(self):
        return f"{self.module} {self.params}".rstrip()

    @property
    def words(self):
        """Its parameters, each as Name=value."""
        return self.params.split()

    @property
    def room(self):
        """The folder of rtl/ that its module is in."""
        return self.source.parent.name


@dataclass
class Proof:
    """A wrapper in formal/ with sets of parameters, each a list of Name=value."""

    unit: str
    name: str
    wrapper: str = ""
    params: list = field(default_factory=lambda: [""])

    def __post_init__(self):
        self.wrapper = self.wrapper or f"{self.name}_proof"
        self.sets = [words.split() for words in self.params]
        if not (ROOT / f"formal/{self.wrapper}.sv").is_file():
            wrong(f"proof {self.name}: no formal/{self.wrapper}.sv")


@dataclass
class Unit:
    """Tops and proofs that belong together, and the property that judges them: `cases` is 0 without one."""

    name: str
    fuzz: str = ""
    cases: int = 0
    cost: int = 0
    coverage: bool = True
    crate: str = "xoff-rtl-units"
    tops: list = field(default_factory=list)
    proofs: list = field(default_factory=list)

    @property
    def covered(self):
        """Its tops whose lines and toggles `make coverage` counts, by their names in Rust."""
        return [top.rust for top in self.tops if top.rust] if self.coverage and self.cases else []


def made(kind, keys, **more):
    """An object of a class, with the keys of a table as its fields."""
    known = {key.name: key.type for key in fields(kind) if key.name not in more}
    first = next(iter(known))
    if first not in keys:
        wrong(f"{keys} has no `{first}`")
    for key, value in keys.items():
        if key not in known:
            wrong(f"{keys[first]}: no key '{key}'; the keys are {', '.join(known)}")
        if type(value) is not known[key]:
            wrong(f"{keys[first]}: {key} = {value!r}; it is a {known[key].__name__}")
    return kind(**keys, **more)


def once(what, names):
    for name in names:
        if names.count(name) > 1:
            wrong(f"{what} '{name}' stands there {names.count(name)} times")


def units():
    """All units, in the order of the list."""
    try:
        tables = tomllib.loads(LIST.read_text())["unit"]
    except tomllib.TOMLDecodeError as error:
        wrong(error)
    found = []
    for table in tables:
        unit = made(Unit, table)
        unit.tops = [made(Top, keys, unit=unit.name) for keys in unit.tops]
        unit.proofs = [made(Proof, keys, unit=unit.name) for keys in unit.proofs]
        if bool(unit.fuzz) != bool(unit.cases):
            wrong(f"{unit.name}: a unit with a property has both `fuzz` and `cases`")
        found.append(unit)
    of_all = [top for unit in found for top in unit.tops]
    once("unit", [unit.name for unit in found])
    once("top", [str(top) for top in of_all])
    once("type", [top.rust for top in of_all if top.rust])
    once("proof", [proof.name for unit in found for proof in unit.proofs])
    return found


def tops():
    """The tops of all units."""
    return [top for unit in units() for top in unit.tops]


def of_modules(names):
    """The tops of these modules, or all if none is named."""
    known = tops()
    for name in names:
        if not any(top.module == name for top in known):
            wrong(f"no top '{name}'; there are {', '.join(dict.fromkeys(top.module for top in known))}")
    return [top for top in known if not names or top.module in names]


if __name__ == "__main__":
    if sys.argv[1:2] != ["lint"]:
        sys.exit("units: usage: units.py lint [MODULE…]")
    print(*of_modules(sys.argv[2:]), sep="\n")
