//! The time that something takes, and the heap it needs at its peak.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Counts the bytes that are held, and the most that ever were.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(held, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Runs `work` and prints how long it took and the heap it needed at its peak.
pub(crate) fn measure<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let before = HELD.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let begun = Instant::now();
    let done = work();
    let (seconds, heap) = (begun.elapsed().as_secs_f64(), MOST.load(Ordering::Relaxed) - before);
    println!("{what:<52} {seconds:>8.3} s {:>8.1} MiB of heap", heap as f64 / f64::from(1 << 20));
    done
}
