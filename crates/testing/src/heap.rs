//! The heap that is in use, counted by the allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// An allocator that counts the bytes that are held, and the most that ever were. The test declares it:
///
/// ```
/// use ketcd_testing::heap::{Counting, peak};
///
/// #[global_allocator]
/// static COUNTING: Counting = Counting;
///
/// let (text, bytes) = peak(|| "x".repeat(1 << 20));
/// assert!(bytes >= text.len());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Counting;

static BYTES_HELD: AtomicUsize = AtomicUsize::new(0);
static MAX_BYTES_HELD: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = BYTES_HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MAX_BYTES_HELD.fetch_max(held, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        BYTES_HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(at, layout) }
    }
}

/// Does `work` and returns the bytes of heap that it needed at its peak.
pub fn peak<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = BYTES_HELD.load(Ordering::Relaxed);
    MAX_BYTES_HELD.store(before, Ordering::Relaxed);
    let done = work();
    (done, MAX_BYTES_HELD.load(Ordering::Relaxed) - before)
}
