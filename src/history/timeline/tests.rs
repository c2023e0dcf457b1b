//! Stories told of small made-up histories.
