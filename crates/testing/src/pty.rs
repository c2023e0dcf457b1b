//! What a command writes to a terminal of a given width.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Command, ExitStatus, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Runs `command` with standard output and standard error on a terminal of this many columns; returns what it wrote, without lines of progress that were
/// erased again, and how it ended.
pub fn run(columns: u16, command: &mut Command) -> (String, ExitStatus) {
    let (text, status) = all_of(columns, command);
    (what_stays(&text), status)
}

/// The same with all that it wrote.
pub fn all_of(columns: u16, command: &mut Command) -> (String, ExitStatus) {
    read(columns, command.stdin(Stdio::null()), |_| ())
}

/// The same with the standard input that the command has; `look` sees all that was written so far, whenever there is more.
pub fn watched(columns: u16, command: &mut Command, mut look: impl FnMut(&str)) -> (String, ExitStatus) {
    read(columns, command, |bytes| look(&String::from_utf8_lossy(bytes)))
}

fn read(columns: u16, command: &mut Command, mut look: impl FnMut(&[u8])) -> (String, ExitStatus) {
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&controller).unwrap();
    unlockpt(&controller).unwrap();
    tcsetwinsize(&controller, Winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    let name = ptsname(&controller, Vec::new()).unwrap();
    let terminal: OwnedFd = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    let errors = terminal.try_clone().unwrap();
    // Nobody is there to leave a pager.
    if command.get_envs().all(|(name, _)| name != "KETCD_PAGER") {
        command.env("KETCD_PAGER", "");
    }
    command.env("TERM", "xterm").env_remove("NO_COLOR").stdout(terminal).stderr(errors);
    let mut child = command.spawn().unwrap();
    // The command holds the other end: reading fails when the last of them is closed.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut bytes = Vec::new();
    let mut controller = File::from(controller);
    let mut piece = [0; 1 << 16];
    while let Ok(read @ 1..) = controller.read(&mut piece) {
        bytes.extend_from_slice(&piece[..read]);
        look(&bytes);
    }
    (String::from_utf8(bytes).unwrap(), child.wait().unwrap())
}

fn what_stays(text: &str) -> String {
    const ERASE_LINE: &str = "\x1b[2K";
    let stays = |line: &str| line.rsplit(ERASE_LINE).next().unwrap_or_default().to_owned();
    text.split('\n').map(stays).collect::<Vec<_>>().join("\n")
}
