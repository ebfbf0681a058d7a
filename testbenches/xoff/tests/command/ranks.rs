//! Runs of several ranks, each a thread here: `tools/ranks.py` has them as processes, with MPI.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
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
        let outcome = outcome.map_err(|error| match error.downcast::<Agreed>() {
            Ok(agreed) => agreed.said.unwrap_or_default(),
            // One alone has nobody to agree with.
            Err(error) => error.to_string(),
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
    assert_eq!(commands.len(), 4);
    let out = tempfile::tempdir().unwrap();
    let mut first = None;
    for command in commands {
        let words: Vec<&str> = command.split(' ').collect();
        let ["mpirun", "-n", count, "xoff", ref arguments @ ..] = words[..] else {
            panic!("{command}")
        };
        let place = arguments.iter().position(|word| *word == "--out").unwrap() + 1;
        let folder = out.path().join(arguments[place]);
        let mut arguments = arguments.to_vec();
        arguments[place] = folder.to_str().unwrap();
        let said = ranks(&vec![&arguments[..]; count.parse().unwrap()]);
        assert_eq!(said[0].0, Ok(Outcome::Held), "{command}");
        let (printed, _) = said[0].1.split_once("; waited").unwrap();
        // Two ranks, from the start to the end.
        if count == "2" && !command.contains("--resume") {
            assert_eq!(printed.lines().last(), Some(shown), "{command}");
        }
        let came = results(&folder.join("onboarding"));
        assert_eq!(*first.get_or_insert(came.clone()), came, "{command}");
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
    let resume = ["run", "pair", "--resume", "--out", "none"];
    assert!(
        said(&resume, &resume).starts_with("--resume: no checkpoint of this scenario"),
        "{}",
        said(&resume, &resume)
    );
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

/// The files of results by name, without what tells of the run itself.
fn results(folder: &Path) -> BTreeMap<String, String> {
    let mut results = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name == "summary.json" {
            let mut summary: serde_json::Value =
                serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            assert_eq!(summary["state"], "finished");
            for of_the_run in ["wall_s", "exchange"] {
                summary.as_object_mut().unwrap().remove(of_the_run);
            }
            results.insert(name, summary.to_string());
        } else if name.ends_with(".csv") {
            results.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
    assert!(results.len() > 3, "{:?}", results.keys());
    results
}

/// A folder of results, with what is run there.
struct Runs<'a> {
    out: tempfile::TempDir,
    scenario: &'a str,
    arguments: &'a [&'a str],
}

impl<'a> Runs<'a> {
    fn of(scenario: &'a str, arguments: &'a [&'a str]) -> Self {
        Self {
            out: tempfile::tempdir().unwrap(),
            scenario,
            arguments,
        }
    }

    /// Runs it in so many ranks. Returns what the first came to and all said.
    fn run(&self, number: usize, more: &[&str]) -> (Result<Outcome, String>, String) {
        let out = self.out.path().to_str().unwrap();
        let all = [
            &["run", self.scenario],
            self.arguments,
            &["--out", out],
            more,
        ]
        .concat();
        let said = ranks(&vec![&all[..]; number]);
        (
            said[0].0.clone(),
            said.into_iter().map(|(_, said)| said).collect(),
        )
    }

    fn results(&self) -> BTreeMap<String, String> {
        results(&self.out.path().join(self.scenario))
    }

    /// The checkpoints, by time.
    fn lists(&self) -> Vec<PathBuf> {
        let all = self.out.path().join(".checkpoints");
        let folder = fs::read_dir(all).unwrap().next().unwrap().unwrap().path();
        let files = fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().path());
        let mut lists: Vec<PathBuf> = files
            .filter(|path| path.extension().unwrap() == "ckpt")
            .collect();
        lists.sort();
        lists
    }
}

/// How many windows ranks have run together, as they say.
fn windows(said: &str) -> Option<u64> {
    let (_, exchanged) = said.split_once(" ranks, ")?;
    let (windows, _) = exchanged.split_once(" windows")?;
    windows.replace(',', "").parse().ok()
}

/// Stages, an audit and model NICs; RTL NICs. What a run came to that was never stopped, ranks come to that go on from
/// a checkpoint, whatever their number and that of those that wrote it.
#[test]
#[ignore = "some seconds; make incidents"]
fn any_number_of_ranks_goes_on_from_a_checkpoint() {
    let model = ["--set", "variant=healthy"];
    let rtl = [
        "--set",
        "duration=120 us",
        "--set",
        "flows.bulk.message=8 KiB",
    ];
    for (scenario, arguments, every, at) in [
        ("onboarding", &model[..], "100us", "250us"),
        ("pair", &rtl[..], "50us", "60us"),
    ] {
        let runs = Runs::of(scenario, arguments);
        let held = Ok(Outcome::Held);
        assert_eq!(runs.run(1, &["--checkpoints", "off"]).0, held);
        let whole = runs.results();
        for wrote in [4, 1] {
            let runs = Runs::of(scenario, arguments);
            let every = ["--checkpoints", every];
            let (came, said) = runs.run(wrote, &every);
            assert_eq!(came, held, "{scenario}");
            let all = windows(&said).unwrap_or(u64::MAX);
            assert_eq!(
                runs.results(),
                whole,
                "{scenario}, {wrote} ranks with checkpoints"
            );
            let lists = runs.lists();
            assert!(lists.len() > 2, "{lists:?}");
            for list in &lists {
                let parts = fs::read_dir(list.with_extension("parts")).map_or(0, Iterator::count);
                assert_eq!(
                    parts,
                    if wrote == 1 { 0 } else { wrote },
                    "{}",
                    list.display()
                );
            }
            let resume = format!("--resume={at}");
            for goes_on in [4, 2, 1] {
                let (came, said) = runs.run(goes_on, &[&resume]);
                assert_eq!(came, held);
                assert_eq!(
                    runs.results(),
                    whole,
                    "{scenario}, {goes_on} of {wrote} ranks"
                );
                let part = windows(&said);
                assert!(part.is_none_or(|part| part < all), "{said}");
            }
        }
    }
}

/// A rank that has died leaves a checkpoint without a list, which is none.
#[test]
fn a_checkpoint_is_complete_or_not_there() {
    let runs = Runs::of(
        "pair",
        &["--set", "duration=120us", "--set", "host.nic=model"],
    );
    let (came, all) = runs.run(2, &["--checkpoints", "30us"]);
    came.unwrap();
    let whole = runs.results();
    let lists = runs.lists();
    for list in &lists[2..] {
        fs::remove_file(list).unwrap();
    }
    let (_, said) = runs.run(2, &["--resume", "--checkpoints", "30us"]);
    assert!(windows(&said) < windows(&all), "{said}");
    assert_eq!(runs.results(), whole);
    assert_eq!(runs.lists(), lists);
    // Parts without a list are removed when the next run takes a checkpoint.
    fs::remove_file(&lists[1]).unwrap();
    runs.run(2, &["--checkpoints", "100us"]).0.unwrap();
    assert!(!lists[1].with_extension("parts").exists());
    assert!(lists[0].with_extension("parts").exists());
}

/// What is wrong with a checkpoint is named, and what would be right.
#[test]
fn checkpoints_that_cannot_be_used_are_refused() {
    let runs = Runs::of(
        "pair",
        &["--set", "duration=120us", "--set", "host.nic=model"],
    );
    runs.run(2, &["--checkpoints", "40us"]).0.unwrap();
    let lists = runs.lists();
    let [first, second] = [&lists[0], &lists[1]];
    let part = |list: &Path, name: &str| list.with_extension("parts").join(name);
    let damaged = part(second, "1-of-2.part");
    let refused = |number, says: &[&str]| {
        let said = runs.run(number, &["--resume=90us"]).0.unwrap_err();
        let path = second.display().to_string();
        for says in [&[&path[..], "--resume=TIME with a time before 8"], says].concat() {
            assert!(said.contains(says), "{said}\ndoes not say {says}");
        }
    };
    let right = fs::read(&damaged).unwrap();
    let name = damaged.display().to_string();
    fs::remove_file(&damaged).unwrap();
    refused(2, &["part 1 of 2", &name, "is not there"]);
    refused(1, &["part 1 of 2", &name, "is not there"]);
    fs::write(&damaged, &right[..right.len() - 1]).unwrap();
    refused(2, &["part 1 of 2", &name, "it was cut or added to"]);
    fs::write(&damaged, &right[..20]).unwrap();
    refused(2, &[&name, "no checkpoint"]);
    fs::copy(part(first, "1-of-2.part"), &damaged).unwrap();
    refused(2, &[&name, "it has another name than when it was written"]);
    fs::copy(part(second, "0-of-2.part"), &damaged).unwrap();
    refused(2, &[&name, "is that of another checkpoint"]);
    let mut other_build = right.clone();
    other_build[8] ^= 1;
    fs::write(&damaged, &other_build).unwrap();
    refused(2, &[&name, "written by another build of xoff"]);
    let mut changed = right.clone();
    *changed.last_mut().unwrap() ^= 1;
    fs::write(&damaged, &changed).unwrap();
    refused(2, &[&name, "its checksum does not match"]);
    fs::write(&damaged, &right).unwrap();
    let list = fs::read(second).unwrap();
    fs::write(second, &list[..list.len() - 9]).unwrap();
    refused(2, &["it was cut or added to"]);
    // The one before is as it was, and so is this one again.
    runs.run(2, &["--resume=50us"]).0.unwrap();
    fs::write(second, &list).unwrap();
    runs.run(2, &["--resume=90us"]).0.unwrap();
    let early = runs.run(2, &["--resume=1us"]).0.unwrap_err();
    assert!(early.contains("the first checkpoint in"), "{early}");
    let off = runs
        .run(2, &["--resume", "--checkpoints", "off"])
        .0
        .unwrap_err();
    assert_eq!(off, "--resume: with --checkpoints off none is read");
    for list in &lists {
        let mut other_build = fs::read(list).unwrap();
        other_build[8] ^= 1;
        fs::write(list, other_build).unwrap();
    }
    let others = runs.run(2, &["--resume"]).0.unwrap_err();
    assert!(
        others.contains("were written by another build of xoff"),
        "{others}"
    );
}

/// A host with TCP is in no checkpoint, whichever rank has it, and the run goes on.
#[test]
fn a_rank_that_cannot_save_its_nodes_has_no_checkpoint() {
    let runs = Runs::of("latency", &["--set", "duration=300us"]);
    runs.run(2, &["--checkpoints", "100us"]).0.unwrap();
    assert_eq!(runs.lists(), Vec::<PathBuf>::new());
    let folder = fs::read_dir(runs.out.path().join(".checkpoints")).unwrap();
    let left: Vec<_> = folder
        .flat_map(|it| fs::read_dir(it.unwrap().path()).unwrap())
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
