//! Linux's traffic: frames that were not damaged break no rule. If `XOFF_CAPTURES` names a folder, all of its
//! captures are judged, too.

use std::fs::File;
use std::path::{Path, PathBuf};

use pcap_file::pcap::PcapReader;
use xoff_monitor::{Monitor, Report, Rule, Sighting, Tap};
use xoff_sim::kernel::Direction;
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

/// A frame of a capture.
#[derive(Clone)]
pub struct Frame {
    pub number: u64,
    pub time: Time,
    pub bytes: Vec<u8>,
}

/// The frames of a pcap.
pub fn frames(path: &Path) -> Vec<Frame> {
    let mut reader = PcapReader::new(File::open(path).unwrap()).unwrap();
    let (mut frames, mut begin) = (Vec::new(), None);
    while let Some(packet) = reader.next_packet() {
        let packet = packet.unwrap();
        let since = packet.timestamp - *begin.get_or_insert(packet.timestamp);
        frames.push(Frame {
            number: frames.len() as u64 + 1,
            time: Time::from_ps(u64::try_from(since.as_nanos()).unwrap() * 1_000),
            bytes: packet.data.to_vec(),
        });
    }
    frames
}

/// Watches frames, at a port of which nothing is known, or at the own port of the host whose MAC address
/// ends with this byte.
pub fn watch_frames(frames: &[Frame], host: Option<u8>) -> Report {
    let mut monitor = Monitor::new();
    let tap = monitor.add_tap(Tap {
        host: host.is_some(),
        resolution: Duration::from_us(1),
        ..Tap::new("")
    });
    for Frame {
        number,
        time,
        bytes,
    } in frames
    {
        let sent = |host| match bytes[11] == host {
            true => Direction::Sent,
            false => Direction::Received,
        };
        monitor.see(&Sighting {
            tap,
            number: *number,
            time: *time,
            direction: host.map(sent),
            bytes,
            line: None,
            kept: bytes.len(),
            addressed: true,
            fcs_ok: true,
        });
    }
    monitor.into_report()
}

#[test]
fn nothing_in_real_traffic_that_was_not_damaged() {
    let mut wrong = Vec::new();
    for path in captures() {
        let report = watch_frames(&frames(&path), None);
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

/// Nothing was lost on the link where most were recorded, so that it is as good as either host's own port.
#[test]
fn nothing_at_the_ports_of_the_hosts() {
    let lost = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with("loss") || name.starts_with("corrupt")
    };
    for path in captures().into_iter().filter(|path| !lost(path)) {
        for host in [1, 2] {
            let report = watch_frames(&frames(&path), Some(host));
            assert_eq!(report.violations, [], "{} at host {host}", path.display());
        }
    }
}
