//! Directed cases that random tests rarely find: every length, every cut, the rare carries of a checksum. Also
//! instances that run side by side.

use verilated::{Model, Settings};
use xoff_cosim::units::beat;
use xoff_cosim::units::builder::{BuilderTop, RtlBuilder, Willing};
use xoff_cosim::units::parser::{ParserTop, RtlParser};
use xoff_rtl::packet_parser256::{In, Out};
use xoff_rtl::{PacketBuilder256, PacketBuilder512, PacketParser256, PacketParser512};
use xoff_sim::protocol::{self, Content, Descriptor, IpFields, RocePacket};
use xoff_sim::wire::frame::{IpKind, Verdict};
use xoff_sim::wire::{BthRepr, ExtHeaders, MacAddr, Opcode, Psn, Qpn};
use xoff_strategies::pattern;

/// Builds a SEND over IPv4 with `payload` bytes of payload.
fn send(payload: usize) -> Descriptor {
    Descriptor {
        dst: MacAddr([0x52, 0x54, 0, 0, 0, 2]),
        src: MacAddr([0x52, 0x54, 0, 0, 0, 1]),
        tags: Vec::new(),
        content: Content::Roce(RocePacket {
            ip: IpFields {
                kind: IpKind::V4,
                traffic_class: 26 << 2 | 2,
                flow_label: 0,
                id: 0,
                flags: 0b010,
                hop_limit: 64,
                src: 0xC000_0201,
                dst: 0xC000_0202,
            },
            udp_src_port: Some(0xC123),
            bth: BthRepr {
                opcode: Opcode::RC_SEND_ONLY,
                pkey: 0xFFFF,
                dest_qp: Qpn::new(0x11).unwrap(),
                psn: Psn::wrapping(payload as u32),
                ..BthRepr::default()
            },
            ext: ExtHeaders::default(),
            payload: pattern(payload as u16, payload),
        }),
    }
}

fn with_id(id: u16) -> Descriptor {
    let mut packet = send(0);
    if let Content::Roce(roce) = &mut packet.content {
        roce.ip.id = id;
    }
    packet
}

fn parses_as_the_reference<M: ParserTop>(frames: &[Vec<u8>]) {
    let frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
    let parsed = RtlParser::<M>::of_width(1).unwrap().parse(&frames).unwrap();
    for (frame, parsed) in frames.iter().zip(&parsed) {
        assert_eq!(*parsed, protocol::parse(frame));
    }
    assert_eq!(parsed.len(), frames.len());
}

fn on_both_widths(frames: &[Vec<u8>]) {
    parses_as_the_reference::<PacketParser256>(frames);
    parses_as_the_reference::<PacketParser512>(frames);
}

#[test]
fn every_length_back_to_back() {
    // 58 bytes of headers and ICRC: frames of 60 (padded) to 1,600 bytes, and of 9,000, a beat in every cycle.
    let mut frames: Vec<_> = (0..=1_542)
        .map(|payload| send(payload).build().unwrap())
        .collect();
    frames.push(send(8_940).build().unwrap());
    on_both_widths(&frames);
}

#[test]
fn smallest_frames_at_one_beat_a_cycle() {
    let frames = vec![send(0).build().unwrap(); 2_000];
    on_both_widths(&frames);
    let runts: Vec<_> = (1..=64)
        .cycle()
        .take(2_000)
        .map(|bytes| frames[0].repeat(2)[..bytes].to_vec())
        .collect();
    on_both_widths(&runts);
}

#[test]
fn cut_at_every_byte() {
    let whole = send(300).build().unwrap();
    let cut: Vec<_> = (1..whole.len())
        .map(|bytes| whole[..bytes].to_vec())
        .collect();
    on_both_widths(&cut);
    // A cut within the Ethernet padding does not matter: the packet is complete with its 58 bytes.
    assert!(
        cut.iter()
            .all(|frame| protocol::parse(frame).verdict == Verdict::Malformed)
    );
}

#[test]
fn longest_frames() {
    let frames: Vec<_> = [15_999, 16_000]
        .map(|bytes| {
            let mut frame = send(bytes - 100).build().unwrap();
            frame.resize(bytes, 0x5A);
            frame
        })
        .to_vec();
    on_both_widths(&frames);
}

/// The one's complement sum folds twice only for a few headers in 65,536.
#[test]
fn every_ipv4_checksum() {
    let packets: Vec<_> = (0..=u16::MAX).map(with_id).collect();
    let frames: Vec<_> = packets
        .iter()
        .map(|packet| packet.build().unwrap())
        .collect();
    parses_as_the_reference::<PacketParser256>(&frames);
    let built = RtlBuilder::<PacketBuilder256>::of_width(1)
        .unwrap()
        .build(&packets)
        .unwrap();
    assert!(built == frames);
}

fn smallest_frames_leave_at_line_rate<M: BuilderTop>() {
    let packets = vec![send(0); 500];
    let (frames, cycles) = RtlBuilder::<M>::of_width(1)
        .unwrap()
        .build_with_stalls(&packets, || Willing::ALL)
        .unwrap();
    let beats: usize = frames
        .iter()
        .map(|frame| frame.len().div_ceil(M::BEAT))
        .sum();
    assert_eq!(cycles, beats as u64);
}

#[test]
fn builder_wastes_no_cycle() {
    smallest_frames_leave_at_line_rate::<PacketBuilder256>();
    smallest_frames_leave_at_line_rate::<PacketBuilder512>();
}

/// Returns the beats of some frames, with idle cycles.
fn stimulus(seed: u16) -> Vec<In> {
    let frame = send(usize::from(seed % 700)).build().unwrap();
    let last = (frame.len() - 1) / 32;
    let beats = frame.chunks(32).enumerate().map(|(b, bytes)| {
        let mut pins = In {
            rx_valid_i: 1,
            rx_last_i: u8::from(b == last),
            rx_bytes_i: bytes.len() as u8,
            ..In::default()
        };
        beat::put(&mut pins.rx_data_i, bytes);
        pins
    });
    let reset = In {
        rst_i: 1,
        ..In::default()
    };
    std::iter::once(reset)
        .chain(beats)
        .chain([In::default(); 12])
        .collect()
}

fn outputs(model: &mut PacketParser256, stimulus: &[In]) -> Vec<Out> {
    let cycle = |pins: &In| {
        let mut out = Out::default();
        model.cycle(pins, &mut out).unwrap();
        out
    };
    stimulus.iter().map(cycle).collect()
}

#[test]
fn two_hundred_instances_on_two_threads() {
    let run = |i: u16| {
        let settings = Settings::new(format!("parser{i}")).seed(u64::from(i) % 7);
        outputs(&mut PacketParser256::new(&settings).unwrap(), &stimulus(i))
    };
    let one_after_another: Vec<_> = (0..200).map(run).collect();
    let side_by_side: Vec<_> = std::thread::scope(|scope| {
        let halves =
            [0..100, 100..200].map(|half| scope.spawn(move || half.map(run).collect::<Vec<_>>()));
        halves
            .into_iter()
            .flat_map(|half| half.join().unwrap())
            .collect()
    });
    assert!(one_after_another == side_by_side);
}

#[test]
fn save_run_restore_run() {
    let mut model = PacketParser256::new(&Settings::new("parser").seed(3)).unwrap();
    let stimulus = stimulus(600);
    // In the middle of a frame.
    outputs(&mut model, &stimulus[..9]);
    let saved = model.save().unwrap();
    let first = outputs(&mut model, &stimulus[9..]);
    model.restore(&saved).unwrap();
    assert!(outputs(&mut model, &stimulus[9..]) == first);
    // Into another instance, too.
    let mut other = PacketParser256::new(&Settings::new("other").seed(99)).unwrap();
    Model::restore(&mut other, &saved).unwrap();
    assert!(outputs(&mut other, &stimulus[9..]) == first);
}
