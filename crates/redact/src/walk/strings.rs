//! A string of the API by what its field says that it is: a name, a host, an image, an argument.

use crate::choice::Class;
use crate::fields::{self, Treatment};
use crate::mask::Mask;

/// Rewrites a string in which no JSON stands.
pub(super) fn rewritten(mask: &mut Mask, treatment: Treatment, member: &str, text: &str) -> String {
    match treatment {
        // The kubelet writes the node's name where others write a uid.
        Treatment::Api if member == "uid" && !is_uid(text) => mask.name(Class::Names, text),
        Treatment::Api => {
            of_api(mask, member, text);
            text.to_owned()
        }
        Treatment::Text => mask.text(text),
        // A port has a number or a name.
        Treatment::Name if member.ends_with("ort") && text.bytes().all(|byte| byte.is_ascii_digit()) => text.to_owned(),
        Treatment::Name => mask.name(Class::Names, text),
        Treatment::Namespace => mask.name(Class::Namespaces, text),
        Treatment::Host => mask.host(text),
        Treatment::Value if matches!(member, "args" | "command") => argument(mask, text),
        Treatment::Value => mask.value(text),
        Treatment::Image => mask.image(text),
        Treatment::Identity => mask.identity(text),
        Treatment::Identifier => mask.identifier(text),
        Treatment::Volume => volume(mask, text),
        Treatment::LabelKey => mask.label_key(text),
        Treatment::Certificate => match mask.of_certificates() {
            Some(class) => mask.gone_bytes(class, text),
            None => text.to_owned(),
        },
    }
}

/// What is part of the API stays wherever else it stands.
fn of_api(mask: &mut Mask, member: &str, text: &str) {
    if let Some((group, _)) = text.split_once('/').filter(|_| member == "apiVersion") {
        mask.literal(group);
    }
    let is_of_one_object =
        matches!(member, "uid" | "resourceVersion" | "containerID") || member.ends_with("Time") || member.ends_with("Timestamp");
    if !is_of_one_object {
        mask.literal(text);
    }
}

/// A word of a command line: flags stay, and so do settings of Kubernetes' own programs.
fn argument(mask: &mut Mask, text: &str) -> String {
    const PROGRAMS: [&str; 5] = ["etcd", "kubelet", "hyperkube", "coredns", "pause"];
    if !mask.choice.has(Class::Values) {
        return mask.text(text);
    }
    let program = text.rsplit('/').next().unwrap_or(text);
    if PROGRAMS.contains(&program) || program.starts_with("kube-") {
        mask.literal(text);
        return text.to_owned();
    }
    match text.split_once('=') {
        Some((flag, value)) if flag.starts_with('-') => {
            let value = if fields::is_public_flag(flag.trim_start_matches('-')) { mask.text(value) } else { mask.value(value) };
            format!("{}={value}", mask.text(flag))
        }
        _ if text.starts_with('-') && !text.contains(char::is_whitespace) => mask.text(text),
        _ => mask.value(text),
    }
}

/// A volume as its driver and the kubelet call it: what is before `^` is the driver.
fn volume(mask: &mut Mask, text: &str) -> String {
    match text.split_once('^') {
        Some((driver, handle)) => format!("{driver}^{}", mask.name(Class::Names, handle)),
        None => mask.name(Class::Names, text),
    }
}

fn is_uid(text: &str) -> bool {
    text.len() >= 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Whether a string of a custom resource is more than a name, a number or a word of an enumeration.
pub(super) fn is_free(text: &str) -> bool {
    /// Longer strings are texts.
    const MAX_WORD_CHARS: usize = 40;
    text.len() > MAX_WORD_CHARS
        || text.contains(|c: char| c.is_whitespace() || matches!(c, '=' | '@' | '\\' | '"' | '{'))
        || text.contains("://")
}
