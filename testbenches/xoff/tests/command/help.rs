//! Help fits on 80 columns, and its examples are commands.

use clap::{CommandFactory, Parser};
use xoff::cli::Cli;

use crate::common::{help, said};

#[test]
fn help_fits_and_its_examples_are_commands() {
    let verify = ["fuzz", "replay", "cover", "regress"];
    let command = Cli::command();
    let names = command.get_subcommands().map(|command| command.get_name());
    let mut examples = 0;
    for name in names.filter(|name| !verify.contains(name)) {
        let (_, commands) = help(&[name]);
        for words in commands {
            let parsed = Cli::try_parse_from(&words);
            assert!(parsed.is_ok(), "{words:?}: {}", parsed.unwrap_err());
            examples += 1;
        }
    }
    assert!(examples > 35, "{examples} examples");
    for name in ["headroom", "pfc", "ecn", "dcqcn", "mtt"] {
        help(&["calc", name]);
    }
}

#[test]
fn shells_complete() {
    for shell in ["bash", "zsh", "fish"] {
        let (script, _) = said(&["completions", shell], [], 0);
        assert!(script.contains("wave-when"), "{shell}");
    }
}
