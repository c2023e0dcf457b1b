//! What-ifs of recorded clusters and of small ones that a test makes up, asked as a program asks them: without a command line.

mod bounds;
mod chance;
mod controllers;
mod decisions;
mod experiments;
mod fixture;
mod gangs;
mod nodes_lost;
mod remedies;
mod side_by_side;
mod what_if;
