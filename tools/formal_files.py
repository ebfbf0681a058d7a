"""The proofs and gates that rtl/units.toml lists, with what formal/proofs.toml and formal/gates.toml say of each."""

import sys
import tomllib

from units import ROOT, tops, units


def read(name):
    return tomllib.loads((ROOT / "formal" / name).read_text())


def both(file, what, listed, described):
    """Ends the program if one is in rtl/units.toml alone or in the file alone."""
    for name in listed:
        if name not in described:
            sys.exit(f"rtl/units.toml has the {what} {name}, and formal/{file} does not")
    for name in described:
        if name not in listed:
            sys.exit(f"formal/{file} has the {what} {name}, and rtl/units.toml does not")


def proofs():
    """All proofs: as they are listed, and their tables."""
    tables = read("proofs.toml")
    listed = {proof.name: proof for unit in units() for proof in unit.proofs}
    both("proofs.toml", "proof", listed, tables)
    return [(proof, tables[name]) for name, proof in listed.items()]


def gates():
    """The rows of formal/gates.toml by kind, each with its top as it is listed."""
    kinds = read("gates.toml")
    listed = {f"{top.module}.{gate}": top for top in tops() for gate in top.gates}
    name = lambda row: f"{row['top']}.{row['gate']}"
    both("gates.toml", "gate", listed, {name(row) for row in kinds["gate"]})
    if unlisted := {name(row) for row in kinds["spare"]} - set(listed):
        sys.exit(f"formal/gates.toml has spare terms of {', '.join(sorted(unlisted))}, and rtl/units.toml no such gate")
    return {kind: [{**row, "parameters": listed[name(row)].words} for row in rows] for kind, rows in kinds.items()}
