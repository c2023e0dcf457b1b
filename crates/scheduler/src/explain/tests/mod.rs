//! What attempts saw of each other, on small histories.

mod groups;
mod history;
mod images;
mod order;
mod relisted;
mod repeated;
mod settled;
mod unseen;
mod waiting;
