//! Runs of several ranks, each a thread here: `tools/ranks.py` has them as processes, with MPI.

use std::fs;
use std::sync::{Arc, Mutex};

use xoff::Outcome;
use xoff::ranks::{Agreed, Ranks};
use xoff_sim::kernel::{Channels, Exchange};

use crate::common::{Said, run_on};

/// Runs the command in one rank for each list of arguments. Returns what the ranks said, in their order.
fn ranks(arguments: &[&[&str]]) -> Vec<(Result<Outcome, String>, String)> {
    Channels::run(arguments.len() as u32, |way| {
        let arguments = arguments[way.part() as usize];
        let ranks = Ranks::on(Arc::new(Mutex::new(way)));
        let arguments = match arguments.contains(&"--threads") {
            true => arguments.to_vec(),
            false => [arguments, &["--threads", "1"]].concat(),
        };
        let Said { outcome, out, err } = run_on(&crate::program(), &ranks, &arguments, None, false);
        let outcome = outcome.map_err(|error| {
            let agreed = error.downcast::<Agreed>().expect("all ranks agree");
            agreed.said.unwrap_or_default()
        });
        (outcome, out + &err)
    })
}

#[test]
fn one_rank_writes_and_prints_what_one_alone_does() {
    let out = tempfile::tempdir().unwrap();
    let folder = |name: &str| out.path().join(name).to_str().unwrap().to_owned();
    let [alone, two] = ["alone", "two"].map(folder);
    let arguments = |folder| {
        let set = ["--set", "duration=200us", "--set", "host.nic=model"];
        let sweep = [
            "--sweep",
            "seed=1,2",
            "--checkpoints",
            "off",
            "--out",
            folder,
        ];
        [&["run", "pair"], &set[..], &sweep[..]].concat()
    };
    let [alone_said, two_said] = [
        ranks(&[&arguments(&alone)]),
        ranks(&[&arguments(&two), &arguments(&two)]),
    ];
    assert_eq!(two_said[0].0, alone_said[0].0);
    assert_eq!(two_said[1], (Ok(Outcome::Held), String::new()));
    let count = |text: &str| two_said[0].1.matches(text).count();
    assert_eq!((count("exchange: 2 ranks"), count("report: ")), (2, 3));
    for seed in [1, 2] {
        let series =
            |folder: &str| std::fs::read(format!("{folder}/pair,seed={seed}/series.csv")).unwrap();
        assert_eq!(series(&alone), series(&two));
    }
}

/// The commands that docs/ranks.md has for `mpirun`, with ranks that are threads. What they exchange is what the page
/// says, but for the time that they wait. `make mpi` runs them with MPI.
#[test]
fn the_commands_of_the_page_exchange_what_it_says() {
    let page = fs::read_to_string(crate::common::file("../docs/ranks.md")).unwrap();
    let said = page.lines().find(|line| line.starts_with("  exchange: "));
    let (shown, _) = said.unwrap().split_once("; waited").unwrap();
    let commands: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("mpirun "))
        .collect();
    assert_eq!(commands.len(), 2);
    for command in commands {
        let words: Vec<&str> = command.split(' ').collect();
        let ["mpirun", "-n", count, "xoff", ref arguments @ ..] = words[..] else {
            panic!("{command}")
        };
        let out = tempfile::tempdir().unwrap();
        let folder = out.path().to_str().unwrap();
        let mut arguments = arguments.to_vec();
        let place = arguments.iter().position(|word| *word == "--out").unwrap() + 1;
        arguments[place] = folder;
        let said = ranks(&vec![&arguments[..]; count.parse().unwrap()]);
        assert_eq!(said[0].0, Ok(Outcome::Held), "{command}");
        let (printed, _) = said[0].1.split_once("; waited").unwrap();
        assert_eq!(printed.lines().last(), Some(shown), "{command}");
    }
}

/// What is wrong is said once, with the rank if it is wrong in some alone.
#[test]
fn what_is_wrong_is_said_by_one_rank() {
    let said = |first: &[&str], second: &[&str]| {
        let said = ranks(&[first, second]);
        assert_eq!(said[1].0, Err(String::new()));
        said[0].0.clone().unwrap_err()
    };
    let waves = ["run", "pair", "--waves", "fabric"];
    assert_eq!(
        said(&waves, &waves),
        "--waves: not in a run of 2 ranks: one rank comes to the same result, and has it"
    );
    let every = ["run", "pair", "--checkpoints", "1ms"];
    assert!(said(&every, &every).starts_with("--checkpoints: not in a run of 2 ranks"));
    let input = ["run", "-"];
    assert!(said(&input, &input).starts_with("-: all ranks read the scenario"));
    let model = ["run", "pair", "--set", "host.nic=model"];
    let elsewhere = said(&model, &["run", "nobody"]);
    assert!(
        elsewhere.starts_with("rank 1 of 2: scenario 'nobody'"),
        "{elsewhere}"
    );
}

/// Without MPI each rank would run the whole network, and write the same files.
#[cfg(not(feature = "mpi"))]
#[test]
fn a_program_without_mpi_refuses_to_be_one_of_several_ranks() {
    let output = crate::common::xoff()
        .args(["run", "pair"])
        .env("OMPI_COMM_WORLD_SIZE", "4")
        .assert()
        .code(2);
    let said = String::from_utf8(output.get_output().stderr.clone()).unwrap();
    assert!(
        said.starts_with("xoff: OMPI_COMM_WORLD_SIZE=4: started as one of 4 ranks"),
        "{said}"
    );
}
