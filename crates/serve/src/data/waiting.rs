//! Work that holds a thread: triage and a scheduling decision borrow so much that their futures cannot be shown to be `Send` for all lifetimes.

/// Waits on this thread; others take over what else it had to do.
pub(crate) fn waited<T>(work: impl Future<Output = T>) -> T {
    tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(work))
}
