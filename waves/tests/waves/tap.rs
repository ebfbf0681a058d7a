//! Captures of taps: the reader reads what the kernel saw, and a file is whole at every moment.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use proptest::prelude::*;
use xoff_sim::frame::Frame;
use xoff_sim::kernel::{Direction, NodeId, PortId, Record};
use xoff_sim::time::{LineRate, Time};
use xoff_waves::capture::{Reader, TapPort, TapWriter};

fn port(node: u32, port: u16) -> TapPort {
    TapPort {
        node: NodeId(node),
        port: PortId(port),
        name: format!("n{node}.{port}"),
        rate: Some(LineRate::G40),
    }
}

fn seen(
    (node, port): (u32, u16),
    direction: Direction,
    end_ps: u64,
    bytes: Vec<u8>,
    fcs_ok: bool,
) -> Record {
    Record {
        node: NodeId(node),
        port: PortId(port),
        direction,
        frame: Frame {
            bytes: bytes.into(),
            fcs_ok,
            start: Time::ZERO,
            end: Time::from_ps(end_ps),
        },
    }
}

const PORTS: [(u32, u16); 3] = [(0, 0), (3, 0), (3, 7)];

fn records() -> impl Strategy<Value = Vec<Record>> {
    let record = (
        prop::sample::select(&PORTS[..]),
        prop_oneof![Just(Direction::Received), Just(Direction::Sent)],
        0..1_000_000_000_000_u64,
        prop::collection::vec(any::<u8>(), 0..300),
        prop::bool::weighted(0.8),
    )
        .prop_map(|(at, way, end, bytes, ok)| seen(at, way, end, bytes, ok));
    prop::collection::vec(record, 0..40)
}

fn ports() -> impl Iterator<Item = TapPort> {
    PORTS.into_iter().map(|(node, number)| port(node, number))
}

/// A file that can be read while it is written.
#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads everything in the file. Panics if it does not end with a whole block.
fn read(file: &[u8]) -> (Vec<xoff_waves::capture::Record>, Vec<String>) {
    let mut reader = Reader::new("test", file).unwrap();
    let records = reader.by_ref().collect::<Result<_, _>>().unwrap();
    let names = (reader.interfaces().iter())
        .map(|interface| interface.name.clone().unwrap())
        .collect();
    (records, names)
}

proptest! {
    #[test]
    fn what_the_taps_saw_is_read_back(records in records()) {
        let file = Shared::default();
        let mut writer = TapWriter::new(file.clone(), ports()).unwrap();
        for record in &records {
            writer.write(record).unwrap();
        }
        prop_assert_eq!(writer.written(), records.len() as u64);
        drop(writer);
        let (read, names) = read(&file.0.borrow());
        if !records.is_empty() {
            prop_assert_eq!(&names, &["n0.0", "n3.0", "n3.7"]);
        }
        prop_assert_eq!(read.len(), records.len());
        for (read, record) in read.iter().zip(&records) {
            let at = PORTS[read.interface];
            prop_assert_eq!((NodeId(at.0), PortId(at.1)), (record.node, record.port));
            prop_assert_eq!(read.direction, Some(record.direction));
            prop_assert_eq!(read.fcs_ok, record.frame.fcs_ok);
            prop_assert_eq!(read.time_ns, record.frame.end.as_ps() / 1_000);
            prop_assert_eq!(&read.bytes[..], &record.frame.bytes.whole()[..]);
        }
    }
}

#[test]
fn the_file_is_whole_at_every_moment() {
    let file = Shared::default();
    let mut writer = TapWriter::new(file.clone(), ports()).unwrap();
    let mut sizes = Vec::new();
    for index in 0..400_u64 {
        let frame = vec![0xab; 60 + (index as usize * 37) % 1_000];
        let record = seen(PORTS[0], Direction::Sent, index * 1_000_000, frame, true);
        writer.write(&record).unwrap();
        let there = read(&file.0.borrow()).0.len();
        if sizes.last() != Some(&there) {
            sizes.push(there);
        }
    }
    // It grew in several portions, and the last one did not wait for the end.
    assert!(sizes.len() > 2 && sizes.last() > Some(&200), "{sizes:?}");
    writer.flush().unwrap();
    assert_eq!(read(&file.0.borrow()).0.len(), 400);
}

#[test]
fn a_limit_leaves_the_rest_out_and_counts_it() {
    let file = Shared::default();
    let mut writer = TapWriter::new(file.clone(), ports())
        .unwrap()
        .with_limit(10_000);
    for index in 0..100 {
        // The last frame would fit again.
        let bytes = if index == 99 { 60 } else { 1_000 };
        let record = seen(PORTS[1], Direction::Sent, index, vec![0; bytes], false);
        writer.write(&record).unwrap();
    }
    assert_eq!((writer.written(), writer.left_out()), (9, 91));
    drop(writer);
    assert!(file.0.borrow().len() < 10_400);
    assert_eq!(read(&file.0.borrow()).0.len(), 9);
}

#[test]
fn a_port_without_a_name_is_refused() {
    let mut writer = TapWriter::new(Vec::new(), ports()).unwrap();
    let record = seen((9, 1), Direction::Sent, 0, vec![0; 60], true);
    let error = writer.write(&record).unwrap_err();
    assert_eq!(
        error.to_string(),
        "node 9 port 1 is tapped, but is no interface of the capture"
    );
}
