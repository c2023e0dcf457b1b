//! A running API server in a source's place: `-f kubeconfig:CONTEXT`.

use std::path::Path;

use ketcd_api_server::{Access, PresentState};

use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::outcome::{Error, Result};
use crate::cli::output::notices::Attendance;

/// Opens the API server of a context; nothing is requested yet.
///
/// # Errors
/// The kubeconfig cannot be read, or other files are named too.
pub(in crate::cli) fn open(args: &GlobalArgs, context: &str, attendance: Attendance) -> Result<PresentState> {
    if args.files.len() > 1 {
        return Err(Error::new(format!("-f kubeconfig:{context} is the state of one moment, which other files cannot extend"))
            .hint("record it (ketcd record DIR --kubeconfig), and read the recording with the others: -f DIR -f FILE"));
    }
    Ok(PresentState::new(access(None, Some(context), attendance)?, args.show_secrets, move |sentence| attendance.note(sentence)))
}

/// How the API server of a context is reached, said where that is unsafe. `file` is a kubeconfig instead of those that kubectl reads.
pub(in crate::cli) fn access(file: Option<&Path>, context: Option<&str>, attendance: Attendance) -> Result<Access> {
    let access = Access::load(file, context, &|name| std::env::var(name).ok())?;
    access.cautions().iter().for_each(|caution| attendance.note(caution));
    Ok(access)
}
