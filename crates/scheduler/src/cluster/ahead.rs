//! Reading ahead: while objects are taken into the state, which only one can do at a time, another core reads the next.

use std::sync::mpsc;
use std::thread;

/// How many items are read before they are handed on.
const PART: usize = 256;
/// How many parts may wait to be taken.
const WAITING: usize = 4;

/// Reads items and takes in what is read of them, in their order, until taking one in fails.
///
/// # Errors
/// That of `take`.
pub fn read_ahead<'i, T: Sync, V: Send + 'i, E>(
    items: &'i [T],
    read: impl Fn(&'i T) -> Option<V> + Sync,
    mut take: impl FnMut(V) -> Result<(), E>,
) -> Result<(), E> {
    if items.len() <= PART || thread::available_parallelism().is_ok_and(|cores| cores.get() == 1) {
        return items.iter().filter_map(read).try_for_each(take);
    }
    thread::scope(|scope| {
        let (send, receive) = mpsc::sync_channel::<Vec<V>>(WAITING);
        let read = &read;
        scope.spawn(move || {
            let mut parts = items.chunks(PART).map(|part| part.iter().filter_map(read).collect());
            // Sending fails once nobody takes them any more, because taking one in failed.
            parts.try_for_each(|part| send.send(part))
        });
        receive.into_iter().flatten().try_for_each(&mut take)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_taken_in_their_order_until_one_fails() {
        for length in [10, 10_000] {
            let items: Vec<u32> = (0..length).collect();
            let mut taken = Vec::new();
            let odd = |item: &u32| (item % 2 == 1).then_some(*item);
            let all: Result<(), ()> = read_ahead(&items, odd, |item| {
                taken.push(item);
                Ok(())
            });
            assert_eq!(all, Ok(()));
            assert!(taken.iter().copied().eq((1..length).step_by(2)));
            assert_eq!(read_ahead(&items, odd, |item| if item > 5 { Err(item) } else { Ok(()) }), Err(7));
        }
    }
}
