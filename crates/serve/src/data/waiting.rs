//! Work that holds a thread: what it borrows cannot go from one to another.

/// Waits on this thread; others take over what else it had to do.
pub(crate) fn waited<T>(work: impl Future<Output = T>) -> T {
    tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(work))
}
