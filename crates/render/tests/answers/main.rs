//! Answers of clusters as they are shown: text for people, JSON for scripts.

mod absence;
mod explain;
mod explain_cases;
mod fixture;
mod tables;
mod timeline;
mod traces;
mod triage;
mod usage;
mod what_if;
