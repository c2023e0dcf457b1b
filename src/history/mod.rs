//! Objects through many revisions: changes, the clock that dates them, who made them, and the stories they tell.

pub mod clock;
pub mod diff;
