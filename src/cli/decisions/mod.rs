//! Why pods run where they run: the answers of `explain` and `what-if`.

pub(in crate::cli) mod explanations;
pub(in crate::cli) mod live_view;
