//! Patterns: who sends to whom, and which messages wait for which, of collectives, queries and incasts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_sim::seeded::{Draws, Seed};
use xoff_sim::time::{ByteCount, Duration, LineRate, Rate};

use super::Message;
use super::connection::{MOST_FLOWS, exponential};
use super::depend::{End, Gate, Unit};
use super::storage::Exchange;

/// Bytes of a message of a barrier.
pub const BARRIER_BYTES: ByteCount = ByteCount::new(8);

/// What the hosts of an entry do together, again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// All-reduce around a ring: 2 (n − 1) steps of 1/n of the data to the next host.
    RingAllReduce,
    /// All-reduce up a binary tree to the first host and down again, chunk by chunk.
    TreeAllReduce,
    /// All-reduce by recursive halving and doubling: halves, quarters and so on to hosts ever nearer, and back.
    HalvingDoublingAllReduce,
    /// All-gather around a ring: n − 1 steps of 1/n of the data.
    AllGather,
    /// Reduce-scatter around a ring: n − 1 steps of 1/n of the data.
    ReduceScatter,
    /// Each host sends 1/n of its data to each other one, all at once.
    AllToAll,
    /// Nobody goes on before all have come: 8 bytes to the host 1, 2, 4, … places ahead (dissemination).
    Barrier,
    /// At random times some hosts drawn at random send to one, all at once.
    Incast,
    /// Each host of `from` sends a query to each of `to`, waits for all answers, and sends the next.
    Queries,
    /// NVMe over Fabrics: a host of `from` sends a command of 64 B, its target writes the data and sends a completion
    /// of 16 B.
    NvmeRead,
    /// NVMe over Fabrics: a host of `from` sends a command, its target fetches the data and sends a completion of 16 B;
    /// up to 8 KiB of data go with the command.
    NvmeWrite,
    /// NFS over RDMA: a host of `from` calls, its server writes the data and replies.
    NfsRead,
    /// NFS over RDMA: a host of `from` calls, its server fetches the data and replies.
    NfsWrite,
    /// SMB Direct: a host of `from` asks, its server writes the data and responds.
    SmbRead,
    /// SMB Direct: a host of `from` asks, its server fetches the data and responds.
    SmbWrite,
}

impl Pattern {
    /// The name, as in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RingAllReduce => "ring-all-reduce",
            Self::TreeAllReduce => "tree-all-reduce",
            Self::HalvingDoublingAllReduce => "halving-doubling-all-reduce",
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::AllToAll => "all-to-all",
            Self::Barrier => "barrier",
            Self::Incast => "incast",
            Self::Queries => "queries",
            Self::NvmeRead => "nvme-read",
            Self::NvmeWrite => "nvme-write",
            Self::NfsRead => "nfs-read",
            Self::NfsWrite => "nfs-write",
            Self::SmbRead => "smb-read",
            Self::SmbWrite => "smb-write",
        }
    }

    /// Whether the hosts of `from` do it among themselves, without `to`.
    pub const fn is_collective(self) -> bool {
        !matches!(self, Self::Incast | Self::Queries) && !self.is_storage()
    }

    /// Whether it is I/O of hosts of `from` with targets of `to`.
    pub const fn is_storage(self) -> bool {
        matches!(
            self,
            Self::NvmeRead
                | Self::NvmeWrite
                | Self::NfsRead
                | Self::NfsWrite
                | Self::SmbRead
                | Self::SmbWrite
        )
    }

    /// Whether each host's data is cut into as many parts as there are hosts.
    pub const fn divides(self) -> bool {
        matches!(
            self,
            Self::RingAllReduce
                | Self::HalvingDoublingAllReduce
                | Self::AllGather
                | Self::ReduceScatter
                | Self::AllToAll
        )
    }

    /// What a host has to send at least for each byte of data, among n hosts: what `bus_bandwidth_gbps` counts, as
    /// NCCL's tests do.
    pub fn bus_factor(self, hosts: usize) -> f64 {
        let others = hosts.saturating_sub(1) as f64 / hosts.max(1) as f64;
        match self {
            Self::RingAllReduce | Self::TreeAllReduce | Self::HalvingDoublingAllReduce => {
                2.0 * others
            }
            Self::AllGather | Self::ReduceScatter | Self::AllToAll => others,
            Self::Barrier => 0.0,
            Self::Incast
            | Self::Queries
            | Self::NvmeRead
            | Self::NvmeWrite
            | Self::NfsRead
            | Self::NfsWrite
            | Self::SmbRead
            | Self::SmbWrite => 1.0,
        }
    }
}

/// A flow of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PatternFlow {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) message: ByteCount,
    /// Its messages, if they are not all of `message` bytes and what the entry says.
    pub(super) messages: Option<Vec<Message>>,
    /// Messages in a round.
    pub(super) per: u64,
    /// When it starts, counted from the start of the run.
    pub(super) start: Duration,
}

/// The flows of a pattern, what they wait for, and whose rounds are measured. Flows are named by their places.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Layout {
    pub(super) flows: Vec<PatternFlow>,
    pub(super) gates: Vec<Gate>,
    pub(super) units: Vec<Unit>,
}

/// What a layout is made from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) pattern: Pattern,
    pub(super) from: &'a [String],
    pub(super) to: &'a [String],
    /// Bytes of data, or of a message.
    pub(super) message: ByteCount,
    /// Bytes of a chunk of a tree.
    pub(super) chunk: ByteCount,
    /// Bytes of an answer to a query.
    pub(super) response: ByteCount,
    pub(super) start: Duration,
    pub(super) think: Duration,
    /// Most commands without a completion.
    pub(super) depth: u32,
    pub(super) incast: Arrivals<'a>,
}

/// When incasts begin.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrivals<'a> {
    /// Hosts that send at once.
    pub(super) senders: u32,
    /// Part of the receiver's line that they fill.
    pub(super) load: f64,
    /// The rate of each receiver's line.
    pub(super) rates: &'a [LineRate],
    pub(super) until: Duration,
    pub(super) seed: Seed,
}

impl Request<'_> {
    /// The layout. The hosts and sizes have passed their check.
    pub(super) fn layout(&self) -> Layout {
        let n = self.from.len();
        match self.pattern {
            Pattern::RingAllReduce => self.ring(2 * (n as u64 - 1)),
            Pattern::AllGather | Pattern::ReduceScatter => self.ring(n as u64 - 1),
            Pattern::TreeAllReduce => self.tree(),
            Pattern::HalvingDoublingAllReduce => self.halving_doubling(),
            Pattern::AllToAll => self.all_to_all(),
            Pattern::Barrier => self.barrier(),
            Pattern::Incast => self.incast(),
            Pattern::Queries => self.queries(),
            Pattern::NvmeRead
            | Pattern::NvmeWrite
            | Pattern::NfsRead
            | Pattern::NfsWrite
            | Pattern::SmbRead
            | Pattern::SmbWrite => self.storage(),
        }
    }

    /// How many flows the layout has, without making it: of incasts, about.
    pub(super) fn count(&self) -> usize {
        let n = self.from.len();
        match self.pattern {
            Pattern::RingAllReduce | Pattern::AllGather | Pattern::ReduceScatter => n,
            Pattern::TreeAllReduce => 2 * n.saturating_sub(1),
            Pattern::HalvingDoublingAllReduce => 2 * n * n.max(1).ilog2() as usize,
            Pattern::AllToAll => n.saturating_mul(n.saturating_sub(1)),
            Pattern::Barrier => n * rounds(n),
            Pattern::Incast => {
                let Arrivals { senders, until, .. } = self.incast;
                let time = until.saturating_sub(self.start).as_ps() as f64;
                let rates = self.incast.rates.iter();
                let incasts: f64 = rates
                    .map(|rate| time / self.incast_interval_ps(*rate))
                    .sum();
                (incasts * f64::from(senders)) as usize
            }
            Pattern::Queries => n.saturating_mul(self.to.len()).saturating_mul(2),
            Pattern::NvmeRead
            | Pattern::NvmeWrite
            | Pattern::NfsRead
            | Pattern::NfsWrite
            | Pattern::SmbRead
            | Pattern::SmbWrite => 3 * n.max(self.to.len()),
        }
    }

    fn flow(&self, from: usize, to: usize, message: ByteCount, per: u64) -> PatternFlow {
        PatternFlow {
            from: self.from[from].clone(),
            to: self.from[to].clone(),
            message,
            messages: None,
            per,
            start: self.start,
        }
    }

    fn part(&self, parts: usize) -> ByteCount {
        ByteCount::new(self.message.get() / parts as u64)
    }

    fn gate(&self, senders: Vec<usize>, ends: Vec<(End, u64)>) -> Gate {
        Gate {
            senders,
            batch: 1,
            lead: 0,
            ends,
            think: Duration::ZERO,
            think_every: 1,
        }
    }

    /// A gate behind which a round begins: the first is open.
    fn first_gate(&self, senders: Vec<usize>, ends: Vec<(End, u64)>) -> Gate {
        Gate {
            lead: 1,
            think: self.think,
            ..self.gate(senders, ends)
        }
    }

    fn whole(flows: Vec<PatternFlow>, gates: Vec<Gate>) -> Layout {
        let each = flows.iter().enumerate();
        let units = vec![Unit::whole(each.map(|(place, flow)| (place, flow.per)))];
        Layout {
            flows,
            gates,
            units,
        }
    }

    /// Each host sends to the next: step k when that of the host before has arrived.
    fn ring(&self, steps: u64) -> Layout {
        let n = self.from.len();
        let flows = (0..n).map(|i| self.flow(i, (i + 1) % n, self.part(n), steps));
        let gate = |i: usize| Gate {
            think_every: steps,
            ..self.first_gate(vec![i], vec![(End::Arrived((i + n - 1) % n), 1)])
        };
        Self::whole(flows.collect(), (0..n).map(gate).collect())
    }

    /// Host i has the children 2i + 1 and 2i + 2. A chunk goes up when it has come from all children, and down when it
    /// has come from above.
    fn tree(&self) -> Layout {
        let n = self.from.len();
        let chunks = self.message.get() / self.chunk.get();
        let parent = |i: usize| (i - 1) / 2;
        let up = |i: usize| i - 1;
        let down = |i: usize| n - 1 + i - 1;
        let rise = (1..n).map(|i| self.flow(i, parent(i), self.chunk, chunks));
        let fall = (1..n).map(|i| self.flow(parent(i), i, self.chunk, chunks));
        let flows = rise.chain(fall).collect();
        let mut gates = Vec::new();
        for i in 0..n {
            let children: Vec<usize> = [2 * i + 1, 2 * i + 2]
                .into_iter()
                .filter(|c| *c < n)
                .collect();
            let risen = children.iter().map(|c| (End::Arrived(up(*c)), 1)).collect();
            let falling: Vec<usize> = children.iter().map(|c| down(*c)).collect();
            match (i, children.is_empty()) {
                (0, _) => gates.push(self.gate(falling, risen)),
                (_, true) => gates.push(Gate {
                    batch: chunks,
                    ..self.first_gate(vec![up(i)], vec![(End::Arrived(down(i)), chunks)])
                }),
                (_, false) => {
                    gates.push(self.gate(vec![up(i)], risen));
                    gates.push(self.gate(falling, vec![(End::Arrived(down(i)), 1)]));
                }
            }
        }
        Self::whole(flows, gates)
    }

    /// Steps in which each host exchanges with one other: a step begins when all before it have arrived. `partner` is
    /// the place to which a host sends in a step, and `back` from which it receives.
    fn steps(
        &self,
        sizes: &[ByteCount],
        partner: impl Fn(usize, usize) -> usize,
        back: impl Fn(usize, usize) -> usize,
    ) -> Layout {
        let n = self.from.len();
        let all = (0..sizes.len()).flat_map(|step| (0..n).map(move |i| (step, i)));
        let flows = all.map(|(step, i)| self.flow(i, partner(step, i), sizes[step], 1));
        let flows = flows.collect();
        let mut gates = Vec::new();
        for i in 0..n {
            let arrived = |before: usize| {
                let ends = (0..before).map(|step| (End::Arrived(step * n + back(step, i)), 1));
                ends.collect()
            };
            gates.push(self.first_gate(vec![i], arrived(sizes.len())));
            let later = (1..sizes.len()).map(|step| self.gate(vec![step * n + i], arrived(step)));
            gates.extend(later);
        }
        Self::whole(flows, gates)
    }

    fn halving_doubling(&self) -> Layout {
        let n = self.from.len();
        let halvings = n.ilog2() as usize;
        let sizes = (1..=halvings).map(|step| self.part(1 << step));
        let mut sizes: Vec<ByteCount> = sizes.collect();
        sizes.extend(sizes.clone().into_iter().rev());
        let other = |step: usize, i: usize| {
            let nearer = step.min(2 * halvings - 1 - step);
            i ^ (n >> (nearer + 1))
        };
        self.steps(&sizes, other, other)
    }

    fn barrier(&self) -> Layout {
        let n = self.from.len();
        let sizes = vec![BARRIER_BYTES; rounds(n)];
        let ahead = |step: usize, i: usize| (i + (1 << step)) % n;
        self.steps(&sizes, ahead, |step, i| (i + n - (1 << step) % n) % n)
    }

    fn all_to_all(&self) -> Layout {
        let n = self.from.len();
        // From the next host on, so that not all begin with the same.
        let flows = (0..n).flat_map(|i| (1..n).map(move |far| (i, (i + far) % n)));
        let flows = flows.map(|(i, to)| self.flow(i, to, self.part(n), 1));
        let of = |i: usize, far: usize| i * (n - 1) + far - 1;
        let gate = |i: usize| {
            let senders = (1..n).map(|far| of(i, far)).collect();
            let ends = (1..n).map(|far| (End::Arrived(of((i + n - far) % n, far)), 1));
            self.first_gate(senders, ends.collect())
        };
        Self::whole(flows.collect(), (0..n).map(gate).collect())
    }

    fn queries(&self) -> Layout {
        let mut layout = Layout::default();
        for client in self.from {
            let servers = self.to.iter().filter(|server| *server != client);
            let first = layout.flows.len();
            for server in servers {
                let place = layout.flows.len();
                let ends = [
                    (client, server, self.message),
                    (server, client, self.response),
                ];
                layout
                    .flows
                    .extend(ends.map(|(from, to, message)| PatternFlow {
                        from: from.clone(),
                        to: to.clone(),
                        message,
                        messages: None,
                        per: 1,
                        start: self.start,
                    }));
                let answer = self.gate(vec![place + 1], vec![(End::Arrived(place), 1)]);
                layout.gates.push(answer);
            }
            let places = || (first..layout.flows.len()).step_by(2);
            let answers = places().map(|place| (End::Arrived(place + 1), 1)).collect();
            let gate = self.first_gate(places().collect(), answers);
            layout.units.push(Unit::whole(
                (first..layout.flows.len()).map(|place| (place, 1)),
            ));
            layout.gates.push(gate);
        }
        layout
    }

    /// Commands and what targets do about them. Host k of `from` is with host k of `to`, around the shorter list. What
    /// a target fetches has a QP of its own: an answer waits for its READ, and a READ for no answer.
    fn storage(&self) -> Layout {
        let mut layout = Layout::default();
        let exchange = Exchange::of(self.pattern, self.message).expect("a pattern of storage");
        for pair in 0..self.from.len().max(self.to.len()) {
            let from = &self.from[pair % self.from.len()];
            let to = &self.to[pair % self.to.len()];
            let flow = |from: &String, to: &String, messages: Vec<Message>| PatternFlow {
                from: from.clone(),
                to: to.clone(),
                message: self.message,
                per: messages.len() as u64,
                messages: Some(messages),
                start: self.start,
            };
            let (command, back) = (layout.flows.len(), layout.flows.len() + 1);
            let ask = flow(from, to, vec![exchange.command]);
            layout
                .flows
                .extend([ask, flow(to, from, exchange.answer.clone())]);
            layout.gates.push(Gate {
                lead: self.depth.into(),
                ..self.gate(vec![command], vec![(End::Arrived(back), 1)])
            });
            let mut before = End::Arrived(command);
            if let Some(fetch) = exchange.fetch {
                let place = layout.flows.len();
                layout.flows.push(flow(to, from, vec![fetch]));
                let gate = self.gate(vec![place], vec![(before, 1)]);
                layout.gates.push(gate);
                before = End::Sent(place);
            }
            layout.gates.push(Gate {
                batch: exchange.answer.len() as u64,
                think: self.think,
                ..self.gate(vec![back], vec![(before, 1)])
            });
            layout.units.push(Unit {
                begin: vec![(command, 1)],
                flows: vec![(back, 1)],
            });
        }
        layout
    }

    /// The mean time between two incasts at a receiver with a line of this rate, in picoseconds.
    fn incast_interval_ps(&self, rate: LineRate) -> f64 {
        let Arrivals { senders, load, .. } = self.incast;
        let bytes = f64::from(senders) * self.message.get() as f64;
        bytes * 8e12 / (load * Rate::from(rate).as_bits_per_second() as f64)
    }

    fn incast(&self) -> Layout {
        let Arrivals {
            senders,
            until,
            seed,
            ..
        } = self.incast;
        let mut arrivals = Vec::new();
        for (place, (to, rate)) in self.to.iter().zip(self.incast.rates).enumerate() {
            let every = self.incast_interval_ps(*rate);
            let mut others: Vec<&String> = self.from.iter().filter(|from| *from != to).collect();
            let mut draws = seed.derive(&[place as u64]).draws();
            let mut at = self.start.as_ps() as f64;
            loop {
                at += exponential(&mut draws) * every;
                if at >= until.as_ps() as f64 || arrivals.len() > MOST_FLOWS {
                    break;
                }
                let chosen = choose(&mut others, senders as usize, &mut draws);
                arrivals.push((at as u64, place, chosen));
            }
        }
        arrivals.sort_by_key(|(at, place, _)| (*at, *place));
        let mut layout = Layout::default();
        for (at, place, chosen) in arrivals {
            let first = layout.flows.len();
            layout
                .flows
                .extend(chosen.into_iter().map(|from| PatternFlow {
                    from,
                    to: self.to[place].clone(),
                    message: self.message,
                    messages: None,
                    per: 1,
                    start: Duration::from_ps(at),
                }));
            let flows = (first..layout.flows.len()).map(|place| (place, 1));
            layout.units.push(Unit::whole(flows));
        }
        layout
    }
}

/// Draws some of a list, each at most once (the first steps of Fisher and Yates' shuffle).
fn choose(list: &mut [&String], count: usize, draws: &mut Draws) -> Vec<String> {
    let count = count.min(list.len());
    for i in 0..count {
        let other = i + draws.below((list.len() - i) as u64) as usize;
        list.swap(i, other);
    }
    list[..count].iter().map(|name| (*name).clone()).collect()
}

/// Rounds of a dissemination among n: the least k with 2ᵏ ≥ n.
const fn rounds(n: usize) -> usize {
    n.next_power_of_two().ilog2() as usize
}
