//! A simulation on the screen while it is played: how far it has come, and what is decided.

use std::fmt;
use std::io;
use std::sync::{Mutex, PoisonError};

use ketcd_render::what_if;
use ketcd_what_if::Follow;

use crate::cli::output::{Output, progress};

/// Shows progress, and each node as it is decided.
pub(in crate::cli) struct LiveView<'o> {
    /// Where decisions are written, and what became of that; `None`: nowhere.
    out: Mutex<(Option<&'o mut Output>, io::Result<()>)>,
}

impl<'o> LiveView<'o> {
    /// `out`: where decisions are written, if they are text.
    pub(in crate::cli) fn new(out: Option<&'o mut Output>) -> Self {
        Self { out: Mutex::new((out, Ok(()))) }
    }

    /// Ends it.
    pub(in crate::cli) fn end(self) -> io::Result<()> {
        self.out.into_inner().unwrap_or_else(PoisonError::into_inner).1
    }
}

impl fmt::Debug for LiveView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LiveView")
    }
}

impl Follow for LiveView<'_> {
    fn begins(&self, part: &str, number: usize, all: usize) {
        progress::part(part, number, all);
    }

    fn decided(&self, node: &str, obstacle: Option<&str>) {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(out), written @ Ok(())) = &mut *out {
            *written = out.write_part(|out| what_if::write_node(node, obstacle, out));
        }
    }
}
