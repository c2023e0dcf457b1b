//! Ways to the code under test: the library's source, and the built binary.

use std::sync::Arc;

use ketcd::store::etcd::{EtcdConfig, EtcdSource};

use crate::etcd::Etcd;
use crate::pki::Pki;

/// How to reach `etcd` with a client certificate of `pki`.
pub fn config(etcd: &Etcd, pki: &Pki) -> EtcdConfig {
    let client = pki.client();
    EtcdConfig {
        endpoints: vec![etcd.endpoint()],
        cacert: Some(pki.ca()),
        cert: Some(client.cert),
        key: Some(client.key),
        ..EtcdConfig::default()
    }
}

/// A source whose notices go to the test's output.
pub fn open(config: EtcdConfig) -> EtcdSource {
    EtcdSource::new(config, Arc::new(|notice: &str| eprintln!("notice: {notice}"))).unwrap()
}
