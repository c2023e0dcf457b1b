//! Sizes, as flags take them.

use ketcd_kube::{Quantity, QuantityError};

/// Bytes, written as Kubernetes writes quantities: `16Gi`, `500M`.
pub(in crate::cli) fn size(text: &str) -> std::result::Result<u64, String> {
    let quantity: Quantity = text.parse().map_err(|error: QuantityError| error.to_string())?;
    u64::try_from(quantity.value()).ok().filter(|&bytes| bytes > 0).ok_or_else(|| "it must be greater than 0".to_owned())
}
