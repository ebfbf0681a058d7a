//! `xoff shadow`: a NIC in the place of an end of a captured conversation.

mod arguments;
mod read;
mod table;

use std::fmt::Write as _;

use anyhow::Context;
use serde::Deserialize;
use xoff_network::Endpoints;
use xoff_network::shadow::{Allowed, Known, KnownRegion, Settings, shadow};

pub use arguments::ShadowArgs;

use crate::Outcome;
use crate::terminal::Streams;
use crate::text_file;

const HELP: &str = "\
Connections are told by messages of the communication manager, if the capture has them, or else by the packets. READ \
data, and what atomics find, is in the NIC's memory before the request comes; what earlier packets wrote is there \
already. A receive buffer is posted unless the capture has an RNR NAK. Requests that the answering end shows not to \
have got are not fed. UC and UD have no answers, and are counted. Where a request is not in the capture although it \
was answered, the connection is judged up to there.

Settings are TOML; what is not given is inferred:
  [[connection]]
  qpn = 0x11           # of the answering end
  peer_qpn = 0x12      # of the other
  first_psn = 0x1000
  mtu = 1024
  msn = 0              # messages complete before the first request
  rnr_timer = 12       # code 0 to 31
  [[region]]
  key = 0x3f0d
  base = 0x7f3c273bf000
  length = 65536
  write = true
  read = true
  atomic = true

Examples:
  # the RTL NIC answers in the place of 192.0.2.2
  xoff shadow conversation.pcap --side 192.0.2.2
  # the model NIC
  xoff shadow conversation.pcap --side 192.0.2.2 --model
  # for programs
  xoff shadow conversation.pcap --side 192.0.2.2 --json | jq '.differences[]'

Exit codes: 0 every answer matches or is allowed, 1 answers are different or of a kind that the NIC does not have, 2 bad \
input or nothing to judge.

What may differ:
";

/// The long help: examples, and every rule.
pub fn long_help() -> String {
    let mut help = HELP.to_owned();
    for rule in Allowed::ALL {
        let (name, statement, source) = (rule.name(), rule.statement(), rule.source());
        let _ = writeln!(help, "  {name}\n      {statement} ({source})");
    }
    help.truncate(help.trim_end().len());
    help
}

/// What a file of settings has.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    connection: Vec<Known>,
    #[serde(default)]
    region: Vec<KnownRegion>,
}

/// Runs `xoff shadow`.
///
/// # Errors
///
/// Returns an error if the capture or the settings cannot be read, if there is nothing to judge, if the NIC cannot be
/// made or stops working, or if the output cannot be written.
pub fn run(
    arguments: &ShadowArgs,
    endpoints: &Endpoints,
    streams: &mut Streams,
) -> anyhow::Result<Outcome> {
    let file = match &arguments.settings {
        None => File::default(),
        Some(path) => {
            let name = path.display();
            let text = text_file::read(path).with_context(|| format!("{name}: cannot be read"))?;
            toml::from_str(&text)
                .map_err(|error| anyhow::anyhow!("{name}: {}", error.to_string().trim_end()))?
        }
    };
    file.check().map_err(|wrong| {
        let name = arguments
            .settings
            .as_deref()
            .unwrap_or(std::path::Path::new(""));
        anyhow::anyhow!("{}: {wrong}", name.display())
    })?;
    let settings = Settings {
        side: arguments.side,
        nic: arguments.nic.kind(),
        granted: arguments.granted,
        connections: file.connection,
        regions: file.region,
    };
    let (name, frames) = read::frames(&arguments.capture, arguments.interface.as_deref())?;
    let report = shadow(&frames, &settings, endpoints).with_context(|| name.clone())?;
    if arguments.json {
        serde_json::to_writer_pretty(&mut streams.out, &report)?;
        writeln!(streams.out)?;
    } else {
        table::write(&name, &report, arguments.show, streams)?;
    }
    Ok(match report.held() {
        true => Outcome::Held,
        false => Outcome::Failed,
    })
}

impl File {
    /// Checks ranges.
    fn check(&self) -> Result<(), String> {
        let range = |name: &str, value: Option<u32>, most: u32| match value {
            Some(value) if value > most => Err(format!(
                "connection.{name}: {value:#x}; {most:#x} is the largest"
            )),
            _ => Ok(()),
        };
        for it in &self.connection {
            let whole = 0xFF_FFFF;
            range("qpn", Some(it.qpn), whole)?;
            range("peer_qpn", it.peer_qpn, whole)?;
            range("first_psn", it.first_psn, whole)?;
            range("msn", it.msn, whole)?;
            range("rnr_timer", it.rnr_timer.map(u32::from), 31)?;
            let mtus = [256, 512, 1024, 2048, 4096];
            if let Some(mtu) = it.mtu.filter(|mtu| !mtus.contains(mtu)) {
                return Err(format!(
                    "connection.mtu: {mtu}; 256, 512, 1024, 2048 or 4096 is right"
                ));
            }
        }
        for it in &self.region {
            if it.length >= 1 << 48 || it.base.checked_add(it.length).is_none() {
                return Err(format!(
                    "region.length: {:#x} from {:#x} on; less than 2^48 and before the end of memory is right",
                    it.length, it.base
                ));
            }
        }
        Ok(())
    }
}
