//! A NIC's registers over AXI4-Lite, and what software does with several of them.

use xoff_rtl::nic::{In, Out};
use xoff_sim::nic::{QpSettings, Region};
use xoff_sim::nic_registers as reg;

use super::UnitError;

/// Cycles after which a register that does not answer never will.
const PATIENCE: u32 = 10_000;
/// Reads of `busy` after which a command will never end.
const POLLS: u32 = 10_000;

/// A NIC whose registers can be written and read. Each access takes as many cycles as it needs.
pub trait Registers {
    /// Its pins: those to be driven in the next cycle, and what the last one showed.
    fn pins(&mut self) -> (&mut In, &Out);

    /// Lives through a cycle.
    ///
    /// # Errors
    ///
    /// An assertion of the RTL, or a rule of its pins that it broke.
    fn tick(&mut self) -> Result<(), UnitError>;

    /// The NIC broke a rule.
    fn broken(&self, what: String) -> UnitError;

    /// Writes a register.
    ///
    /// # Errors
    ///
    /// As [`tick`](Self::tick); a register that does not answer, or refuses.
    fn write(&mut self, offset: u16, word: u32) -> Result<(), UnitError> {
        let (pins, _) = self.pins();
        (pins.awaddr_i, pins.wdata_i, pins.wstrb_i) = (offset, word, 0xF);
        (pins.awvalid_i, pins.wvalid_i, pins.bready_i) = (1, 1, 1);
        for _ in 0..PATIENCE {
            self.tick()?;
            let (pins, out) = self.pins();
            if out.awready_o != 0 {
                (pins.awvalid_i, pins.wvalid_i) = (0, 0);
            }
            if out.bvalid_o != 0 {
                pins.bready_i = 0;
                return match out.bresp_o {
                    0 => Ok(()),
                    refusal => Err(self.broken(format!("register {offset:#x} answers {refusal}"))),
                };
            }
        }
        Err(self.broken(format!("register {offset:#x} does not answer")))
    }

    /// Reads a register.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write).
    fn read(&mut self, offset: u16) -> Result<u32, UnitError> {
        let (pins, _) = self.pins();
        (pins.araddr_i, pins.arvalid_i, pins.rready_i) = (offset, 1, 1);
        for _ in 0..PATIENCE {
            self.tick()?;
            let (pins, out) = self.pins();
            if out.arready_o != 0 {
                pins.arvalid_i = 0;
            }
            if out.rvalid_o != 0 {
                pins.rready_i = 0;
                return Ok(out.rdata_o);
            }
        }
        Err(self.broken(format!("register {offset:#x} does not answer")))
    }

    /// Opens a QP, and waits for it.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write); a command that does not end.
    fn open(&mut self, index: u16, settings: &QpSettings) -> Result<(), UnitError> {
        for (offset, word) in settings.writes(index) {
            self.write(offset, word)?;
        }
        self.wait()
    }

    /// Closes a QP, and waits for it.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    fn close(&mut self, index: u16) -> Result<(), UnitError> {
        self.write(reg::QP_COMMAND, index.into())?;
        self.wait()
    }

    /// Waits until no command is under way.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    fn wait(&mut self) -> Result<(), UnitError> {
        for _ in 0..POLLS {
            if self.read(reg::BUSY)? == 0 {
                return Ok(());
            }
        }
        Err(self.broken("a QP command that does not end".to_owned()))
    }

    /// Registers a region at a place of the table, and gives its key.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write).
    fn register(&mut self, index: u16, region: &Region) -> Result<u32, UnitError> {
        for (offset, word) in region.writes(index) {
            self.write(offset, word)?;
        }
        Ok(region.key(index))
    }
}
