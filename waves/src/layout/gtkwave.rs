//! GTKWave's save file: flags in hexadecimal, followed by the traces that they apply to; and its start file in Tcl.

use std::fmt::Write;

use super::{Format, Found, FoundSignal};

// Flags of a trace, `analyzer.h` of GTKWave.
const HEX: u64 = 1 << 1;
const DECIMAL: u64 = 1 << 2;
const BINARY: u64 = 1 << 3;
const RIGHT: u64 = 1 << 5;
const BLANK: u64 = 1 << 9;
const ANALOG_STEP: u64 = 1 << 15;
const ANALOG_STRETCH: u64 = 1 << 17;
const GROUP_BEGIN: u64 = 1 << 23;
const GROUP_END: u64 = 1 << 24;
/// Shows the names from the file's own table of the signal's enum.
const ENUM: u64 = 1 << 32;
/// The zoom level: 200 pixels show 2^-ZOOM of the file's time steps, which are 1 ps. So a cycle of 5 ns has eight
/// pixels.
const ZOOM: f64 = -17.0;
/// The part of the window's time before a marker, in picoseconds: about half of what fits into the window.
const BEFORE_MARKER: u64 = 400_000;
/// The height of stairs in rows, including the signal's own row.
const STAIRS_ROWS: usize = 3;

/// Returns the save file. GTKWave looks for the wave file beside it.
pub(super) fn save_file(found: &Found) -> String {
    let mut text = format!("[dumpfile] \"{}\"\n", found.file);
    // The zoom is followed by the time of the primary marker, -1 for none.
    match &found.marker {
        None => text += &format!("*{ZOOM:.6} -1\n"),
        Some(marker) => {
            let start = marker.time_ps.saturating_sub(BEFORE_MARKER);
            text += &format!("[timestart] {start}\n*{ZOOM:.6} {}\n", marker.time_ps);
        }
    }
    text += "[size] 1600 1000\n[pos] 0 0\n[signals_width] 280\n[sst_width] 200\n";
    let flags = |text: &mut String, flags: u64| writeln!(text, "@{flags:x}").expect("a string");
    for (name, signals) in &found.groups {
        flags(&mut text, GROUP_BEGIN | BLANK);
        text += &format!("-{name}\n");
        for signal in signals {
            flags(&mut text, trace_flags(signal));
            text += &format!("{}{}\n", signal.path, signal.range);
            if signal.format == Format::Stairs && !signal.named {
                for _ in 1..STAIRS_ROWS {
                    flags(&mut text, ANALOG_STRETCH);
                    text += "-\n";
                }
            }
        }
        flags(&mut text, GROUP_END | BLANK);
        text += &format!("-{name}\n");
    }
    text
}

/// Returns the start file, with which GTKWave opens at the marker (`gtkwave -S`), or at the beginning without one. The
/// time in the save file alone does not do it: GTKWave zooms after it has taken that time.
pub(super) fn start_file(found: &Found) -> String {
    let mut text = format!("gtkwave::setZoomFactor {ZOOM}\n");
    if let Some(marker) = &found.marker {
        let start = marker.time_ps.saturating_sub(BEFORE_MARKER);
        text += &format!("gtkwave::setMarker {}\n", marker.time_ps);
        text += &format!("gtkwave::setWindowStartTime {start}\n");
    }
    text
}

fn trace_flags(signal: &FoundSignal) -> u64 {
    RIGHT
        | match signal.format {
            _ if signal.named => ENUM,
            Format::Hex => HEX,
            Format::Unsigned => DECIMAL,
            Format::Binary => BINARY,
            Format::Stairs => DECIMAL | ANALOG_STEP,
        }
}
