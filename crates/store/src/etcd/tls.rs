//! TLS to etcd: certificates and keys from PEM files into a rustls configuration.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use zeroize::Zeroizing;

use super::config::EtcdConfig;
use crate::tls::{any_server, provider, read_credentials};
use crate::{Error, Result};

/// Returns the client configuration that `config` describes: who is trusted, and who we say we are.
///
/// # Errors
/// A file that cannot be read or holds no PEM of its kind, an encrypted key, a key that is not the certificate's.
pub(super) fn client_config(config: &EtcdConfig) -> Result<ClientConfig> {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| trouble(format!("TLS cannot be set up: {error}"), None))?;
    let builder = if config.insecure_skip_tls_verify {
        builder.dangerous().with_custom_certificate_verifier(any_server())
    } else {
        builder.with_root_certificates(trusted(config.cacert.as_deref())?)
    };
    match (&config.cert, &config.key) {
        (Some(cert), Some(key)) => {
            let chain = certificates("--cert", cert)?;
            builder.with_client_auth_cert(chain, private_key(key)?).map_err(|error| mismatch(cert, key, &error))
        }
        (None, None) => Ok(builder.with_no_client_auth()),
        (Some(cert), None) => {
            Err(trouble(format!("{} comes without its key", cert.display()), Some("give its private key with --key".to_owned())))
        }
        (None, Some(key)) => {
            Err(trouble(format!("{} comes without its certificate", key.display()), Some("give its certificate with --cert".to_owned())))
        }
    }
}

/// A configuration that trusts everybody and says nothing of us: to find out whether a port speaks TLS at all.
pub(super) fn probe_config() -> Option<Arc<ClientConfig>> {
    let builder = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions().ok()?;
    Some(Arc::new(builder.dangerous().with_custom_certificate_verifier(any_server()).with_no_client_auth()))
}

/// The common name of the first certificate in a file: the user that etcd takes its owner for.
pub(super) fn common_name(path: &Path) -> Option<String> {
    let chain = certificates("--cert", path).ok()?;
    let (_, certificate) = x509_parser::parse_x509_certificate(chain.first()?).ok()?;
    certificate.subject().iter_common_name().next()?.as_str().ok().map(str::to_owned)
}

fn trusted(cacert: Option<&Path>) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let Some(path) = cacert else {
        let system = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(system.certs);
        if roots.is_empty() {
            return Err(trouble(
                "no CA was given and the system trusts none".to_owned(),
                Some("give the CA that signed etcd's certificate with --cacert".to_owned()),
            ));
        }
        return Ok(roots);
    };
    for certificate in certificates("--cacert", path)? {
        roots.add(certificate).map_err(|error| {
            trouble(
                format!("{} holds a certificate that cannot be a CA: {error}", path.display()),
                Some("give the CA that signed etcd's certificate with --cacert".to_owned()),
            )
        })?;
    }
    Ok(roots)
}

fn certificates(flag: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    // A key may be given in a certificate's place, so what cannot be read is not quoted.
    let text = read(flag, path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(trouble(
            format!("{} holds no certificate", path.display()),
            Some("give a PEM file with BEGIN CERTIFICATE in it".to_owned()),
        )),
        Err(_) => Err(trouble(
            format!("{} is not a readable PEM file", path.display()),
            Some("give a PEM file with BEGIN CERTIFICATE in it".to_owned()),
        )),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>> {
    let text = read("--key", path)?;
    let has = |mark: &[u8]| text.windows(mark.len()).any(|window| window == mark);
    if has(b"BEGIN ENCRYPTED PRIVATE KEY") || has(b"Proc-Type: 4,ENCRYPTED") {
        return Err(trouble(
            format!("the key in {} is encrypted", path.display()),
            Some(format!("decrypt it first: openssl pkey -in {} -out PLAIN.key, then --key PLAIN.key", path.display())),
        ));
    }
    PrivateKeyDer::from_pem_slice(&text).map_err(|_| {
        trouble(
            format!("{} holds no private key that can be read", path.display()),
            Some("give a PEM file with BEGIN PRIVATE KEY, BEGIN RSA PRIVATE KEY or BEGIN EC PRIVATE KEY in it".to_owned()),
        )
    })
}

fn mismatch(cert: &Path, key: &Path, error: &rustls::Error) -> Error {
    let (cert, key) = (cert.display(), key.display());
    match error {
        rustls::Error::InconsistentKeys(_) => trouble(
            format!("the key in {key} is not that of the certificate in {cert}"),
            Some("give the --cert and --key that were made together".to_owned()),
        ),
        other => trouble(
            format!("the certificate in {cert} and the key in {key} cannot be used: {other}"),
            Some("give a certificate with an RSA (2048 bits and up), ECDSA (P-256, P-384) or Ed25519 key".to_owned()),
        ),
    }
}

fn read(flag: &str, path: &Path) -> Result<Zeroizing<Vec<u8>>> {
    read_credentials(path).map_err(|error| {
        trouble(format!("cannot read {flag} {}: {error}", path.display()), Some("check the path and its permissions".to_owned()))
    })
}

fn trouble(problem: String, hint: Option<String>) -> Error {
    Error::Remote { endpoint: String::new(), problem, hint }
}
