//! Objects through many revisions: changes, clocks, timelines.
