//! Parses objects in advance: one core parses the next objects while another applies the parsed ones to the state, one at a time.

use std::sync::mpsc;
use std::thread;

/// How many items are parsed before they are handed over.
const PART_ITEMS: usize = 256;
const MAX_WAITING_PARTS: usize = 4;

/// Parses items on another core and loads them in their order, until loading one fails.
///
/// # Errors
/// The error of `load`.
pub fn prefetch<'i, T: Sync, V: Send + 'i, E>(
    items: &'i [T],
    parse: impl Fn(&'i T) -> Option<V> + Sync,
    mut load: impl FnMut(V) -> Result<(), E>,
) -> Result<(), E> {
    if items.len() <= PART_ITEMS || thread::available_parallelism().is_ok_and(|cores| cores.get() == 1) {
        return items.iter().filter_map(parse).try_for_each(load);
    }
    thread::scope(|scope| {
        let (send, receive) = mpsc::sync_channel::<Vec<V>>(MAX_WAITING_PARTS);
        let parse = &parse;
        scope.spawn(move || {
            let mut parts = items.chunks(PART_ITEMS).map(|part| part.iter().filter_map(parse).collect());
            // Sending fails once the receiver is gone, because loading an item failed.
            parts.try_for_each(|part| send.send(part))
        });
        receive.into_iter().flatten().try_for_each(&mut load)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_loaded_in_their_order_until_one_fails() {
        for length in [10, 10_000] {
            let items: Vec<u32> = (0..length).collect();
            let mut taken = Vec::new();
            let odd = |item: &u32| (item % 2 == 1).then_some(*item);
            let all: Result<(), ()> = prefetch(&items, odd, |item| {
                taken.push(item);
                Ok(())
            });
            assert_eq!(all, Ok(()));
            assert!(taken.iter().copied().eq((1..length).step_by(2)));
            assert_eq!(prefetch(&items, odd, |item| if item > 5 { Err(item) } else { Ok(()) }), Err(7));
        }
    }
}
