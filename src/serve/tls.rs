//! TLS: a certificate made for one run, which the kubeconfig pins. client-go sends no token to a server without TLS.

use std::net::IpAddr;
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

/// A server's certificate.
pub(super) struct Certificate {
    /// What speaks TLS with it.
    pub acceptor: TlsAcceptor,
    /// The certificate, for clients.
    pub pem: String,
}

impl Certificate {
    /// Makes a certificate for an address of this machine. Its key is never written anywhere.
    ///
    /// # Errors
    /// The library's.
    pub(super) fn for_run(ip: IpAddr) -> Result<Self, Box<dyn std::error::Error>> {
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(vec![ip.to_string(), "localhost".to_owned()])?.self_signed(&key)?;
        let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let builder = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions()?.with_no_client_auth();
        let mut config = builder.with_single_cert(vec![certificate.der().clone()], private)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), pem: certificate.pem() })
    }
}
