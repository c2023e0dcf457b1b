//! Standard output whose reader has gone, as after `| head`.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;

use tokio::io::Interest;
use tokio::net::unix::pipe::Sender;

/// Whether standard output is a pipe.
pub(in crate::cli) fn is_pipe() -> bool {
    standard_output_file().and_then(|file| file.metadata()).is_ok_and(|found| found.file_type().is_fifo())
}

/// Waits until nobody can read any more what goes into the pipe that standard output is; forever where it is something else.
pub(in crate::cli) async fn standard_output() {
    let pipe = standard_output_file().ok().filter(|_| is_pipe());
    // Unchecked, it stays a pipe that blocks, as those who write into it expect.
    if let Some(pipe) = pipe.and_then(|pipe| Sender::from_file_unchecked(pipe).ok())
        && pipe.ready(Interest::ERROR).await.is_ok_and(|ready| ready.is_error())
    {
        return;
    }
    std::future::pending().await
}

/// Standard output under a descriptor of its own, which is closed with it.
fn standard_output_file() -> io::Result<File> {
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}
