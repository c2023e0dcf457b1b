//! The command line on files: what each command prints, where it goes, and the errors on bad input.

mod absence;
mod addresses;
mod audit;
#[cfg(feature = "object-store")]
mod bucket;
mod companions;
mod complete;
mod credentials;
mod damage;
mod decode;
mod engineers;
mod explain;
mod explain_pods;
mod export;
mod extract;
mod flag_files;
mod fusion;
mod golden;
mod history;
mod ketcd;
mod kine;
mod kms_plugin;
mod kubectl;
mod leads;
mod leaks;
mod listing;
mod misplaced;
mod namespace;
mod objects;
mod openshift;
mod pager;
mod pairs;
mod pasted;
mod report_file;
mod shells;
mod states;
mod streams;
mod suggested;
mod terminal;
mod triage;
mod untrue_server;
mod verify;
mod what_if;
mod whole;
mod window;

use ketcd_testing::{data_dir as unpack, fake_etcd, pty};
