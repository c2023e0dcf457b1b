//! The user that etcd sees.

use super::config::EtcdConfig;
use super::tls;

/// The user that etcd sees: the user given or, without one, the common name of the client certificate.
pub(super) fn who(config: &EtcdConfig) -> String {
    if let Some(user) = user_name(config) {
        return format!("user {user:?}");
    }
    let Some(cert) = &config.cert else { return "this client".to_owned() };
    match tls::common_name(cert) {
        Some(name) => format!("user {name:?} (the common name in {})", cert.display()),
        None => format!("the user of the client certificate in {}", cert.display()),
    }
}

/// The user without what follows a colon: given with --password, `NAME:PASSWORD` is taken for a whole name.
pub(super) fn user_name(config: &EtcdConfig) -> Option<&str> {
    config.user.as_deref().map(|user| user.split(':').next().unwrap_or_default())
}
