//! What a bundle holds, in some lines, and the report of what was redacted in it.

use std::io::{self, Write};

use ketcd_cluster::bundle::LeakPlace;
use ketcd_redact::{Class, ClassReport, Encoding, Report};

use super::command_line::CommandLine;
use super::contract::bundle::{Bundle, BundleEnd, Salt};
use super::style::{FAINT, STRONG, StyledWrite, paint};
use super::visible::visible;
use super::words::{bytes, grouped};

/// The first line of every report, by which an earlier one is known.
const REPORT_HEAD: &str = "What was redacted by ketcd bundle";
/// How many places of a class the report names.
const MAX_PATHS: usize = 40;

/// Writes what is in a bundle, and the command to go on with.
///
/// # Errors
/// The stream's.
pub fn write_text(bundle: &Bundle<'_>, next: &CommandLine, out: &mut dyn StyledWrite) -> io::Result<()> {
    let masked = match bundle.masked_secrets {
        0 => String::new(),
        secrets => format!("; values of {} masked", counted(secrets, "Secret")),
    };
    let held = format!(
        "{}: {} and {}, {} to {}, {}{masked}",
        visible(bundle.file),
        counted(bundle.objects, "object"),
        counted(bundle.revisions, "change"),
        end_words(bundle.from),
        end_words(bundle.to),
        bytes(bundle.bytes),
    );
    writeln!(out, "{}", paint(STRONG, &held))?;
    if bundle.reduced_objects > 0 {
        let reduced = counted(bundle.reduced_objects, "other object");
        let verb = if bundle.reduced_objects == 1 { "is" } else { "are" };
        writeln!(out, "{reduced} {verb} in it only as a scheduler reads them, so that explain gives the same verdicts")?;
    }
    if bundle.left_out_versions > 0 {
        let versions = counted(bundle.left_out_versions, "version");
        writeln!(out, "{versions} left out: what cannot be decoded cannot be redacted or masked")?;
    }
    if let Some(redaction) = &bundle.redaction {
        writeln!(out, "redacted: {}", replaced_words(&redaction.replaced))?;
        if redaction.salt == Salt::Random {
            let salt = "the salt of the pseudonyms is random and not kept; with --salt another bundle gets the same pseudonyms";
            writeln!(out, "{}", paint(FAINT, salt))?;
        }
        writeln!(out, "read {} before you send the bundle", visible(redaction.report))?;
    }
    writeln!(out, "next: {}", next)
}

/// `r12 at 2026-11-20T22:05:11Z`.
fn end_words(end: BundleEnd) -> String {
    let time = end.time.map(|time| format!(" at {}", time.0.strftime("%Y-%m-%d %H:%M:%S")));
    format!("r{}{}", end.revision, time.unwrap_or_default())
}

fn counted(count: u64, what: &str) -> String {
    numbered(count, what, &format!("{what}s"))
}

fn numbered(count: u64, one: &str, many: &str) -> String {
    let number = grouped(usize::try_from(count).unwrap_or(usize::MAX));
    format!("{number} {}", if count == 1 { one } else { many })
}

/// `1,204 names, 30 addresses`.
fn replaced_words(report: &Report) -> String {
    let replaced = report.classes.iter().filter(|class| class.replaced > 0);
    let words: Vec<String> = replaced
        .map(|class| {
            let ClassWords { one, many, .. } = class_words(class.class);
            format!("{} in {}", numbered(class.distinct, one, many), counted(class.replaced, "place"))
        })
        .collect();
    if words.is_empty() { "nothing of the chosen classes was there".to_owned() } else { words.join(", ") }
}

struct ClassWords {
    one: &'static str,
    many: &'static str,
    what: &'static str,
}

fn class_words(class: Class) -> ClassWords {
    let (one, many, what) = match class {
        Class::Secrets => ("secret", "secrets", "values of Secrets and other stored credentials: always"),
        Class::OwnWords => ("word of yours", "words of yours", "words that --values-from lists: always"),
        Class::Namespaces => ("namespace", "namespaces", "names of namespaces"),
        Class::Names => ("name", "names", "names of objects, containers, volumes and images, and labels"),
        Class::Values => ("value", "values", "environment values, data of ConfigMaps, arguments and annotations"),
        Class::Addresses => ("address", "addresses", "IP and MAC addresses, host names and e-mail addresses"),
        Class::Identities => ("identity", "identities", "users, groups and field managers that are not Kubernetes' own"),
        Class::Tokens => ("token", "tokens", "text shaped like a credential, wherever it stands"),
    };
    ClassWords { one, many, what }
}

/// Whether a file begins as a report.
pub fn is_report(head: &[u8]) -> bool {
    head.starts_with(REPORT_HEAD.as_bytes())
}

/// Writes the report of what was redacted, to be read before the bundle leaves. It holds no original value.
///
/// # Errors
/// The stream's.
pub fn write_report(bundle: &Bundle<'_>, replaced: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{REPORT_HEAD}")?;
    writeln!(out)?;
    // A report next to a bundle of another run is known by it.
    writeln!(out, "SHA-256:  {}", bundle.sha256)?;
    writeln!(out, "Bundle:   {}, {} and {}", bytes(bundle.bytes), counted(bundle.objects, "object"), counted(bundle.revisions, "change"))?;
    writeln!(out, "History:  {} to {}", end_words(bundle.from), end_words(bundle.to))?;
    if bundle.reduced_objects > 0 {
        writeln!(out, "Reduced:  {}, to what a scheduler reads", counted(bundle.reduced_objects, "other object"))?;
    }
    if bundle.left_out_versions > 0 {
        writeln!(out, "Left out: {}, which could not be decoded", counted(bundle.left_out_versions, "version"))?;
    }
    writeln!(out)?;
    for class in replaced.classes.iter().filter(|class| class.chosen) {
        write_class(class, out)?;
    }
    let kept: Vec<&str> = replaced.classes.iter().filter(|class| !class.chosen).map(|class| class_words(class.class).what).collect();
    if !kept.is_empty() {
        writeln!(out, "Not chosen, so still in the bundle:")?;
        kept.iter().try_for_each(|what| writeln!(out, "  {what}"))?;
        writeln!(out)?;
    }
    writeln!(
        out,
        "The whole bundle was searched for every original value that was replaced, as it is and in base64, gzip, hexadecimal, JSON and"
    )?;
    writeln!(
        out,
        "URL encoding. None was found. Values of classes that were not chosen were not searched for, nor were values shorter than"
    )?;
    writeln!(out, "eight characters and words that Kubernetes itself uses: these were replaced where a field holds them.")
}

fn write_class(class: &ClassReport, out: &mut dyn Write) -> io::Result<()> {
    let ClassWords { one, many, what } = class_words(class.class);
    writeln!(out, "{what}")?;
    if class.replaced == 0 {
        writeln!(out, "  none was there")?;
        return writeln!(out);
    }
    writeln!(out, "  {} in {}", numbered(class.distinct, one, &format!("different {many}")), counted(class.replaced, "place"))?;
    for path in class.paths.iter().take(MAX_PATHS) {
        writeln!(out, "  {:>8}  {}", path.count, visible(&path.path))?;
    }
    if class.paths.len() > MAX_PATHS {
        writeln!(out, "  {:>8}  more places", class.paths.len() - MAX_PATHS)?;
    }
    writeln!(out)
}

/// Says where a bundle that was not written would have held what was to go, without saying what.
pub fn leak_words(leaks: &[LeakPlace]) -> String {
    let place = |leak: &LeakPlace| {
        let encodings: Vec<&str> = leak.encodings.iter().map(encoding_words).collect();
        let encoded = if encodings.is_empty() { String::new() } else { format!(" as {}", encodings.join(" in ")) };
        let one = class_words(leak.class).one;
        let article = if one.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        format!("{article} {one}{encoded} in {}", visible(&leak.path))
    };
    leaks.iter().map(place).collect::<Vec<_>>().join(", ")
}

fn encoding_words(encoding: &Encoding) -> &'static str {
    match encoding {
        Encoding::Base64 => "base64",
        Encoding::Gzip => "gzip",
        Encoding::Hex => "hexadecimal",
        Encoding::Json => "JSON",
        Encoding::Url => "URL encoding",
    }
}

#[cfg(test)]
mod tests {
    use ketcd_cluster::Revision;
    use ketcd_cluster::bundle::BundleSummary;
    use ketcd_redact::PathCount;

    use super::super::command_line::Invocation;
    use super::super::contract::bundle::{BundleFile, Redaction};
    use super::super::style::plain;
    use super::*;

    const FILE: BundleFile<'static> = BundleFile { name: "it.ketcd", bytes: 2048, sha256: "ba5eba11" };

    fn summary() -> BundleSummary {
        let time = |text: &str| Some(text.parse().unwrap());
        BundleSummary {
            objects: 37,
            reduced: 1200,
            revisions: 1,
            masked: 2,
            left_out: 0,
            from: Revision(12),
            to: Revision(3190),
            times: (time("2026-11-20T22:05:11Z"), None),
        }
    }

    fn replaced() -> Report {
        let class = |class, chosen, distinct| ClassReport {
            chosen,
            class,
            distinct,
            paths: vec![PathCount { count: 2 * distinct, path: "Pod.metadata.name".to_owned() }],
            replaced: 2 * distinct,
        };
        Report {
            classes: vec![class(Class::Secrets, true, 0), class(Class::Names, true, 3), class(Class::Addresses, false, 0)],
            objects: 5,
        }
    }

    #[test]
    fn the_first_line_is_what_is_in_it_and_the_last_what_to_type() {
        let next = Invocation::new("ketcd", [("-f", "it.ketcd".to_owned())]).ketcd("triage");
        let write = |bundle: &Bundle<'_>| plain(|out| write_text(bundle, &next, out));
        assert_eq!(
            write(&Bundle::new(FILE, &summary(), None, None)),
            "it.ketcd: 37 objects and 1 change, r12 at 2026-11-20 22:05:11 to r3190, 2.0 KiB; values of 2 Secrets masked\n\
             1,200 other objects are in it only as a scheduler reads them, so that explain gives the same verdicts\n\
             next: ketcd -f it.ketcd triage\n"
        );
        let redaction = Redaction { replaced: replaced(), report: "it.ketcd.redacted.txt", salt: Salt::Random };
        let text = write(&Bundle::new(FILE, &BundleSummary { reduced: 0, ..summary() }, Some(redaction), None));
        assert!(text.contains("redacted: 3 names in 6 places\n"), "{text}");
        assert!(text.contains("random and not kept") && text.contains("read it.ketcd.redacted.txt before"), "{text}");
    }

    #[test]
    fn the_report_says_what_went_and_what_stays() {
        let mut out = Vec::new();
        write_report(&Bundle::new(FILE, &summary(), None, None), &replaced(), &mut out).unwrap();
        assert!(is_report(&out));
        let text = String::from_utf8(out).unwrap();
        for part in [
            "SHA-256:  ba5eba11",
            "3 different names in 6 places",
            "Pod.metadata.name",
            "none was there",
            "Not chosen",
            "IP and MAC addresses",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn a_leak_is_named_by_its_place() {
        let leak = |class, encodings: &[Encoding]| LeakPlace { class, encodings: encodings.to_vec(), path: "Pod.spec.x".to_owned() };
        assert_eq!(leak_words(&[leak(Class::Names, &[Encoding::Base64, Encoding::Json])]), "a name as base64 in JSON in Pod.spec.x");
        let leaks = [leak(Class::Addresses, &[]), leak(Class::Identities, &[]), leak(Class::OwnWords, &[])];
        assert_eq!(leak_words(&leaks), "an address in Pod.spec.x, an identity in Pod.spec.x, a word of yours in Pod.spec.x");
    }
}
