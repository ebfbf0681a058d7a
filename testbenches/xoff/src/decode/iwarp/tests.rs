use serde_json::{Value, json};

use super::*;

const THERE: (u8, u8) = (1, 2);
const BACK: (u8, u8) = (2, 1);
/// The first sequence numbers of the two streams behind their start-up frames; the first wraps after 300 bytes.
const FIRST: u32 = 0u32.wrapping_sub(300);

/// A frame of a segment between the hosts 10.0.0.`from` and 10.0.0.`to`.
fn frame((from, to): (u8, u8), seq: u32, flags: u8, data: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from, 8, 0];
    let length = (40 + data.len()) as u16;
    frame.extend(
        [
            &[0x45, 0][..],
            &length.to_be_bytes(),
            &[0, 0, 0x40, 0, 64, 6, 0, 0],
        ]
        .concat(),
    );
    frame.extend([10, 0, 0, from, 10, 0, 0, to, 0x90, from, 0x90, to]);
    frame.extend(
        [
            &seq.to_be_bytes()[..],
            &[0, 0, 0, 0, 0x50, flags, 2, 0, 0, 0, 0, 0],
        ]
        .concat(),
    );
    frame.extend(data);
    frame.resize(frame.len().max(60), 0);
    frame
}

impl Iwarp {
    fn see(&mut self, way: (u8, u8), seq: u32, data: &[u8]) -> Vec<Value> {
        self.see_cut(way, seq, data, usize::MAX)
    }

    fn see_cut(&mut self, way: (u8, u8), seq: u32, data: &[u8], kept: usize) -> Vec<Value> {
        let frame = frame(way, seq, 0x18, data);
        let segment = Segment::of(&frame, frame.len()).unwrap();
        let ends = [way.0, way.1].map(u128::from);
        let parts = self.follow(ends, &segment, &frame, kept.min(frame.len()));
        let values = parts.iter().map(|part| serde_json::to_value(part).unwrap());
        values.collect()
    }

    /// Both start-up frames, with their flags.
    fn begun(request: u8, reply: u8) -> Self {
        let mut iwarp = Self::default();
        let frame = |key: &[u8], flags| [key, &[flags, 1, 0, 0]].concat();
        let request = frame(b"MPA ID Req Frame", request);
        let reply = frame(b"MPA ID Rep Frame", reply);
        assert_eq!(iwarp.see(THERE, FIRST.wrapping_sub(20), &request).len(), 1);
        assert_eq!(iwarp.see(BACK, FIRST.wrapping_sub(20), &reply).len(), 1);
        iwarp
    }
}

/// A Write of so many bytes, padded, with its CRC.
fn write(offset: u8, bytes: usize) -> Vec<u8> {
    let header = [0xC1, 0x40, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, offset];
    let mut pdu = ((header.len() + bytes) as u16).to_be_bytes().to_vec();
    pdu.extend(header);
    pdu.resize(pdu.len() + bytes, 0xA5);
    pdu.resize(pdu.len().next_multiple_of(4), 0);
    let crc = crc32c::crc32c(&pdu);
    pdu.extend(crc.to_le_bytes());
    pdu
}

fn offsets(parts: &[Value]) -> Vec<u64> {
    let offset = |part: &Value| u64::from_str_radix(&part["to"].as_str().unwrap()[2..], 16);
    parts.iter().map(|part| offset(part).unwrap()).collect()
}

/// RFC 3720, appendix B.4: the CRC of 32 bytes of zeros is sent as aa 36 91 8a.
#[test]
fn the_crc_is_that_of_iscsi() {
    assert_eq!(
        crc32c::crc32c(&[0; 32]).to_le_bytes(),
        [0xaa, 0x36, 0x91, 0x8a]
    );
}

#[test]
fn a_pdu_is_known_by_its_crc() {
    let mut iwarp = Iwarp::default();
    let mut bytes = write(9, 5);
    let pdu = json!({
        "opcode": 0, "name": "Write", "last": true, "stag": 7, "to": "0x0000000000000009", "payload_bytes": 5,
        "crc_ok": true
    });
    assert_eq!(iwarp.see(THERE, 1, &bytes), [pdu]);
    // From now on it is known where they begin, so a wrong CRC is no reason to doubt.
    bytes[18] ^= 1;
    let wrong = iwarp.see(THERE, 1 + bytes.len() as u32, &bytes);
    assert_eq!(wrong[0]["crc_ok"], json!(false));
    // Not in another stream.
    assert_eq!(iwarp.see(BACK, 1, &bytes), [] as [Value; 0]);
    assert_eq!(iwarp.streams.len(), 1);
    // What the ports belong to next is something else.
    let open = frame(THERE, 77, 0x02, &[]);
    let segment = Segment::of(&open, open.len()).unwrap();
    assert_eq!(iwarp.follow([1, 2], &segment, &open, open.len()), []);
    assert_eq!(iwarp.streams.len(), 0);
}

/// Each PDU is shown once, with the segment in which it ends, wherever segments begin and whatever comes twice.
#[test]
fn pdus_and_segments_need_not_agree() {
    let stream: Vec<u8> = (0..40)
        .flat_map(|place| write(place, usize::from(place) * 3))
        .collect();
    for size in [1, 2, 3, 19, 64, 100, 1460] {
        let mut iwarp = Iwarp::begun(0x40, 0);
        let mut parts = Vec::new();
        for (place, data) in stream.chunks(size).enumerate() {
            let seq = FIRST.wrapping_add((place * size) as u32);
            parts.extend(iwarp.see(THERE, seq, data));
            assert_eq!(iwarp.see(THERE, seq, data), [] as [Value; 0], "again");
        }
        assert_eq!(
            offsets(&parts),
            Vec::from_iter(0..40),
            "segments of {size} bytes"
        );
        assert!(parts.iter().all(|part| part["crc_ok"] == json!(true)));
    }
}

#[test]
fn behind_a_gap_a_stream_is_found_again() {
    let mut iwarp = Iwarp::begun(0x40, 0);
    let one = write(1, 30);
    let size = one.len() as u32;
    assert_eq!(offsets(&iwarp.see(THERE, FIRST, &one)), [1]);
    // The second was lost at the tap. The third begins in the middle of a segment, the fourth with one.
    let third = [&one[7..], &write(3, 30)].concat();
    assert_eq!(
        iwarp.see(THERE, FIRST.wrapping_add(size + 7), &third),
        [] as [Value; 0]
    );
    assert_eq!(
        offsets(&iwarp.see(THERE, FIRST.wrapping_add(3 * size), &write(4, 30))),
        [4]
    );
    // A retransmission that has new bytes, too.
    let more = [write(4, 30), write(5, 30)].concat();
    assert_eq!(
        offsets(&iwarp.see(THERE, FIRST.wrapping_add(3 * size), &more)),
        [5]
    );
}

/// RFC 5044 §4.3: markers are where the other end wants them, at multiples of 512 bytes from the first PDU on, and are
/// in the CRC and not in the length.
#[test]
fn markers_are_left_out() {
    // The third marker stands before the CRC.
    let content = write(3, 1000);
    let (protected, _) = content.split_at(content.len() - 4);
    let marker = [0, 0, 0xBE, 0xEF];
    let mut marked = [
        &marker,
        &protected[..508],
        &marker,
        &protected[508..],
        &marker,
    ]
    .concat();
    assert_eq!(marked.len(), 1024 + 4);
    let crc = crc32c::crc32c(&marked);
    marked.extend(crc.to_le_bytes());
    // The end that opened the connection wants them, the other one does not.
    let mut iwarp = Iwarp::begun(0xC0, 0x40);
    let parts = iwarp.see(BACK, FIRST, &marked);
    assert_eq!(offsets(&parts), [3]);
    assert_eq!(
        (&parts[0]["payload_bytes"], &parts[0]["crc_ok"]),
        (&json!(1000), &json!(true))
    );
    assert_eq!(offsets(&iwarp.see(THERE, FIRST, &content)), [3]);
    let mut other = Iwarp::begun(0x40, 0xC0);
    assert_eq!(offsets(&other.see(THERE, FIRST, &marked)), [3]);
    // Without them nobody reads the length there.
    assert_eq!(other.see(BACK, FIRST, &marked), [] as [Value; 0]);
}

/// RFC 5044 §7.1: where no end wants CRCs, they are not judged.
#[test]
fn a_crc_that_nobody_wants_is_not_judged() {
    let mut bytes = write(2, 8);
    let end = bytes.len();
    bytes[end - 4..].fill(0);
    let parts = Iwarp::begun(0, 0).see(THERE, FIRST, &bytes);
    assert_eq!((offsets(&parts), parts[0].get("crc_ok")), (vec![2], None));
    for mut iwarp in [Iwarp::begun(0x40, 0), Iwarp::begun(0, 0x40)] {
        assert_eq!(iwarp.see(THERE, FIRST, &bytes)[0]["crc_ok"], json!(false));
        assert_eq!(iwarp.see(BACK, FIRST, &bytes)[0]["crc_ok"], json!(false));
    }
}

#[test]
fn of_cut_segments_the_headers_are_shown() {
    let mut iwarp = Iwarp::begun(0x40, 0);
    let data = [write(1, 400), write(2, 400)].concat();
    // Ethernet, IP and TCP are 54 bytes, the length 2, the header 14.
    let parts = iwarp.see_cut(THERE, FIRST, &data, 70);
    assert_eq!((offsets(&parts), parts[0].get("crc_ok")), (vec![1], None));
    // Where the next one ends was not recorded, nor is there a CRC to find the one behind it.
    let next = FIRST.wrapping_add(data.len() as u32);
    assert_eq!(iwarp.see_cut(THERE, next, &data, 70), [] as [Value; 0]);
    assert_eq!(offsets(&iwarp.see(THERE, next, &data)), [1, 2]);
    let mut iwarp = Iwarp::begun(0x40, 0);
    assert_eq!(iwarp.see_cut(THERE, FIRST, &data, 69), [] as [Value; 0]);
}

#[test]
fn what_is_no_pdu_is_none() {
    let sound = write(1, 8);
    // Other versions, an opcode that is not assigned, a length that no header fits into, and the keys of HTTP.
    for (place, byte) in [(2, 0xC2), (3, 0x80), (3, 0x4C), (1, 13)] {
        let mut bytes = sound.clone();
        bytes[place] = byte;
        let crc = crc32c::crc32c(&bytes[..bytes.len() - 4]).to_le_bytes();
        let at = bytes.len() - 4;
        bytes[at..].copy_from_slice(&crc);
        let mut iwarp = Iwarp::begun(0x40, 0);
        assert_eq!(iwarp.see(THERE, FIRST, &bytes), [] as [Value; 0], "{place}");
        assert_eq!(Iwarp::default().see(THERE, FIRST, &bytes), [] as [Value; 0]);
    }
    let text = b"GET / HTTP/1.1\r\nHost: example\r\n\r\n";
    let mut iwarp = Iwarp::default();
    assert_eq!(iwarp.see(THERE, 5, text), [] as [Value; 0]);
    assert_eq!(iwarp.streams.len(), 0);
    // More private data than an end may send.
    let start = [b"MPA ID Req Frame", &[0, 1, 2, 1][..]].concat();
    assert_eq!(iwarp.see(THERE, 5, &start), [] as [Value; 0]);
}
