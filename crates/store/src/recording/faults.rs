//! Faults of a disk, for tests: a step that fails, after part of it was done or not, and whether what follows fails too.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Write};

use super::disk::FileStep;

#[derive(Clone, Copy, Debug)]
pub(super) struct Fault {
    /// How many steps succeed before.
    pub after: usize,
    /// How many bytes of what was to be appended are written nevertheless.
    pub written: usize,
    /// How many steps fail.
    pub lasts: usize,
}

thread_local! {
    static INJECTED_FAULT: RefCell<Option<Fault>> = const { RefCell::new(None) };
}

/// Makes steps of this thread fail; `None` ends that.
pub(super) fn inject(fault: Option<Fault>) {
    INJECTED_FAULT.with(|cell| *cell.borrow_mut() = fault);
}

/// Meets the fault, if it is due.
pub(super) fn meet(step: FileStep, file: &mut File, bytes: &[u8]) -> io::Result<()> {
    INJECTED_FAULT.with(|cell| {
        let mut cell = cell.borrow_mut();
        let Some(fault) = &mut *cell else { return Ok(()) };
        if fault.after > 0 {
            fault.after -= 1;
            return Ok(());
        }
        let Some(rest) = fault.lasts.checked_sub(1) else { return Ok(()) };
        fault.lasts = rest;
        if step == FileStep::Append {
            file.write_all(&bytes[..fault.written.min(bytes.len())])?;
        }
        Err(io::Error::from(io::ErrorKind::StorageFull))
    })
}
