//! The command line on files: what each command prints, where it goes, and the errors on bad input.

mod absence;
mod archives;
mod complete;
mod credentials;
mod damage;
mod data_dir;
mod decode;
mod decoding_damage;
mod encryption;
mod explain;
mod explain_pods;
mod export;
mod extract;
#[path = "../support/fake_etcd.rs"]
mod fake_etcd;
mod files;
mod flag_files;
mod fusion;
mod golden;
mod history;
#[path = "../support/ketcd.rs"]
mod ketcd;
mod kine;
mod kms_plugin;
mod kubectl;
mod leaks;
mod listing;
mod misplaced;
mod namespace;
#[path = "../support/object_key.rs"]
mod object_key;
mod objects;
mod pasted;
#[path = "../support/pty.rs"]
mod pty;
mod report_file;
mod shells;
#[path = "../support/snapshot.rs"]
mod snapshot;
mod streams;
mod tables;
mod terminal;
mod timeline;
mod triage;
#[path = "../support/data_dir.rs"]
mod unpack;
mod unreadable;
mod untrue_server;
mod usage;
mod written;
