//! Names in the form of DNS, which groups, versions, resources and namespaces have: `apimachinery/pkg/util/validation` IsDNS1123Label and
//! IsDNS1123Subdomain (v1.37).

/// The longest a label may be, in bytes.
const LONGEST_LABEL: usize = 63;
/// The longest a subdomain may be, in bytes.
const LONGEST_SUBDOMAIN: usize = 253;

/// Returns whether a text is a DNS label: lower case letters, digits and `-`, which neither begins nor ends it.
pub fn is_dns_label(text: &str) -> bool {
    text.len() <= LONGEST_LABEL && is_label(text)
}

/// Returns whether a text is a DNS subdomain: labels joined by dots.
pub fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= LONGEST_SUBDOMAIN && is_subdomain(text)
}

/// The same, however long.
pub(crate) fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

fn is_label(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|byte| plain(*byte))
        && bytes.last().is_some_and(|byte| plain(*byte))
        && bytes.iter().all(|byte| plain(*byte) || *byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_the_form_of_dns() {
        let (long, longer) = ("a".repeat(64), "a.".repeat(127) + "a");
        for (text, label, subdomain) in [
            ("pods", true, true),
            ("v1beta1", true, true),
            ("metrics.k8s.io", false, true),
            ("1a", true, true),
            ("", false, false),
            ("..", false, false),
            ("a..b", false, false),
            ("-a", false, false),
            ("a-", false, false),
            ("A", false, false),
            ("a/b", false, false),
            ("a,b", false, false),
            ("--raw=x", false, false),
            ("a\n", false, false),
            (&long, false, true),
            (&longer, false, false),
        ] {
            assert_eq!((is_dns_label(text), is_dns_subdomain(text)), (label, subdomain), "{text:?}");
        }
    }
}
