//! Tests with real traffic: every frame of every capture goes through the RTL at both widths and through the reference.
//!
//! The captures are those in `captures/` and, if `XOFF_CAPTURES` names a folder, all captures in that folder.

use std::path::{Path, PathBuf};

use xoff_cosim::units::parser::{ParserTop, RtlParser};
use xoff_rtl::{PacketParser256, PacketParser512};
use xoff_sim::protocol;
use xoff_sim::wire::frame::ParsedFrame;
use xoff_waves::capture;

fn captures() -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures");
    let more = std::env::var_os("XOFF_CAPTURES").map(PathBuf::from);
    let mut paths: Vec<_> = [Some(own), more]
        .into_iter()
        .flatten()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "pcap"))
        .collect();
    paths.sort();
    paths
}

fn parsed<M: ParserTop>(frames: &[&[u8]]) -> Vec<ParsedFrame> {
    RtlParser::<M>::of_width(7).unwrap().parse(frames).unwrap()
}

#[test]
fn rtl_and_reference_agree_on_every_frame() {
    for path in captures() {
        let records = capture::open(&path).unwrap();
        let frames: Vec<_> = records.map(|record| record.unwrap().bytes).collect();
        let frames: Vec<&[u8]> = frames.iter().map(|bytes| &bytes[..]).collect();
        let expected: Vec<_> = frames.iter().map(|frame| protocol::parse(frame)).collect();
        for parsed in [
            parsed::<PacketParser256>(&frames),
            parsed::<PacketParser512>(&frames),
        ] {
            for (i, (parsed, expected)) in parsed.iter().zip(&expected).enumerate() {
                assert_eq!(parsed, expected, "{}, frame {}", path.display(), i + 1);
            }
            assert_eq!(parsed.len(), frames.len(), "{}", path.display());
        }
        // 15 frames of this capture were damaged in bytes that the ICRC covers; its excerpt has some of them.
        let bad = expected
            .iter()
            .filter(|frame| frame.icrc_ok == Some(false))
            .count();
        match path.file_stem().unwrap().to_str().unwrap() {
            "corrupt_bad_icrc_some" => assert_eq!(bad, 15),
            "corrupt_excerpt" => assert!(bad > 0),
            _ => assert_eq!(bad, 0, "{}", path.display()),
        }
    }
}
