//! Work on many values at once: the one place that decides how many threads share it.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
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

/// How many threads may work at once.
pub fn count() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// The stack of a thread that evaluates pods, in bytes: expressions in objects may nest deeply.
const STACK: usize = 8 << 20;

/// Makes something of each of `items`, in their order. Each worker has a thread of its own and takes the next item when it is done with one, so that
/// items may differ in size.
pub fn in_order_by<T: Sync, R: Send, W: Send>(workers: &mut [W], items: &[T], make: impl Fn(&mut W, &T) -> R + Sync) -> Vec<R> {
    let (next, make) = (AtomicUsize::new(0), &make);
    let work = |worker: &mut W| {
        let taken = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < items.len()));
        taken.map(|at| (at, make(worker, &items[at]))).collect::<Vec<_>>()
    };
    let mut made: Vec<(usize, R)> = match workers {
        [alone] => work(alone),
        workers => thread::scope(|scope| {
            let work = &work;
            let start = |worker| thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || work(worker));
            let threads: Vec<_> = workers.iter_mut().map(|worker| start(worker).expect("the system starts threads")).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
        }),
    };
    made.sort_by_key(|(at, _)| *at);
    made.into_iter().map(|(_, made)| made).collect()
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

    #[test]
    fn workers_share_items_of_any_size_and_order_is_kept() {
        for workers in [1, 3, 8] {
            let mut worlds = vec![0_usize; workers];
            let items: Vec<usize> = (0..100).collect();
            let made = in_order_by(&mut worlds, &items, |done, item| {
                *done += 1;
                (0..item % 7 * 1000).fold(*item, |sum, _| std::hint::black_box(sum))
            });
            assert_eq!(made, items);
            assert_eq!(worlds.iter().sum::<usize>(), 100);
        }
    }
}
