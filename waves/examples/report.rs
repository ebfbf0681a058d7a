//! Writes pages about invented runs, to see what reports look like:
//! `cargo run -p xoff-waves --example report -- FOLDER`.

#[path = "../tests/waves/report/invented.rs"]
mod invented;

use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = PathBuf::from(env::args_os().nth(1).unwrap_or_else(|| "out/report".into()));
    fs::create_dir_all(&folder)?;
    for (name, report) in [
        ("livelock", invented::livelock()),
        ("incast", invented::incast()),
        ("hostile", invented::hostile()),
    ] {
        fs::write(folder.join(name).with_extension("html"), report.html())?;
        for (index, chart) in report.charts.iter().enumerate() {
            fs::write(folder.join(format!("{name}-{index}.svg")), chart.svg())?;
        }
    }
    Ok(())
}
