#![doc = include_str!("../README.md")]

pub use k8s_openapi::api;
pub use k8s_openapi::apiextensions_apiserver;
pub use k8s_openapi::apimachinery;
pub use k8s_openapi::kube_aggregator;

mod address;
mod as_decoded;
mod borrowed;
mod custom_kind;
mod custom_schemas;
mod decoder;
mod encoder;
pub mod encryption;
mod field_selector;
mod field_set;
mod field_term;
pub mod go_duration;
mod kinds;
mod label_name;
mod nearest;
mod object;
mod observer;
pub mod proto;
mod quantity;
mod read_fields;
mod registry_key;
mod release;
mod release_evidence;
mod requirement;
mod secret;
mod selector;
mod selector_text;

pub use address::{Address, AddressError, Scope};
pub use as_decoded::as_decoded;
pub use borrowed::{Pairs, Text};
pub use custom_kind::{PrinterColumn, compare_versions};
pub use custom_schemas::CustomSchemas;
#[doc(hidden)]
pub use decoder::counted::decodes;
pub use decoder::{Apart, COMPACT_REV_KEY, Decoder, Excerpt, Shown, ShownValue, StoredVersion};
pub use encoder::{ENVELOPE_TAIL, EncodeError, Encoder, append_watch_event, encode, envelope_head};
pub use field_selector::FieldSelector;
pub use field_set::FieldSet;
pub use field_term::FieldTerm;
pub use kinds::{Kind, Kinds, UnknownKind};
pub use label_name::{LabelWords, is_label_key, is_label_value};
pub use object::{Body, Decoded, Object, Opaque, UnknownField, condition};
pub use observer::Observer;
pub use quantity::{Format, Quantity, QuantityError};
pub use registry_key::{ObjectPath, RegistryKey, Resource, find_prefixes, normalize_prefix};
pub use release::{NoRelease, Release};
pub use release_evidence::ReleaseEvidence;
pub use requirement::{Operator, Requirement};
pub use secret::{MASK, is_secret_key};
pub use selector::{LabelSelector, LabelSet, SelectorError};
