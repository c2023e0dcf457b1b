//! The places at which a writer may overtake who reads a file that is being written. In tests one goes on there; else nothing happens.

#[cfg(test)]
thread_local! {
    static WRITER: std::cell::RefCell<Option<Box<dyn FnMut()>>> = const { std::cell::RefCell::new(None) };
}

/// Lets the writer go on.
#[inline]
pub(in crate::load) fn step() {
    #[cfg(test)]
    WRITER.with_borrow_mut(|writer| writer.iter_mut().for_each(|writer| writer()));
}

/// Runs `read`, with a writer that goes on at each step of it.
#[cfg(all(test, unix))]
pub(in crate::load) fn beside<T>(writer: impl FnMut() + 'static, read: impl FnOnce() -> T) -> T {
    WRITER.set(Some(Box::new(writer)));
    let result = read();
    WRITER.set(None);
    result
}
