//! What docs/faq.md says of the network: a command that reads files opens no connection.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;

use libc::{BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, sock_filter};

/// Ends a command, and every process that it starts, with SIGSYS when it makes a socket of the internet.
pub(super) fn offline(command: &mut Command) -> &mut Command {
    const fn step(code: u32, value: u32, if_equal: u8, otherwise: u8) -> sock_filter {
        sock_filter { code: code as u16, jt: if_equal, jf: otherwise, k: value }
    }
    // What seccomp hands to the filter: the call's number comes first, its first argument after 16 bytes.
    let mut steps = [
        step(BPF_LD | BPF_W | BPF_ABS, 0, 0, 0),
        step(BPF_JMP | BPF_JEQ | BPF_K, libc::SYS_socket as u32, 0, 3),
        step(BPF_LD | BPF_W | BPF_ABS, 16, 0, 0),
        step(BPF_JMP | BPF_JEQ | BPF_K, libc::AF_INET as u32, 2, 0),
        step(BPF_JMP | BPF_JEQ | BPF_K, libc::AF_INET6 as u32, 1, 0),
        step(BPF_RET | BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0),
        step(BPF_RET | BPF_K, libc::SECCOMP_RET_KILL_PROCESS, 0, 0),
    ];
    let install = move || {
        let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
        // SAFETY: prctl reads the program, which lives as long as the calls.
        let is_installed = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
        };
        if is_installed { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: between fork and exec only prctl is called.
    unsafe { command.pre_exec(install) }
}

/// The examples of commands that read files run so, in `help`.
#[test]
fn a_connection_ends_what_must_not_make_one() {
    let mut live = Command::new(env!("CARGO_BIN_EXE_ketcd"));
    let status = offline(live.args(["get", "nodes", "--endpoints", "http://127.0.0.1:1"])).status().unwrap();
    assert_eq!(status.signal(), Some(libc::SIGSYS), "{status}");
}
