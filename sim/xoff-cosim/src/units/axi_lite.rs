//! An AXI4-Lite master that performs register accesses one after the other, driven one cycle at a time.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Cycles after which an access without a response is an error.
const PATIENCE: u32 = 10_000;
/// Reads of a register after which waiting for its value is an error. A CLOSE waits for a full receive buffer, of which
/// each packet may wait for its translation.
const POLLS: u32 = 200_000;

/// What the master drives in a cycle. Each `Some` is a channel's `valid` with its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Request {
    /// Write address.
    pub aw: Option<u32>,
    /// Write data; all strobes are set.
    pub w: Option<u32>,
    /// Ready for the write response.
    pub b_ready: bool,
    /// Read address.
    pub ar: Option<u32>,
    /// Ready for read data.
    pub r_ready: bool,
}

/// What the slave drives in the same cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Response {
    /// `awready`.
    pub aw_ready: bool,
    /// `wready`.
    pub w_ready: bool,
    /// `bresp`, if `bvalid`.
    pub b: Option<u8>,
    /// `arready`.
    pub ar_ready: bool,
    /// `rdata` and `rresp`, if `rvalid`.
    pub r: Option<(u32, u8)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Access {
    Write { address: u32, word: u32 },
    Read { address: u32 },
    Until { address: u32, word: u32, polls: u32 },
}

impl Access {
    const fn address(self) -> u32 {
        match self {
            Self::Write { address, .. } | Self::Read { address } | Self::Until { address, .. } => {
                address
            }
        }
    }
}

/// An AXI4-Lite master with a queue of accesses.
///
/// Calls of [`drive`](Self::drive) and [`sample`](Self::sample) alternate, one pair a cycle. While the master is
/// [`idle`](Self::idle) they may be omitted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AxiLite {
    accesses: VecDeque<Access>,
    /// State of the first access: whether its address was taken, whether its data was taken (`data_taken`), and how
    /// many cycles it has lasted (`cycles`).
    address_taken: bool,
    data_taken: bool,
    cycles: u32,
    words: VecDeque<u32>,
}

impl AxiLite {
    /// Queues a write.
    pub fn write(&mut self, address: u32, word: u32) {
        self.accesses.push_back(Access::Write { address, word });
    }

    /// Queues a read. [`take_word`](Self::take_word) returns its result.
    pub fn read(&mut self, address: u32) {
        self.accesses.push_back(Access::Read { address });
    }

    /// Queues reads of a register that are repeated until it has this value.
    pub fn wait_for(&mut self, address: u32, word: u32) {
        let polls = 0;
        self.accesses.push_back(Access::Until {
            address,
            word,
            polls,
        });
    }

    /// The result of the oldest read that has completed and was not taken yet.
    pub fn take_word(&mut self) -> Option<u32> {
        self.words.pop_front()
    }

    /// Whether all accesses are done.
    pub fn idle(&self) -> bool {
        self.accesses.is_empty()
    }

    /// What to drive on the pins in this cycle.
    pub fn drive(&self) -> Request {
        let open = |taken: bool, word: u32| (!taken).then_some(word);
        match self.accesses.front() {
            None => Request::default(),
            Some(&Access::Write { address, word }) => Request {
                aw: open(self.address_taken, address),
                w: open(self.data_taken, word),
                b_ready: true,
                ..Request::default()
            },
            Some(&Access::Read { address } | &Access::Until { address, .. }) => Request {
                ar: open(self.address_taken, address),
                r_ready: true,
                ..Request::default()
            },
        }
    }

    /// Takes the slave's outputs of this cycle.
    ///
    /// # Errors
    ///
    /// A register refuses an access, does not respond, or never gets the value that is waited for; or a response
    /// comes without an access.
    pub fn sample(&mut self, response: &Response) -> Result<(), String> {
        let Some(access) = self.accesses.front().copied() else {
            return match (response.b, response.r) {
                (None, None) => Ok(()),
                _ => Err("AXI4-Lite: a response without an access".into()),
            };
        };
        let address = access.address();
        let refused = |code| format!("register {address:#x} answers {code}; 0 is OKAY");
        self.cycles += 1;
        let done = if let Access::Write { .. } = access {
            self.address_taken |= response.aw_ready;
            self.data_taken |= response.w_ready;
            match response.b {
                Some(0) => true,
                Some(code) => return Err(refused(code)),
                None => false,
            }
        } else {
            self.address_taken |= response.ar_ready;
            match response.r {
                Some((found, 0)) => {
                    self.found(access, found)?;
                    true
                }
                Some((_, code)) => return Err(refused(code)),
                None => false,
            }
        };
        if done {
            if !self.address_taken {
                return Err(format!(
                    "register {address:#x} answers before it takes its address"
                ));
            }
            self.accesses.pop_front();
            (self.address_taken, self.data_taken, self.cycles) = (false, false, 0);
        } else if self.cycles > PATIENCE {
            return Err(format!(
                "register {address:#x} does not answer within {PATIENCE} cycles"
            ));
        }
        Ok(())
    }

    /// Handles the word of a read. While a register does not have the value that is waited for, it is read again.
    fn found(&mut self, access: Access, found: u32) -> Result<(), String> {
        match access {
            Access::Read { .. } => self.words.push_back(found),
            Access::Until {
                address,
                word,
                polls,
            } if found != word => {
                if polls == POLLS {
                    return Err(format!(
                        "register {address:#x} is {found:#x} after {POLLS} reads and never {word:#x}"
                    ));
                }
                let polls = polls + 1;
                // Index 1, because `sample` removes the access at index 0.
                self.accesses.insert(
                    1,
                    Access::Until {
                        address,
                        word,
                        polls,
                    },
                );
            }
            Access::Write { .. } | Access::Until { .. } => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A register file that takes address and data in separate cycles.
    #[derive(Default)]
    struct Slave {
        cycle: u32,
        address: Option<u32>,
        word: Option<u32>,
        words: std::collections::BTreeMap<u32, u32>,
    }

    impl Slave {
        fn cycle(&mut self, request: &Request) -> Response {
            self.cycle += 1;
            let mut response = Response {
                aw_ready: self.cycle.is_multiple_of(2),
                w_ready: self.cycle.is_multiple_of(3),
                ar_ready: self.cycle.is_multiple_of(2),
                ..Response::default()
            };
            if let (Some(address), Some(word)) = (self.address, self.word) {
                assert!(request.b_ready);
                self.words.insert(address, word);
                (self.address, self.word) = (None, None);
                response.b = Some(if address == 0xBAD { 2 } else { 0 });
                return response;
            }
            if response.aw_ready && request.aw.is_some() {
                self.address = request.aw;
            }
            if response.w_ready && request.w.is_some() {
                self.word = request.w;
            }
            if response.ar_ready
                && let Some(address) = request.ar
            {
                let word = self.words.entry(address).or_insert(5);
                *word = word.saturating_sub(1);
                response.r = Some((*word, 0));
            }
            response
        }
    }

    fn run(axi: &mut AxiLite, slave: &mut Slave) -> Result<(), String> {
        while !axi.idle() {
            let response = slave.cycle(&axi.drive());
            axi.sample(&response)?;
        }
        Ok(())
    }

    #[test]
    fn accesses_are_done_in_order() {
        let (mut axi, mut slave) = (AxiLite::default(), Slave::default());
        axi.write(0x10, 8);
        axi.read(0x10);
        // The register at 0x14 counts down with every read.
        axi.wait_for(0x14, 0);
        axi.read(0x10);
        run(&mut axi, &mut slave).unwrap();
        assert_eq!((axi.take_word(), axi.take_word()), (Some(7), Some(6)));
        assert_eq!((axi.take_word(), slave.words[&0x14]), (None, 0));
    }

    #[test]
    fn registers_that_do_not_answer_or_refuse() {
        let mut axi = AxiLite::default();
        axi.write(0xBAD, 1);
        let refused = run(&mut axi, &mut Slave::default()).unwrap_err();
        assert_eq!(refused, "register 0xbad answers 2; 0 is OKAY");
        let mut axi = AxiLite::default();
        axi.read(0x10);
        let why = (0..20_000).find_map(|_| axi.sample(&Response::default()).err());
        assert_eq!(
            why.unwrap(),
            "register 0x10 does not answer within 10000 cycles"
        );
        let mut axi = AxiLite::default();
        axi.wait_for(0x10, 1);
        let response = Response {
            ar_ready: true,
            r: Some((3, 0)),
            ..Response::default()
        };
        let why = (0..2 * POLLS + 2).find_map(|_| axi.sample(&response).err());
        assert!(why.unwrap().contains("is 0x3 after 200000 reads"));
        let unasked = AxiLite::default().sample(&response);
        assert!(unasked.unwrap_err().contains("without an access"));
    }
}
