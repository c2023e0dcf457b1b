//! Equal to upstream: decoding compared with API servers, the scheduler's rules with released schedulers and recorded decisions.

mod captures;
mod changes;
mod configurations;
mod decoding;
mod differential;
mod groups;
mod legacy;
mod legacy_attempts;
mod legacy_policy;
mod object_key;
mod plugins;
mod profiles;
mod recorded_devices;
mod releases;
mod sampling;
mod storage_versions;
