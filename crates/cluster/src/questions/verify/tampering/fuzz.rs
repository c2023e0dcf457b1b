//! Entry points for fuzz targets into private parsers. They take and return bytes, so that no type becomes public.

use super::json_form::JsonForm;
use super::wire;

/// The bytes of an object's spec in stored protobuf; `None` where the value is not protobuf, or has not exactly one.
pub fn spec(value: &[u8]) -> Option<&[u8]> {
    wire::spec(value)
}

/// Whether JSON is in the form in which API servers store it.
pub fn is_as_api_servers_write(text: &[u8]) -> bool {
    JsonForm::of(text) == JsonForm::OF_API_SERVERS
}
