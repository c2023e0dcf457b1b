//! Asks for a password at the terminal, without showing it.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Read, Write};

use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use zeroize::Zeroizing;

use crate::cli::outcome::{Error, Result};
use ketcd_store::etcd::Password;

/// Asks for the password of etcd's user; `None` where nobody is there to answer.
///
/// # Errors
/// The question was broken off, or the terminal cannot be read.
pub(in crate::cli) fn ask() -> Result<Option<Password>> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Ok(None);
    }
    // The terminal itself: each of the streams may lead elsewhere.
    let Ok(terminal) = OpenOptions::new().read(true).write(true).open("/dev/tty") else { return Ok(None) };
    let line = answer(&terminal)
        .map_err(|error| Error::new(format!("cannot ask for the password: {error}")).hint("give it in ETCDCTL_PASSWORD"))?
        .filter(|line| !line.is_empty())
        .ok_or_else(|| Error::new("no password was given").hint("type it at the prompt, or give it in ETCDCTL_PASSWORD"))?;
    let text = std::str::from_utf8(&line).map_err(|_| Error::new("the password is not UTF-8"))?;
    Ok(Some(Password::new(text.to_owned())))
}

/// Asks and reads one line, without its end; `None` where it was broken off.
fn answer(mut terminal: &File) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    /// The longest line of a terminal.
    const MAX_LINE_BYTES: usize = 4096;
    let hidden = Hidden::new(terminal)?;
    terminal.write_all(b"Password: ")?;
    let mut line = Zeroizing::new(vec![0; MAX_LINE_BYTES]);
    let length = loop {
        match terminal.read(&mut line) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read?,
        }
    };
    line.truncate(length);
    if line.pop_if(|last| *last == b'\n').is_some() {
        return Ok(Some(line));
    }
    // Such an end is not shown as a new line.
    terminal.write_all(b"\n")?;
    Ok(Some(line).filter(|line| !line.last().is_some_and(|last| hidden.breaks_off(*last))))
}

/// A terminal that shows nothing of what is typed, until this is dropped. The keys that would interrupt us end the line instead:
/// a process that ends by a signal leaves the terminal mute.
struct Hidden<'a> {
    terminal: &'a File,
    before: Termios,
}

impl<'a> Hidden<'a> {
    fn new(terminal: &'a File) -> io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let mut modes = before.clone();
        modes.local_modes.remove(LocalModes::ECHO | LocalModes::ISIG);
        modes.local_modes.insert(LocalModes::ECHONL | LocalModes::ICANON);
        modes.special_codes[SpecialCodeIndex::VEOL] = before.special_codes[SpecialCodeIndex::VINTR];
        modes.special_codes[SpecialCodeIndex::VEOL2] = before.special_codes[SpecialCodeIndex::VQUIT];
        tcsetattr(terminal, OptionalActions::Flush, &modes)?;
        Ok(Self { terminal, before })
    }

    fn breaks_off(&self, key: u8) -> bool {
        [SpecialCodeIndex::VINTR, SpecialCodeIndex::VQUIT].into_iter().any(|index| self.before.special_codes[index] == key)
    }
}

impl Drop for Hidden<'_> {
    fn drop(&mut self) {
        // A terminal that is gone needs no mending.
        let _ = tcsetattr(self.terminal, OptionalActions::Drain, &self.before);
    }
}
