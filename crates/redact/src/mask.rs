//! What becomes of one text, by what it is: a name, a value, an address, or text in which they stand.

use std::cell::Cell;
use std::collections::HashSet;
use std::net::IpAddr;
use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ketcd_kube::VALUE_MASK;

use crate::addresses::{self, Addresses, Found};
use crate::choice::{Choice, Class};
use crate::encodings;
use crate::images;
use crate::keyed::Keyed;
use crate::memo::Memo;
use crate::names::Names;
use crate::own_words::OwnWords;
use crate::shapes;
use crate::tally::Tally;
use crate::values::Values;
use crate::vocabulary::{is_public_key, is_public_manager};
use crate::words::{Occurrence, Words};

/// Digits of the hash that stands for a value.
const VALUE_DIGITS: usize = 12;
/// What is encoded within what is encoded is looked into so often: a Helm release is three deep.
const MAX_DEPTH: usize = 4;

/// Everything that is known of what goes, and the pseudonyms.
#[derive(Debug)]
pub(crate) struct Mask {
    pub choice: Choice,
    keyed: Keyed,
    names: Names,
    addresses: Addresses,
    pub words: Words,
    pub values: Values,
    pub own_words: OwnWords,
    pub tally: Tally,
    /// Whether objects are looked through before the first is rewritten.
    pub is_learning: bool,
    /// Where the text stands, for the report.
    pub path: String,
    /// Addresses that went, and those that stand for them.
    original_addresses: HashSet<IpAddr>,
    issued_addresses: HashSet<IpAddr>,
    /// Names of the object around the text: they are meant where they stand in it, even if they are words of Kubernetes.
    pub context: HashSet<String>,
    /// Whether what was rewritten since this was cleared depends on those names.
    pub asked_context: bool,
    pub memo: Memo,
}

/// A stretch of a text that goes.
struct Cut {
    range: Range<usize>,
    class: Class,
    pseudonym: String,
}

impl Mask {
    pub(crate) fn new(choice: Choice, salt: &[u8], own_words: &[String]) -> Self {
        let keyed = Keyed::new(salt);
        Self {
            choice,
            names: Names::new(keyed.clone()),
            addresses: Addresses::new(keyed.clone()),
            words: Words::default(),
            values: Values::default(),
            own_words: OwnWords::new(keyed.clone(), own_words),
            keyed,
            tally: Tally::default(),
            is_learning: false,
            path: String::new(),
            original_addresses: HashSet::new(),
            issued_addresses: HashSet::new(),
            context: HashSet::new(),
            asked_context: false,
            memo: Memo::default(),
        }
    }

    /// Counts a replacement and returns it.
    fn replaced(&mut self, class: Class, original: &str, pseudonym: String) -> String {
        if !self.is_learning && original != pseudonym {
            self.tally.count(class, &self.path, original);
        }
        pseudonym
    }

    /// A name of an object or of a part of one; of class names or namespaces.
    pub(crate) fn name(&mut self, class: Class, name: &str) -> String {
        if name.parse::<IpAddr>().is_ok() {
            return self.text(name);
        }
        if !self.choice.has(class) {
            return self.unchosen(name);
        }
        let mapped = self.names.name(name);
        if self.is_learning {
            self.words.learn(class, name, &mapped);
            if mapped == name {
                self.words.keep(name);
            }
        }
        self.replaced(class, name, mapped)
    }

    /// A name whose class stays: only names of namespaces in it go, where those do.
    fn unchosen(&mut self, name: &str) -> String {
        if self.is_learning {
            self.values.keep(name);
            return name.to_owned();
        }
        let mut cuts = Vec::new();
        self.cut_names(name, &mut cuts);
        self.cut_addresses(name, &mut cuts);
        self.assemble(name, cuts)
    }

    /// A host: a name too, as nodes are called like theirs.
    pub(crate) fn host(&mut self, host: &str) -> String {
        // One without a domain is a node's name.
        let class = if self.choice.has(Class::Addresses) && host.contains('.') { Class::Addresses } else { Class::Names };
        if host.parse::<IpAddr>().is_ok() || host.contains(':') { self.text(host) } else { self.name(class, host) }
    }

    /// The key of a label, an annotation, a taint or a finalizer.
    pub(crate) fn label_key(&mut self, key: &str) -> String {
        /// Keys that end in the name of a container.
        const OF_CONTAINERS: [&str; 2] =
            ["container.apparmor.security.beta.kubernetes.io/", "container.seccomp.security.alpha.kubernetes.io/"];
        if let Some(prefix) = OF_CONTAINERS.iter().find(|prefix| key.starts_with(**prefix)) {
            return format!("{prefix}{}", self.name(Class::Names, &key[prefix.len()..]));
        }
        if is_public_key(key) {
            if self.is_learning {
                self.words.keep(key);
                self.values.keep(key);
            }
            return key.to_owned();
        }
        self.name(Class::Names, key)
    }

    /// A text that stays because it is Kubernetes' own.
    pub(crate) fn literal(&mut self, text: &str) {
        if self.is_learning {
            self.words.keep(text);
            self.values.keep(text);
        }
    }

    /// A reference to an image.
    pub(crate) fn image(&mut self, image: &str) -> String {
        if images::is_public(image) {
            self.literal(image);
            return image.to_owned();
        }
        if !self.choice.has(Class::Names) {
            if self.is_learning {
                self.values.keep(image);
            }
            return self.text(image);
        }
        let mapped = images::image(&mut self.names, &self.keyed, image);
        if self.is_learning {
            self.words.learn(Class::Names, image, &mapped);
        }
        self.replaced(Class::Names, image, mapped)
    }

    /// A user, a group or a field manager.
    pub(crate) fn identity(&mut self, identity: &str) -> String {
        if identity.starts_with("system:") {
            return self.name(Class::Names, identity);
        }
        if is_public_manager(identity) {
            self.literal(identity);
            return identity.to_owned();
        }
        if self.choice.has(Class::Identities) { self.name(Class::Identities, identity) } else { self.text(identity) }
    }

    /// An id of a machine or volume: digits become others.
    pub(crate) fn identifier(&mut self, id: &str) -> String {
        if !self.choice.has(Class::Names) {
            return self.text(id);
        }
        let mut digits = self.keyed.hex("id", &id.to_lowercase(), 64).into_bytes().into_iter().cycle();
        let mapped = id.chars().map(|c| if c.is_ascii_alphanumeric() { digits.next().map_or(c, char::from) } else { c }).collect();
        if self.is_learning {
            self.values.learn(Class::Names, id.as_bytes());
        }
        self.replaced(Class::Names, id, mapped)
    }

    /// A value: of an environment variable, a key of a ConfigMap, an argument, an annotation.
    pub(crate) fn value(&mut self, value: &str) -> String {
        if self.choice.has(Class::Values) { self.gone(Class::Values, value) } else { self.text(value) }
    }

    /// A value that goes whatever it is.
    pub(crate) fn gone(&mut self, class: Class, value: &str) -> String {
        if is_gone(class, value) {
            return value.to_owned();
        }
        self.learn_gone(class, value.as_bytes());
        let mapped = self.stand_in(value.as_bytes());
        self.replaced(class, value, mapped)
    }

    /// Bytes in base64 that go whatever they are.
    pub(crate) fn gone_bytes(&mut self, class: Class, value: &str) -> String {
        if is_gone(class, value) {
            return value.to_owned();
        }
        let bytes = STANDARD.decode(value).unwrap_or_else(|_| value.as_bytes().to_vec());
        self.learn_gone(class, &bytes);
        let mapped = STANDARD.encode(self.stand_in(&bytes));
        self.replaced(class, value, mapped)
    }

    /// The class of certificates, which name hosts, users and organisations; `None` where all of these stay.
    pub(crate) fn of_certificates(&self) -> Option<Class> {
        [Class::Values, Class::Names, Class::Addresses, Class::Identities].into_iter().find(|class| self.choice.has(*class))
    }

    /// Learns a value. A certificate without its key is not secret elsewhere: the authority's lies in every namespace.
    fn learn_gone(&mut self, class: Class, value: &[u8]) {
        let is_certificate = value.starts_with(b"-----BEGIN CERTIFICATE") && !value.windows(11).any(|part| part == b"PRIVATE KEY");
        if self.is_learning && !(class == Class::Secrets && is_certificate) {
            self.values.learn(class, value);
        }
    }

    /// What stands for a value: equal ones have equal ones.
    fn stand_in(&self, value: &[u8]) -> String {
        let digest = self.keyed.digest("value", value.trim_ascii());
        let digits = digest.iter().take(VALUE_DIGITS).map(|byte| char::from(crate::keyed::DIGITS[usize::from(byte & 31)]));
        "redacted-".chars().chain(digits).collect()
    }

    /// Text in which names, values, addresses and credentials may stand.
    pub(crate) fn text(&mut self, text: &str) -> String {
        if self.is_learning {
            self.learn_text(text, MAX_DEPTH);
            return text.to_owned();
        }
        if text.is_empty() { String::new() } else { self.text_at(text, MAX_DEPTH) }
    }

    /// Learns what a text tells by its shape, so that it is found where it is written in another way.
    fn learn_text(&mut self, text: &str, depth: usize) {
        if let Some(class) = self.of_certificates() {
            shapes::certificates(text).into_iter().for_each(|range| self.values.learn(class, text[range].as_bytes()));
        }
        if self.choice.has(Class::Tokens) {
            shapes::credentials(text).into_iter().for_each(|range| self.values.learn(Class::Tokens, text[range].as_bytes()));
        }
        if self.choice.has(Class::Addresses) {
            shapes::mails(text).into_iter().for_each(|range| self.values.learn(Class::Addresses, text[range].as_bytes()));
            for range in shapes::hosts(text) {
                let host = &text[range];
                let mapped = self.names.name(host);
                self.words.learn(Class::Addresses, host, &mapped);
            }
            for (range, found) in addresses::found(text) {
                self.learn_address(&text[range], &found);
            }
        }
        for encoded in if depth > 0 { encodings::found(text) } else { Vec::new() } {
            self.learn_text(&encoded.text, depth - 1);
        }
    }

    fn learn_address(&mut self, text: &str, found: &Found) {
        match found {
            Found::Ip(address) => self.learn_ip(*address, None),
            Found::Network(address, prefix) => self.learn_ip(*address, Some(*prefix)),
            Found::Mac => self.values.learn(Class::Addresses, text.as_bytes()),
        }
    }

    fn learn_ip(&mut self, address: IpAddr, prefix: Option<u32>) {
        let mapped = self.addresses.address(address, prefix);
        self.issued_addresses.insert(mapped);
        if mapped != address {
            self.original_addresses.insert(address);
        }
    }

    /// The addresses of a text that went, by their offsets. One that is a pseudonym too tells nothing.
    pub(crate) fn addresses_in(&self, text: &str) -> Vec<(usize, Class)> {
        let is_original = |address: &IpAddr| self.original_addresses.contains(address) && !self.issued_addresses.contains(address);
        let found = if self.original_addresses.is_empty() { Vec::new() } else { addresses::found(text) };
        let originals =
            found.into_iter().filter(|(_, found)| matches!(found, Found::Ip(address) | Found::Network(address, _) if is_original(address)));
        originals.map(|(range, _)| (range.start, Class::Addresses)).collect()
    }

    /// The names of a text that went, where they stand. A single word of Kubernetes is not taken for a name.
    pub(crate) fn names_in(&self, text: &str) -> Vec<(Range<usize>, Class)> {
        let found = self.words.find(text, |_, _| false);
        let class = |range: &Range<usize>| self.words.get(&text[range.clone()]).map_or(Class::Names, |word| word.class);
        found.into_iter().map(|found| (found.range.clone(), class(&found.range))).collect()
    }

    fn text_at(&mut self, text: &str, depth: usize) -> String {
        let mut cuts = Vec::new();
        let found: Vec<(Range<usize>, Class)> = self.values.find(text.as_bytes()).collect();
        for (range, class) in found.into_iter().filter(|(range, _)| text.is_char_boundary(range.start) && text.is_char_boundary(range.end))
        {
            cuts.push(Cut { pseudonym: self.stand_in(text[range.clone()].as_bytes()), range, class });
        }
        if let Some(class) = self.of_certificates() {
            for range in shapes::certificates(text) {
                cuts.push(Cut { pseudonym: self.stand_in(text[range.clone()].as_bytes()), range, class });
            }
        }
        if self.choice.has(Class::Tokens) {
            for range in shapes::credentials(text) {
                cuts.push(Cut { pseudonym: self.stand_in(text[range.clone()].as_bytes()), range, class: Class::Tokens });
            }
        }
        if depth > 0 {
            self.cut_encoded(text, depth, &mut cuts);
        }
        self.cut_addresses(text, &mut cuts);
        self.cut_names(text, &mut cuts);
        self.assemble(text, cuts)
    }

    fn cut_addresses(&mut self, text: &str, cuts: &mut Vec<Cut>) {
        if !self.choice.has(Class::Addresses) {
            return;
        }
        let class = Class::Addresses;
        for range in shapes::mails(text) {
            cuts.push(Cut { pseudonym: self.addresses.mail(&text[range.clone()]), range, class });
        }
        for (range, found) in addresses::found(text) {
            let pseudonym = match found {
                Found::Ip(address) => self.addresses.address(address, None).to_string(),
                Found::Network(address, prefix) => format!("{}/{prefix}", self.addresses.address(address, Some(prefix))),
                Found::Mac => self.addresses.mac(&text[range.clone()]),
            };
            cuts.push(Cut { range, class, pseudonym });
        }
        let hosts = shapes::hosts(text).into_iter().filter(|range| !self.words.is_literal(&text[range.clone()]));
        for range in hosts.chain(dashed_addresses(text)).collect::<Vec<_>>() {
            cuts.push(Cut { pseudonym: self.names.name(&text[range.clone()]), range, class });
        }
    }

    fn cut_names(&mut self, text: &str, cuts: &mut Vec<Cut>) {
        let asked_context = Cell::new(self.asked_context);
        let is_meant = |text: &str, range: Range<usize>| {
            let (before, after) = (&text[..range.start], &text[range.end..]);
            let is_quoted = before.ends_with(['"', '\'', '`']) && after.starts_with(['"', '\'', '`']);
            let namespace = before
                .strip_suffix('/')
                .map(|before| before.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().unwrap_or(before));
            let is_in_namespace = namespace.and_then(|name| self.words.get(name)).is_some_and(|word| word.class == Class::Namespaces);
            is_quoted || is_in_namespace || {
                asked_context.set(true);
                self.context.contains(&text[range])
            }
        };
        let found = self.words.find(text, is_meant);
        self.asked_context = asked_context.get();
        for occurrence in found {
            cuts.push(self.name_in_text(text, occurrence));
        }
    }

    /// A name that stands in a text, with what is joined to it by hyphens: a pod's name begins with its owner's.
    fn name_in_text(&mut self, text: &str, Occurrence { range, is_upper }: Occurrence) -> Cut {
        let found = &text[range.clone()];
        if is_upper {
            let pseudonym = self.names.name(&found.to_lowercase().replace('_', "-")).to_uppercase().replace('-', "_");
            return Cut { range, class: Class::Names, pseudonym };
        }
        let Some(word) = self.words.get(found).cloned() else { return Cut { pseudonym: found.to_owned(), range, class: Class::Names } };
        if self.names.name(found) != word.pseudonym {
            return Cut { range, class: word.class, pseudonym: word.pseudonym };
        }
        let joined = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let start = text[..range.start].rfind(|c| !joined(c)).map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
        let end = text[range.end..].find(|c| !joined(c)).map_or(text.len(), |at| range.end + at);
        let start = start + text[start..range.start].len() - text[start..range.start].trim_start_matches('-').len();
        let end = range.end + text[range.end..end].trim_end_matches('-').len();
        Cut { pseudonym: self.names.name(&text[start..end]), range: start..end, class: word.class }
    }

    /// Looks into what is encoded: it is written again in the same form, and goes as a whole where that cannot be done.
    fn cut_encoded(&mut self, text: &str, depth: usize, cuts: &mut Vec<Cut>) {
        for encoded in encodings::found(text) {
            let mut rewritten = self.text_at(&encoded.text, depth - 1);
            self.own(&mut rewritten);
            if rewritten != encoded.text {
                let range = encoded.range.clone();
                let pseudonym = encoded.written(&rewritten).unwrap_or_else(|| self.stand_in(text[range.clone()].as_bytes()));
                cuts.push(Cut { pseudonym, range, class: Class::Tokens });
            }
        }
    }

    /// The text with its cuts replaced. Where they overlap, what was cut first goes first, but a name goes with the host in it: an image's registry.
    fn assemble(&mut self, text: &str, cuts: Vec<Cut>) -> String {
        let mut apart: Vec<Cut> = Vec::new();
        for cut in cuts {
            let overlaps = |other: &Cut| other.range.start < cut.range.end && cut.range.start < other.range.end;
            let is_part =
                |other: &Cut| other.class == Class::Addresses && cut.range.start <= other.range.start && other.range.end <= cut.range.end;
            if apart.iter().filter(|other| overlaps(other)).all(is_part) {
                apart.retain(|other| !overlaps(other));
                apart.push(cut);
            }
        }
        apart.sort_by_key(|cut| cut.range.start);
        let is_cut = !apart.is_empty();
        let (mut assembled, mut from) = (String::with_capacity(text.len()), 0);
        for Cut { range, class, pseudonym } in apart {
            self.push_rest(&mut assembled, &text[from..range.start], is_cut);
            from = range.end;
            assembled.push_str(&self.replaced(class, &text[range], pseudonym));
        }
        self.push_rest(&mut assembled, &text[from..], is_cut);
        assembled
    }

    /// What is left between cuts: a longer name that begins in a cut may have covered one that stands here.
    fn push_rest(&mut self, assembled: &mut String, rest: &str, is_cut: bool) {
        let mut cuts = Vec::new();
        if is_cut {
            self.cut_names(rest, &mut cuts);
        }
        if cuts.is_empty() { assembled.push_str(rest) } else { assembled.push_str(&self.assemble(rest, cuts)) }
    }

    /// Replaces the caller's own words.
    pub(crate) fn own(&mut self, text: &mut String) {
        if let Some((replaced, count)) = self.own_words.replaced(text) {
            for _ in 0..if self.is_learning { 0 } else { count } {
                self.tally.count(Class::OwnWords, &self.path, text);
            }
            *text = replaced;
        }
    }
}

/// Whether nothing is left of a value that goes: it was masked before, or there was none.
fn is_gone(class: Class, value: &str) -> bool {
    value.is_empty() || class == Class::Secrets && value == VALUE_MASK
}

/// Addresses that are written with hyphens, as names of nodes are: `ip-10-0-1-12`.
fn dashed_addresses(text: &str) -> Vec<Range<usize>> {
    let is_number = |part: &str| part.parse::<u8>().is_ok();
    let starts = text.match_indices("ip-").map(|(at, _)| at).filter(|at| !text[..*at].ends_with(|c: char| c.is_ascii_alphanumeric()));
    let end = |start: usize| {
        let rest = &text[start + 3..];
        let numbers: Vec<&str> = rest.splitn(4, '-').collect();
        let last = numbers.get(3)?;
        let last = &last[..last.find(|c: char| !c.is_ascii_digit()).unwrap_or(last.len())];
        let length = numbers[..3].iter().map(|number| number.len() + 1).sum::<usize>() + last.len();
        (numbers[..3].iter().all(|number| is_number(number)) && is_number(last)).then_some(start + 3 + length)
    };
    starts.filter_map(|start| Some(start..end(start)?)).collect()
}
