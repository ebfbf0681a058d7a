//! What nearly every bench of a network names: `use xoff_network::prelude::*;`
//!
//! ```
//! use xoff_network::prelude::*;
//!
//! let mut scenario = Scenario::new("pair", Duration::from_ms(1))
//!     .host("a")
//!     .host("b")
//!     .link("a", "b", Length::from_m(2))
//!     .flow(FlowSettings::new("f", "a", "b").messages(10, ByteCount::new(10_000)));
//! scenario.host.nic = NicKind::Model;
//! let mut simulation = Simulation::new(&scenario.checked()?)?;
//! simulation.run_until(Time::from_us(100))?;
//! assert!(simulation.now() >= Time::from_us(100));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use xoff_sim::time::{ByteCount, Duration, Length, LineRate, Rate, Time};

pub use crate::metrics::{Metric, Quantity};
pub use crate::scenario::{Clos, FlowSettings, NicKind, Scenario};
pub use crate::{Endpoint, Endpoints, FlowEnds, Observer, Run, Simulation};
