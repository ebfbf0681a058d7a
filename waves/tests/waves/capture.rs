//! Captures: written files can be read, other variants of the formats can be read, and any fault gives one clear
//! error.

use proptest::prelude::*;
use xoff_sim::kernel::Direction;
use xoff_sim::protocol::parse;
use xoff_waves::capture::{
    Error, Link, NoFrame, PcapWriter, PcapngWriter, Problem, Reader, Record, open,
};

/// Returns all whole records, and the error that ended the reading.
fn read(file: &[u8]) -> (Vec<Record>, Option<Error>) {
    let mut records = Vec::new();
    match Reader::new("test", file) {
        Err(error) => (records, Some(error)),
        Ok(reader) => {
            for record in reader {
                match record {
                    Ok(record) => records.push(record),
                    Err(error) => return (records, Some(error)),
                }
            }
            (records, None)
        }
    }
}

fn message(file: &[u8]) -> String {
    read(file).1.expect("an error").to_string()
}

/// A variant of classic pcap: byte order and unit of time.
#[derive(Debug, Clone, Copy)]
struct Classic {
    big_endian: bool,
    nanoseconds: bool,
}

impl Classic {
    fn word(self, value: u32) -> [u8; 4] {
        if self.big_endian {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    fn half(self, value: u16) -> [u8; 2] {
        if self.big_endian {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    fn header(self, link_type: u32) -> Vec<u8> {
        let mut file = self
            .word(if self.nanoseconds {
                0xa1b2_3c4d
            } else {
                0xa1b2_c3d4
            })
            .to_vec();
        file.extend(self.half(2));
        file.extend(self.half(4));
        for word in [0, 0, 65_535, link_type] {
            file.extend(self.word(word));
        }
        file
    }

    fn record(self, seconds: u32, fraction: u32, captured: &[u8], original: u32) -> Vec<u8> {
        let words = [seconds, fraction, captured.len() as u32, original];
        words
            .into_iter()
            .flat_map(|word| self.word(word))
            .chain(captured.iter().copied())
            .collect()
    }
}

const PLAIN: Classic = Classic {
    big_endian: false,
    nanoseconds: false,
};

/// Returns a pcapng block in the byte order of `form`.
fn block(form: Classic, kind: u32, content: &[u8]) -> Vec<u8> {
    let padded = content.len().next_multiple_of(4);
    let length = 12 + padded as u32;
    let mut block = [form.word(kind), form.word(length)].concat();
    block.extend(content);
    block.resize(8 + padded, 0);
    block.extend(form.word(length));
    block
}

fn section(form: Classic) -> Vec<u8> {
    let mut content = form.word(0x1a2b_3c4d).to_vec();
    content.extend(form.half(1));
    content.extend(form.half(0));
    content.extend([0xff; 8]);
    block(form, 0x0a0d_0d0a, &content)
}

fn interface(form: Classic, link_type: u16, snap: u32, options: &[(u16, &[u8])]) -> Vec<u8> {
    let mut content = [form.half(link_type), form.half(0)].concat();
    content.extend(form.word(snap));
    for (code, value) in options {
        content.extend(form.half(*code));
        content.extend(form.half(value.len() as u16));
        content.extend(*value);
        content.resize(content.len().next_multiple_of(4), 0);
    }
    if !options.is_empty() {
        content.extend([0; 4]);
    }
    block(form, 1, &content)
}

fn enhanced(form: Classic, interface: u32, ticks: u64, captured: &[u8], original: u32) -> Vec<u8> {
    let words = [
        interface,
        (ticks >> 32) as u32,
        ticks as u32,
        captured.len() as u32,
        original,
    ];
    let mut content = words.map(|word| form.word(word)).concat();
    content.extend(captured);
    block(form, 6, &content)
}

fn simple(form: Classic, original: u32, captured: &[u8]) -> Vec<u8> {
    let mut content = form.word(original).to_vec();
    content.extend(captured);
    block(form, 3, &content)
}

/// Frames with times that both formats can hold.
fn frames() -> impl Strategy<Value = Vec<(u64, Vec<u8>)>> {
    let time = 0..=u64::from(u32::MAX) * 1_000_000_000;
    let frame = prop::collection::vec(any::<u8>(), 0..200);
    prop::collection::vec((time, frame), 0..6)
}

fn classic_file(frames: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut writer = PcapWriter::new(Vec::new()).unwrap();
    for (time, frame) in frames {
        writer.write(*time, frame).unwrap();
    }
    writer.into_inner()
}

fn pcapng_file(frames: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut writer = PcapngWriter::new(Vec::new(), ["nic0", "nic1", "nic2"]).unwrap();
    for (index, (time, frame)) in frames.iter().enumerate() {
        writer.write(index as u32 % 3, *time, frame).unwrap();
    }
    writer.into_inner()
}

/// For each possible length of a cut `file`, checks that all whole records are returned, followed by a clean end if
/// the cut is between two records, or by one error about the cut.
fn check_every_truncation(file: &[u8], record_bytes: fn(usize) -> usize) {
    let (all, error) = read(file);
    assert!(error.is_none(), "{error:?}");
    for length in 0..file.len() {
        let (records, error) = read(&file[..length]);
        assert_eq!(records, all[..records.len()]);
        let first_missing = all.get(records.len());
        assert!(
            first_missing
                .is_none_or(|next| next.offset as usize + record_bytes(next.bytes.len()) > length),
            "{} of {} records at {length} bytes",
            records.len(),
            all.len()
        );
        match error {
            None => {}
            Some(Error::At {
                problem: Problem::Empty,
                ..
            }) => assert_eq!(length, 0),
            Some(Error::At {
                offset,
                problem: Problem::Truncated { have, need, .. },
                ..
            }) => {
                assert_eq!(
                    offset + have,
                    length as u64,
                    "the cut is where the file ends"
                );
                assert!(need > have);
            }
            Some(other) => panic!("at {length}: {other}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn pcap_round_trip(frames in frames()) {
        let (records, error) = read(&classic_file(&frames));
        prop_assert!(error.is_none());
        prop_assert_eq!(records.len(), frames.len());
        for (index, (record, (time, frame))) in records.iter().zip(&frames).enumerate() {
            prop_assert_eq!(record.number, index as u64 + 1);
            prop_assert_eq!((record.time_ns, &record.bytes, record.interface), (*time, frame, 0));
        }
    }

    #[test]
    fn pcapng_round_trip(frames in frames()) {
        let (records, error) = read(&pcapng_file(&frames));
        prop_assert!(error.is_none());
        prop_assert_eq!(records.len(), frames.len());
        for (index, (record, (time, frame))) in records.iter().zip(&frames).enumerate() {
            prop_assert_eq!((record.time_ns, &record.bytes, record.interface), (*time, frame, index % 3));
        }
    }

    #[test]
    fn a_truncated_file_keeps_its_whole_records(frames in frames()) {
        check_every_truncation(&classic_file(&frames), |frame| 16 + frame);
        check_every_truncation(&pcapng_file(&frames), |frame| 32 + frame.next_multiple_of(4));
    }

    #[test]
    fn damaged_files_never_panic(frames in frames(), damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        for mut file in [classic_file(&frames), pcapng_file(&frames)] {
            for (index, value) in &damage {
                let at = index.index(file.len());
                file[at] = *value;
            }
            let (records, error) = read(&file);
            // Every record before the failing one is counted, and the message is one line.
            if let Some(error) = error {
                prop_assert!(!error.to_string().contains('\n'));
                if let Error::At { record: Some(number), .. } = error {
                    prop_assert_eq!(number, records.len() as u64 + 1);
                }
            }
        }
    }

    #[test]
    fn noise_behind_a_magic_never_panics(magic in 0..5_usize, noise in prop::collection::vec(any::<u8>(), 0..300)) {
        let magic = [[0xd4, 0xc3, 0xb2, 0xa1], [0xa1, 0xb2, 0xc3, 0xd4], [0x4d, 0x3c, 0xb2, 0xa1], [0xa1, 0xb2, 0x3c, 0x4d], [10, 13, 13, 10]][magic];
        read(&[&magic[..], &noise].concat());
        read(&[&section(PLAIN)[..], &interface(PLAIN, 1, 0, &[]), &noise].concat());
    }
}

#[test]
fn both_byte_orders_and_both_units_of_time() {
    for big_endian in [false, true] {
        for nanoseconds in [false, true] {
            let form = Classic {
                big_endian,
                nanoseconds,
            };
            let file = [form.header(1), form.record(3, 7, &[1, 2, 3], 3)].concat();
            let (records, error) = read(&file);
            assert!(error.is_none());
            let time_ns = 3_000_000_000 + if nanoseconds { 7 } else { 7_000 };
            assert_eq!(
                records,
                [Record {
                    number: 1,
                    time_ns,
                    bytes: vec![1, 2, 3],
                    length: 3,
                    link_type: 1,
                    link: Link::Ethernet,
                    offset: 24,
                    interface: 0,
                    direction: None,
                    fcs_ok: true,
                    tunnels: Vec::new(),
                    line: None,
                }]
            );
        }
    }
}

#[test]
fn several_sections_interfaces_and_resolutions() {
    let big = Classic {
        big_endian: true,
        ..PLAIN
    };
    let file = [
        section(PLAIN),
        interface(PLAIN, 1, 0, &[(2, b"left"), (9, &[9])]),
        interface(
            PLAIN,
            1,
            0,
            &[(9, &[0x80 | 10]), (14, &100_i64.to_le_bytes())],
        ),
        enhanced(PLAIN, 0, 5, b"first", 5),
        // A block of unknown type is skipped.
        block(PLAIN, 0x7777, b"whatever"),
        enhanced(PLAIN, 1, 512, b"second", 6),
        section(big),
        interface(big, 1, 0, &[(2, b"right"), (14, &2_i64.to_be_bytes())]),
        enhanced(big, 0, 1, b"third", 5),
        simple(big, 6, b"fourth"),
    ]
    .concat();
    let mut reader = Reader::new("test", file.as_slice()).unwrap();
    let records: Vec<Record> = reader.by_ref().map(Result::unwrap).collect();
    let short: Vec<_> = records
        .iter()
        .map(|record| (record.time_ns, record.interface, record.bytes.as_slice()))
        .collect();
    assert_eq!(
        short,
        [
            (5, 0, &b"first"[..]),
            (100_500_000_000, 1, b"second"),
            (2_000_001_000, 2, b"third"),
            (0, 2, b"fourth")
        ]
    );
    let names: Vec<_> = reader
        .interfaces()
        .iter()
        .map(|interface| interface.name.as_deref())
        .collect();
    assert_eq!(names, [Some("left"), None, Some("right")]);
    assert_eq!(reader.offset(), file.len() as u64);
}

#[test]
fn an_fcs_that_the_file_declares_is_cut_off() {
    let file = [
        section(PLAIN),
        interface(PLAIN, 1, 0, &[(13, &[4])]),
        enhanced(PLAIN, 0, 0, b"frame+FCS", 9),
    ]
    .concat();
    assert_eq!(read(&file).0[0].bytes, b"frame");
    let file = [
        PLAIN.header(1 | 1 << 26 | 2 << 28),
        PLAIN.record(0, 0, b"frame+FCS", 9),
    ]
    .concat();
    assert_eq!(read(&file).0[0].bytes, b"frame");
}

#[test]
fn records_of_other_links_are_no_frames_and_do_not_end_the_reading() {
    let file = [
        section(PLAIN),
        interface(PLAIN, 1, 0, &[]),
        interface(PLAIN, 247, 0, &[]),
        enhanced(PLAIN, 0, 0, b"good", 4),
        enhanced(PLAIN, 1, 0, b"bad", 3),
        enhanced(PLAIN, 0, 0, b"again", 5),
    ]
    .concat();
    let (records, error) = read(&file);
    assert!(error.is_none(), "{error:?}");
    let frames: Vec<_> = records.iter().map(Record::frame).collect();
    let link_type = 247;
    assert_eq!(
        frames,
        [
            Ok(&b"good"[..]),
            Err(NoFrame::Link { link_type }),
            Ok(b"again")
        ]
    );
    assert_eq!(
        frames[1].unwrap_err().to_string(),
        "a packet of link type 247 (InfiniBand), without the header of an Ethernet frame"
    );
    assert_eq!((records[1].link, records[1].filled()), (Link::Other, None));
}

/// The packet behind a header of another link is read as behind an Ethernet header.
#[test]
fn packets_of_other_links_are_read_as_those_of_ethernet() {
    let frame = open("../testbenches/captures/loss_mtu256_all_ops.pcap")
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .bytes;
    let whole = parse(&frame);
    let packet = &frame[14..];
    let v1 = [0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0];
    let v2 = [8, 0, 0, 0, 0, 0, 0, 7, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0];
    let tagged = [&v1[..14], &[0x81, 0, 0x60, 5, 8, 0]].concat();
    for (link_type, header, direction) in [
        (101, &[][..], None),
        (228, &[], None),
        (113, &v1, Some(Direction::Sent)),
        (113, &tagged, Some(Direction::Sent)),
        (276, &v2, Some(Direction::Received)),
    ] {
        let bytes = [header, packet].concat();
        let length = bytes.len() as u32;
        let file = [PLAIN.header(link_type), PLAIN.record(0, 0, &bytes, length)].concat();
        let record = read(&file).0.remove(0);
        assert_eq!(record.direction, direction);
        assert_eq!(record.length, bytes.len());
        assert_eq!(record.frame(), Err(NoFrame::Link { link_type }));
        let filled = record.filled().unwrap();
        assert!(!filled.addressed);
        let parsed = parse(&filled.bytes);
        assert_eq!(
            (parsed.ip, parsed.bth, parsed.ext, parsed.icrc_ok),
            (whole.ip, whole.bth, whole.ext, whole.icrc_ok)
        );
        let tag = parsed
            .eth
            .unwrap()
            .tags
            .first()
            .map(|tag| (tag.pcp, tag.vid));
        assert_eq!(
            tag,
            (header.len() == 20 && link_type == 113).then_some((3, 5))
        );
    }
}

/// A capture of several devices has an interface for each of them.
#[test]
fn each_device_of_a_cooked_capture_is_an_interface() {
    let packet = |device: u8| {
        let mut header = [
            8, 0, 0, 0, 0, 0, 0, device, 0, 1, 4, 6, 2, 0, 0, 0, 0, 1, 0, 0,
        ];
        header[10] = 4;
        header
    };
    let record = |device| PLAIN.record(0, 0, &packet(device), 20);
    let file = [PLAIN.header(276), record(2), record(7), record(2)].concat();
    let mut reader = Reader::new("test", &file[..]).unwrap();
    let of: Vec<usize> = (reader.by_ref())
        .map(|record| record.unwrap().interface)
        .collect();
    let names: Vec<_> = (reader.interfaces().iter())
        .map(|interface| interface.name.as_deref().unwrap())
        .collect();
    assert_eq!((&of[..], &names[..]), (&[0, 1, 0][..], &["if2", "if7"][..]));
}

#[test]
fn frames_that_are_cut_or_too_long_are_records() {
    let start = [section(PLAIN), interface(PLAIN, 1, 64, &[])].concat();
    for (file, kept, length) in [
        (
            [PLAIN.header(1), PLAIN.record(0, 0, &[0; 96], 1_082)].concat(),
            96,
            1_082,
        ),
        (
            [&start[..], &enhanced(PLAIN, 0, 0, &[0; 96], 97)].concat(),
            96,
            97,
        ),
        ([&start[..], &simple(PLAIN, 65, &[0; 64])].concat(), 64, 65),
    ] {
        let (records, error) = read(&file);
        assert!(error.is_none(), "{error:?}");
        assert!(records[0].is_cut());
        assert_eq!(records[0].frame(), Err(NoFrame::Cut { kept, length }));
        let filled = records[0].filled().unwrap();
        assert_eq!((filled.kept, filled.bytes.len()), (kept, length));
    }
    for (bytes, long) in [(16_000, false), (16_001, true), (70_000, true)] {
        let frame = vec![0; bytes];
        let length = bytes as u32;
        for file in [
            [PLAIN.header(1), PLAIN.record(0, 0, &frame, length)].concat(),
            [
                section(PLAIN),
                interface(PLAIN, 1, 0, &[]),
                enhanced(PLAIN, 0, 0, &frame, length),
            ]
            .concat(),
        ] {
            let (records, error) = read(&file);
            assert!(error.is_none(), "{error:?}");
            assert_eq!(records[0].is_too_long(), long, "{bytes}");
            assert_eq!(records[0].filled().is_none(), long);
        }
    }
    // The reader does not wait for a length that is clearly wrong.
    let mut damaged = [PLAIN.header(1), PLAIN.record(0, 0, &[0; 60], 60)].concat();
    damaged[35] = 0xff;
    assert!(message(&damaged).contains("262144 is the most"));
}

#[test]
fn files_that_are_no_captures() {
    assert_eq!(
        message(b""),
        "test, byte 0: the file is empty; a capture starts with a file header"
    );
    assert!(
        message(b"{\"frame\":1}").contains(
            "not a packet capture: it starts with 7b 22 66 72 (text); a pcap starts with"
        )
    );
    assert_eq!(
        message(&[0xd4, 0xc3]),
        "test, byte 0: the file ends inside the file header: 2 of 24 bytes are there"
    );

    let error = open("no/such/file.pcap").err().unwrap().to_string();
    assert!(
        error.starts_with("no/such/file.pcap: cannot be opened: No such file"),
        "{error}"
    );

    let mut old = PLAIN.header(1);
    old[4] = 1;
    assert_eq!(
        message(&old),
        "test, byte 0: pcap version 1.4; versions 2.x can be read"
    );
}

#[test]
fn blocks_that_contradict_themselves() {
    let start = [section(PLAIN), interface(PLAIN, 1, 0, &[])].concat();
    let with = |block: Vec<u8>| message(&[start.clone(), block].concat());
    let good = enhanced(PLAIN, 0, 0, b"frame", 5);

    let mut odd = good.clone();
    odd[4] += 1;
    assert!(
        with(odd)
            .contains("a block of type 0x00000006 and length 41: block lengths are multiples of 4")
    );
    let mut tail = good.clone();
    *tail.last_mut().unwrap() = 1;
    assert!(with(tail).contains("the length at its end is another"));
    let mut captured = good.clone();
    captured[20] = 200;
    captured[24] = 200;
    assert!(with(captured).contains("its content does not fit into it"));
    assert!(
        with(enhanced(PLAIN, 7, 0, b"frame", 5))
            .contains("a frame of interface 7, but the section has described 1 so far")
    );
    let obsolete = [[0; 12].as_slice(), &200_u32.to_le_bytes(), &[0; 16]].concat();
    assert!(with(block(PLAIN, 2, &obsolete)).contains("the frame does not fit into it"));
    assert!(with(block(PLAIN, 2, &[0; 4])).contains("the frame does not fit into it"));
    assert!(with(interface(PLAIN, 1, 0, &[(9, &[20])])).contains("time resolution 0x14"));
    assert!(message(&[section(PLAIN), good].concat()).contains("described 0 so far"));
    let far = [
        section(PLAIN),
        interface(PLAIN, 1, 0, &[(9, &[0])]),
        enhanced(PLAIN, 0, u64::MAX, b"frame", 5),
    ]
    .concat();
    assert!(message(&far).contains("outside of the years 1970 to 2554"));
}

/// The packet block of old drafts: interface, drops, time, both lengths, the frame.
#[test]
fn obsolete_packet_blocks_are_read() {
    let big = Classic {
        big_endian: true,
        ..PLAIN
    };
    for form in [PLAIN, big] {
        let halves = [form.half(0), form.half(9)].concat();
        let words = [0, 7, 5, 64].map(|word| form.word(word)).concat();
        let content = [&halves[..], &words, b"frame"].concat();
        let file = [
            section(form),
            interface(form, 1, 0, &[]),
            block(form, 2, &content),
        ]
        .concat();
        let (records, error) = read(&file);
        assert!(error.is_none(), "{error:?}");
        let record = &records[0];
        assert_eq!(
            (record.time_ns, &record.bytes[..], record.length),
            (7_000, &b"frame"[..], 64)
        );
    }
}

#[test]
fn reading_ends_after_an_error() {
    let file = [PLAIN.header(1), vec![1; 5]].concat();
    let mut reader = Reader::new("test", file.as_slice()).unwrap();
    assert!(reader.next().unwrap().is_err());
    assert!(reader.next().is_none());
}

/// A cut frame is filled up with zeros, without the FCS.
#[test]
fn cut_frames_keep_their_length() {
    let bytes = [
        PLAIN.header(1),
        PLAIN.record(0, 0, &[7; 96], 1_082),
        PLAIN.record(0, 0, &[9; 64], 64),
    ]
    .concat();
    let records = read(&bytes).0;
    let filled = records[0].filled().unwrap();
    assert_eq!((filled.kept, filled.bytes.len()), (96, 1_082));
    assert!(filled.bytes[..96].iter().all(|byte| *byte == 7));
    assert!(filled.bytes[96..].iter().all(|byte| *byte == 0));
    assert_eq!(records[1].filled().unwrap().kept, 64);
}
