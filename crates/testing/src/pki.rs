//! A certificate authority for one test, and what it signs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use tempfile::TempDir;

use crate::loopback;

/// A CA and the folder that its files are in.
pub struct Pki {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate with its key, as files.
#[derive(Clone)]
pub struct Pair {
    /// The certificate.
    pub cert: PathBuf,
    /// Its key, which only its owner may read.
    pub key: PathBuf,
}

impl Default for Pki {
    fn default() -> Self {
        Self::new()
    }
}

impl Pki {
    /// A CA named `etcd-ca`, as kubeadm names every one.
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name = named("etcd-ca");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().unwrap();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ca.crt"), params.self_signed(&key).unwrap().pem()).unwrap();
        Self { folder, issuer: Issuer::new(params, key) }
    }

    /// The CA's certificate.
    pub fn ca(&self) -> PathBuf {
        self.path("ca.crt")
    }

    /// A file of this folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A server's certificate for this process's address; members of a cluster, which are each other's clients, come from 127.0.0.1.
    pub fn server(&self) -> Pair {
        self.issue("server", &[&loopback::host().to_string(), "127.0.0.1", "localhost"], |_| ())
    }

    /// A client's certificate.
    pub fn client(&self) -> Pair {
        self.issue("client", &[], |_| ())
    }

    /// A certificate with `change` made to it before it is signed.
    pub fn issue(&self, name: &str, hosts: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Pair {
        self.issue_for(name, hosts, &KeyPair::generate().unwrap(), change)
    }

    /// A certificate for a given key.
    pub fn issue_for(&self, name: &str, hosts: &[&str], key: &KeyPair, change: impl FnOnce(&mut CertificateParams)) -> Pair {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let mut params = CertificateParams::new(hosts).unwrap();
        params.distinguished_name = named(name);
        params.use_authority_key_identifier_extension = true;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        change(&mut params);
        let pair = Pair { cert: self.path(&format!("{name}.crt")), key: self.path(&format!("{name}.key")) };
        fs::write(&pair.cert, params.signed_by(key, &self.issuer).unwrap().pem()).unwrap();
        fs::write(&pair.key, key.serialize_pem()).unwrap();
        fs::set_permissions(&pair.key, fs::Permissions::from_mode(0o600)).unwrap();
        pair
    }
}

/// A change that makes a certificate end in 2020.
pub fn expired(params: &mut CertificateParams) {
    params.not_before = date_time_ymd(2019, 1, 1);
    params.not_after = date_time_ymd(2020, 1, 1);
}

/// Writes the key of a PKCS#8 file in the older form it wraps: SEC1 (`EC PRIVATE KEY`) or PKCS#1 (`RSA PRIVATE KEY`).
pub fn unwrap_pkcs8(from: &Path, label: &str, to: &Path) {
    let text = fs::read_to_string(from).unwrap();
    let body: String = text.lines().filter(|line| !line.starts_with("-----")).collect();
    let der = base64::engine::general_purpose::STANDARD.decode(body).unwrap();
    let inner = last_octet_string(&der);
    let body = base64::engine::general_purpose::STANDARD.encode(inner);
    let lines: Vec<&str> = body.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    fs::write(to, format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))).unwrap();
}

/// The OCTET STRING that ends a PKCS#8 structure: SEQUENCE { version, algorithm, OCTET STRING }.
fn last_octet_string(der: &[u8]) -> &[u8] {
    let (_, mut rest, _) = element(der);
    loop {
        let (tag, content, after) = element(rest);
        if tag == 4 {
            return content;
        }
        rest = after;
    }
}

/// Splits the first DER element off: its tag, its content, what follows it.
fn element(der: &[u8]) -> (u8, &[u8], &[u8]) {
    let (header, length) = match der[1] {
        short @ 0..=0x7f => (2, usize::from(short)),
        long => {
            let count = usize::from(long & 0x7f);
            (2 + count, der[2..2 + count].iter().fold(0, |length, byte| length << 8 | usize::from(*byte)))
        }
    };
    (der[0], &der[header..header + length], &der[header + length..])
}

fn named(name: &str) -> DistinguishedName {
    let mut named = DistinguishedName::new();
    named.push(DnType::CommonName, name);
    named
}
