//! What decodes objects for clients of an API.

use ketcd_kube::Decoder;

use crate::cluster::Cluster;

/// What decodes objects as API servers return them, with their members in that order.
pub(super) fn decoder(cluster: &Cluster) -> Decoder {
    cluster.reporting_decoder.clone().keeping_order()
}
