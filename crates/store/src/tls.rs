//! TLS that clients of etcd and of API servers share: the provider of ciphers, reading credentials, and waiving verification.

use std::fs::File;
use std::io::{Error, Read, Result as IoResult};
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use zeroize::Zeroizing;

/// Returns the provider of ciphers.
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Returns a verifier that accepts any certificate, for users who explicitly waive verification.
pub fn any_server() -> Arc<dyn ServerCertVerifier> {
    Arc::new(AnyServer)
}

/// Reads a file of certificates, keys or tokens: 16 MiB at most, which is more than any bundle of CAs.
///
/// # Errors
///
/// The system's, or that the file is larger.
pub fn read_credentials(path: &Path) -> IoResult<Zeroizing<Vec<u8>>> {
    const MAX_FILE_BYTES: u64 = 16 << 20;
    let mut bytes = Zeroizing::new(Vec::new());
    let length = File::open(path)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if length as u64 > MAX_FILE_BYTES { Err(Error::other("it is larger than 16 MiB")) } else { Ok(bytes) }
}

#[derive(Debug)]
struct AnyServer;

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    // The signature would only prove possession of a key nobody vouches for, and checking it fails on X.509 v1 certificates.
    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider().signature_verification_algorithms.supported_schemes()
    }
}
