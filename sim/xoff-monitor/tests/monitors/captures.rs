//! Linux's traffic: frames that were not damaged break no rule. If `XOFF_CAPTURES` names a folder, all of its
//! captures are judged, too.

use std::fs::File;
use std::path::{Path, PathBuf};

use pcap_file::pcap::PcapReader;
use xoff_monitor::{Monitor, Report, Rule, Sighting, Tap};
use xoff_sim::time::{Duration, Time};

fn captures() -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbenches/captures");
    let more = std::env::var_os("XOFF_CAPTURES").map(PathBuf::from);
    let folders = [Some(own), more].into_iter().flatten();
    let mut paths: Vec<_> = folders
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "pcap"))
        .collect();
    paths.sort();
    paths
}

fn watch(path: &Path) -> Report {
    let mut reader = PcapReader::new(File::open(path).unwrap()).unwrap();
    let mut monitor = Monitor::new();
    let tap = monitor.add_tap(Tap {
        resolution: Duration::from_us(1),
        ..Tap::new("")
    });
    let (mut number, mut begin) = (0, None);
    while let Some(packet) = reader.next_packet() {
        let packet = packet.unwrap();
        number += 1;
        let since = packet.timestamp - *begin.get_or_insert(packet.timestamp);
        let time = Time::from_ps(u64::try_from(since.as_nanos()).unwrap() * 1_000);
        let bytes = &packet.data;
        monitor.see(&Sighting {
            tap,
            number,
            time,
            direction: None,
            bytes,
            kept: bytes.len(),
            fcs_ok: true,
        });
    }
    monitor.into_report()
}

#[test]
fn nothing_in_real_traffic_that_was_not_damaged() {
    let mut wrong = Vec::new();
    for path in captures() {
        let report = watch(&path);
        let damaged = path
            .file_stem()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with("corrupt");
        println!(
            "{}: {} frames, {:?}",
            path.display(),
            report.frames,
            report.kinds
        );
        for remark in report.remarks.values() {
            println!(
                "  {} x{} from {}: {}",
                remark.remark, remark.count, remark.frame, remark.text
            );
        }
        for violation in &report.violations {
            println!("  {violation:?}");
        }
        if (report.violations_of(Rule::Icrc) > 0) != damaged
            || (report.violation_count() > 0) != damaged
        {
            wrong.push(path);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
