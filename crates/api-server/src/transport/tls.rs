//! TLS to the API server: what the kubeconfig says, as a rustls configuration.

use ketcd_store::Result;
use ketcd_store::tls::{any_server, provider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use crate::kubeconfig::{Pem, TlsSettings};
use crate::problem::settings;

/// Returns the client's configuration. `client` is a certificate that an exec plugin handed out.
pub(super) fn config(tls: &TlsSettings, client: Option<&(Pem, Pem)>) -> Result<ClientConfig> {
    let unusable = |error: rustls::Error| settings(format!("TLS cannot be set up: {error}"), "check the certificates in the kubeconfig");
    let builder = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions().map_err(unusable)?;
    let builder = match tls.is_insecure {
        true => builder.dangerous().with_custom_certificate_verifier(any_server()),
        false => builder.with_root_certificates(trusted(tls.ca.as_ref())?),
    };
    let mut config = match client.or(tls.client.as_ref()) {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = certificates(certificate, "client certificate")?;
            let text = key.read("client key")?;
            let key = PrivateKeyDer::from_pem_slice(&text)
                .map_err(|_| settings("the client key holds no private key that can be read", "give it as PEM, not encrypted"))?;
            builder.with_client_auth_cert(chain, key).map_err(unusable)?
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn trusted(ca: Option<&Pem>) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    match ca {
        None => drop(roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
        Some(ca) => {
            for certificate in certificates(ca, "CA")? {
                let unusable = |error| settings(format!("the CA of the kubeconfig cannot be used: {error}"), "check certificate-authority");
                roots.add(certificate).map_err(unusable)?;
            }
        }
    }
    if roots.is_empty() {
        return Err(settings("the kubeconfig names no CA and the system trusts none", "give certificate-authority in the kubeconfig"));
    }
    Ok(roots)
}

fn certificates(pem: &Pem, what: &str) -> Result<Vec<CertificateDer<'static>>> {
    let text = pem.read(what)?;
    let found: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        // A key may be given in its place, so what cannot be read is not quoted.
        _ => Err(settings(format!("the {what} of the kubeconfig holds no certificate"), "give PEM with BEGIN CERTIFICATE in it")),
    }
}
