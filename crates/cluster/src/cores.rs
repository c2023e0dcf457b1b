//! Work on many values at once: the one place that decides how many threads share it.

use std::panic::resume_unwind;
use std::thread;

/// Makes something of each of `items` on all cores, in their order, while this thread does something else. Fewer than `least` items are not worth a
/// thread, nor is one core.
pub fn in_order_beside<T: Sync, R: Send, M>(
    items: &[T],
    least: usize,
    make: impl Fn(&T) -> R + Sync,
    meanwhile: impl FnOnce() -> M,
) -> (Vec<R>, M) {
    let workers = thread::available_parallelism().map_or(1, usize::from).min(items.len() / least.max(1));
    if workers < 2 {
        let done = meanwhile();
        return (items.iter().map(make).collect(), done);
    }
    let make = &make;
    thread::scope(|scope| {
        let parts = items.chunks(items.len().div_ceil(workers));
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || part.iter().map(make).collect::<Vec<_>>())).collect();
        let done = meanwhile();
        let made = threads.into_iter().flat_map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        (made.collect(), done)
    })
}

/// Makes something of each of `items` on all cores, in their order.
pub fn in_order<T: Sync, R: Send>(items: &[T], least: usize, make: impl Fn(&T) -> R + Sync) -> Vec<R> {
    in_order_beside(items, least, make, || ()).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_kept() {
        for count in [0, 1, 31, 32, 33, 1000] {
            let items: Vec<usize> = (0..count).collect();
            let (made, beside) = in_order_beside(&items, 8, |item| item * 2, || "beside");
            assert_eq!((made, beside), (items.iter().map(|item| item * 2).collect(), "beside"));
        }
    }
}
