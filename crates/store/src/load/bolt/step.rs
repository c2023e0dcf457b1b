//! The places at which a writer may overtake who reads a file that is being written. In tests one goes on there; else nothing happens.

#[cfg(test)]
thread_local! {
    static STEP_HOOK: std::cell::RefCell<Option<Box<dyn FnMut()>>> = const { std::cell::RefCell::new(None) };
}

/// Lets the writer go on.
#[inline]
pub(in crate::load) fn step() {
    #[cfg(test)]
    STEP_HOOK.with_borrow_mut(|writer| writer.iter_mut().for_each(|writer| writer()));
}

/// Runs `read`, with a writer that goes on at each step of it.
#[cfg(all(test, unix))]
pub(in crate::load) fn beside<T>(writer: impl FnMut() + 'static, read: impl FnOnce() -> T) -> T {
    STEP_HOOK.set(Some(Box::new(writer)));
    let result = read();
    STEP_HOOK.set(None);
    result
}
