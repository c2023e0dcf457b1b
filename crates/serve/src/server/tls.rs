//! TLS: the user's certificate, or one made for the run; either is what the kubeconfig trusts. client-go sends no token to a server without TLS.

use std::error::Error;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

/// The files of a certificate that the user has for the server.
#[derive(Clone, Debug)]
pub struct CertificateFiles {
    /// The certificate and those that vouch for it, in PEM.
    pub certificate: PathBuf,
    /// Its key, in PEM.
    pub key: PathBuf,
}

/// A server's certificate.
pub(crate) struct Certificate {
    /// What speaks TLS with it.
    pub acceptor: TlsAcceptor,
    /// The certificates, in PEM, for clients to trust.
    pub pem: String,
    /// The names and addresses it is for.
    pub names: Vec<String>,
}

impl Certificate {
    /// Makes a certificate for these names and addresses. Its key is never written anywhere.
    ///
    /// # Errors
    /// The library's.
    pub(crate) fn for_run(names: Vec<String>) -> Result<Self, Box<dyn Error>> {
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(names.clone())?.self_signed(&key)?;
        let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        Ok(Self { acceptor: acceptor(vec![certificate.der().clone()], private)?, pem: certificate.pem(), names })
    }

    /// Reads the user's certificate.
    ///
    /// # Errors
    /// A sentence: a file cannot be read, holds none, or key and certificate do not belong together.
    pub(crate) fn read(files: &CertificateFiles) -> Result<Self, String> {
        let unreadable = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let chain: Result<Vec<CertificateDer<'static>>, _> =
            CertificateDer::pem_file_iter(&files.certificate).and_then(|found| found.collect());
        let chain = chain.map_err(|error| unreadable(&files.certificate, &pem_problem(&error)))?;
        let first = chain.first().ok_or_else(|| unreadable(&files.certificate, &"it contains no certificate"))?;
        let names = names(first).map_err(|error| unreadable(&files.certificate, &error))?;
        let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| unreadable(&files.key, &pem_problem(&error)))?;
        let pem = chain.iter().map(|certificate| pem(certificate)).collect();
        let acceptor = acceptor(chain, key).map_err(|error| unreadable(&files.key, &error))?;
        Ok(Self { acceptor, pem, names })
    }
}

/// What is wrong with a PEM file; the library's words repeat lines of it.
fn pem_problem(error: &pem::Error) -> String {
    match error {
        pem::Error::Io(error) => error.to_string(),
        pem::Error::NoItemsFound => "it contains no item of this kind".to_owned(),
        _ => "it is not valid PEM".to_owned(),
    }
}

fn acceptor(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Result<TlsAcceptor, rustls::Error> {
    let builder = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let mut config = builder.with_safe_default_protocol_versions()?.with_no_client_auth().with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// The names and addresses that a certificate is for.
fn names(certificate: &CertificateDer<'_>) -> Result<Vec<String>, String> {
    let (_, parsed) = X509Certificate::from_der(certificate).map_err(|error| error.to_string())?;
    let alternative = parsed.subject_alternative_name().map_err(|error| error.to_string())?;
    let found = alternative.into_iter().flat_map(|found| &found.value.general_names).filter_map(|name| match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => address(bytes).map(|address| address.to_string()),
        _ => None,
    });
    Ok(found.collect())
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let four = || <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from);
    four().or_else(|| <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from))
}

fn pem(certificate: &[u8]) -> String {
    let text = STANDARD.encode(certificate);
    let lines: Vec<&str> = (0..text.len()).step_by(64).map(|start| &text[start..text.len().min(start + 64)]).collect();
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
}
