//! A file that is cut short while it is mapped: the process would end by SIGBUS, now it ends with an error.
//!
//! Reading with system calls instead would copy every value once more, and copying the file first would cost its size in memory or on
//! disk; so it is the binary, not the library, that takes the signal.

use std::sync::OnceLock;

use ketcd_store::load::mapped_file_at;

/// The handler that was set before, which is Rust's own: it reports stack overflows.
static PREVIOUS_HANDLER: OnceLock<libc::sigaction> = OnceLock::new();

/// Takes SIGBUS from now on.
pub(in crate::cli) fn install() {
    // SAFETY: both structures are plain data that the calls fill or read; `handle` does nothing that a handler may not.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut before) != 0 || PREVIOUS_HANDLER.set(before).is_err() {
            return;
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
    }
}

/// Says which file it is and ends the process. A fault elsewhere is left to who had the signal before: the access is tried again.
extern "C" fn handle(_signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel fills `info` for SIGBUS; sigaction, write and _exit may be called in a handler.
    unsafe {
        let Some(name) = mapped_file_at((*info).si_addr() as usize) else {
            if let Some(before) = PREVIOUS_HANDLER.get() {
                libc::sigaction(libc::SIGBUS, before, std::ptr::null_mut());
            }
            return;
        };
        let parts: [&[u8]; 3] =
            [b"ketcd: error: ", name.as_bytes(), b": became shorter while it was read; copy the file and read the copy\n"];
        for part in parts {
            libc::write(libc::STDERR_FILENO, part.as_ptr().cast(), part.len());
        }
        libc::_exit(2);
    }
}
