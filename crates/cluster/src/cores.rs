//! Work on many values at once: the one place that decides how many threads share it.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use async_stream::try_stream;
use futures_util::{FutureExt, Stream, StreamExt};
use tokio::runtime::Handle;

/// Fewer items of a stream are not worth a thread.
const MIN_ITEMS_PER_THREAD: usize = 16;

/// Maximum items of a stream per batch.
const MAX_BATCH_ITEMS: usize = 512;

/// Maximum bytes of a stream per batch.
const MAX_BATCH_BYTES: usize = 4 << 20;

/// Makes something of each of `items` on all cores, in their order. Fewer than `least` items are not worth a thread.
pub fn in_order<T: Sync, R: Send>(items: &[T], least: usize, make: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let workers = count().min(items.len() / least.max(1));
    if workers < 2 {
        return items.iter().map(make).collect();
    }
    let make = &make;
    thread::scope(|scope| {
        let parts = items.chunks(items.len().div_ceil(workers));
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || part.iter().map(make).collect::<Vec<_>>())).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

/// Makes something of each item of a stream on all cores, in their order, while what was made before is used. `bytes` says how much memory an item takes.
/// Where the stream waits, what it brought is handed over: an item that comes alone does not wait for others. Ends with the first error, behind all that
/// came before it.
pub fn in_order_ahead<'s, T: Send + 'static, R: Send + 'static, E: Send + 's>(
    items: impl Stream<Item = Result<T, E>> + Send + 's,
    bytes: impl Fn(&T) -> usize + Send + 's,
    make: impl Fn(T) -> R + Send + Sync + 'static,
) -> impl Stream<Item = Result<R, E>> + Send + 's {
    in_order_ahead_by(MIN_ITEMS_PER_THREAD, items, bytes, make)
}

/// The same, where fewer items than `least` are not worth a thread.
pub fn in_order_ahead_by<'s, T: Send + 'static, R: Send + 'static, E: Send + 's>(
    least: usize,
    items: impl Stream<Item = Result<T, E>> + Send + 's,
    bytes: impl Fn(&T) -> usize + Send + 's,
    make: impl Fn(T) -> R + Send + Sync + 'static,
) -> impl Stream<Item = Result<R, E>> + Send + 's {
    let make = Arc::new(make);
    try_stream! {
        let mut items = pin!(items);
        let mut ahead = Vec::new();
        loop {
            let (mut taken, mut size, mut end) = (Vec::new(), 0, None);
            while end.is_none() && taken.len() < MAX_BATCH_ITEMS && size < MAX_BATCH_BYTES {
                let next = match taken.is_empty() && ahead.is_empty() {
                    true => items.next().await,
                    false => match items.next().now_or_never() {
                        Some(next) => next,
                        None => break,
                    },
                };
                match next {
                    Some(Ok(item)) => {
                        size += bytes(&item);
                        taken.push(item);
                    }
                    other => end = Some(other.map_or(Ok(()), |failed| failed.map(drop))),
                }
            }
            // While this one is made, the one before is handed over.
            let mut ready = mem::replace(&mut ahead, start(&make, least, taken));
            if end.is_some() {
                ready.append(&mut ahead);
            }
            for part in ready {
                for made in part.made() {
                    yield made;
                }
            }
            if let Some(end) = end {
                end?;
                break;
            }
        }
    }
}

/// What is made of some items of a stream.
enum StreamPart<R> {
    Made(Vec<R>),
    /// By a thread that answers once.
    Making(Receiver<thread::Result<Vec<R>>>),
}

impl<R> StreamPart<R> {
    /// Waits for it.
    fn made(self) -> Vec<R> {
        match self {
            Self::Made(made) => made,
            Self::Making(answer) => {
                let made = answer.recv().expect("who makes something answers");
                made.unwrap_or_else(|panic| resume_unwind(panic))
            }
        }
    }
}

/// Starts to make something of each of `items`, on as many threads as there are cores and they are worth.
fn start<T, R, F>(make: &Arc<F>, least: usize, items: Vec<T>) -> Vec<StreamPart<R>>
where
    T: Send + 'static,
    R: Send + 'static,
    F: Fn(T) -> R + Send + Sync + 'static,
{
    let least = least.max(1);
    if items.len() < least {
        let made: Vec<R> = items.into_iter().map(&**make).collect();
        return if made.is_empty() { Vec::new() } else { vec![StreamPart::Made(made)] };
    }
    let workers = count().min(items.len().div_ceil(least)).max(1);
    let (each, mut items) = (items.len().div_ceil(workers), items.into_iter());
    let give = |_| {
        let (make, part): (_, Vec<T>) = (Arc::clone(make), items.by_ref().take(each).collect());
        let (answer, made) = mpsc::sync_channel(1);
        apart(move || {
            let made = catch_unwind(AssertUnwindSafe(|| part.into_iter().map(&*make).collect()));
            // Nobody waits for it where the stream was dropped.
            let _ = answer.send(made);
        });
        StreamPart::Making(made)
    };
    (0..workers).map(give).collect()
}

/// Does something short on a thread that the runtime keeps for more of it: a thread of its own begins with memory that the system has to clear.
pub(crate) fn apart(work: impl FnOnce() + Send + 'static) {
    match Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn_blocking(work)),
        Err(_) => drop(thread::spawn(work)),
    }
}

/// How many threads may work at once.
pub fn count() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// The stack of a thread that evaluates pods, in bytes: expressions in objects may nest deeply.
const EVALUATION_STACK_BYTES: usize = 8 << 20;

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
            let start = |worker| thread::Builder::new().stack_size(EVALUATION_STACK_BYTES).spawn_scoped(scope, move || work(worker));
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
            assert_eq!(in_order(&items, 8, |item| item * 2), items.iter().map(|item| item * 2).collect::<Vec<_>>());
        }
    }

    #[tokio::test]
    async fn a_stream_keeps_its_order_and_ends_with_its_first_error() {
        for count in [0, 1, 31, 32, 511, 512, 513, 3000] {
            let items = (0..count).map(Ok).chain([Err("broken off"), Ok(usize::MAX)]);
            let made: Vec<_> = in_order_ahead(futures_util::stream::iter(items), |_| 9_000, |item| item * 2).collect().await;
            assert_eq!(made, (0..count).map(|item| Ok(item * 2)).chain([Err("broken off")]).collect::<Vec<_>>());
        }
    }

    #[tokio::test]
    async fn an_item_that_comes_alone_does_not_wait_for_the_next() {
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
        let items = futures_util::stream::unfold(receiver, |mut receiver| async { receiver.recv().await.map(|item| (item, receiver)) });
        let mut made = pin!(in_order_ahead(items, |_| 1, |item: i32| item * 2));
        for item in 0..3 {
            sender.send(Ok::<_, &str>(item)).unwrap();
            assert_eq!(made.next().await, Some(Ok(item * 2)));
        }
        (3..40).for_each(|item| sender.send(Ok(item)).unwrap());
        drop(sender);
        assert_eq!(made.collect::<Vec<_>>().await, (3..40).map(|item| Ok(item * 2)).collect::<Vec<_>>());
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
