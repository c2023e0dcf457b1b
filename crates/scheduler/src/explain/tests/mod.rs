//! What attempts saw of each other, on small histories.

mod groups;
mod history;
mod images;
mod neighbour_order;
mod order;
mod relisted;
mod repeated;
mod unseen;
mod waiting;
