//! Names that API servers and controllers make up.

/// Whether it is what ends a generated name: five of the consonants and digits that cannot spell a word (apimachinery `pkg/util/rand`).
pub(crate) fn is_suffix(end: &str) -> bool {
    end.len() == 5 && end.bytes().all(|byte| b"bcdfghjklmnpqrstvwxz2456789".contains(&byte))
}

/// Whether a Secret's name is one that the token controller (up to 1.23) or OpenShift made up for a ServiceAccount.
pub(crate) fn is_token_secret(name: &str, account: &str) -> bool {
    let rest = name.strip_prefix(account);
    rest.is_some_and(|rest| ["-token-", "-dockercfg-"].iter().any(|middle| rest.strip_prefix(middle).is_some_and(is_suffix)))
}
