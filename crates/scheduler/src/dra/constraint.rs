//! Constraints over the devices of one claim. Upstream: `matchAttributeConstraint`, `distinctAttributeConstraint`.

use std::borrow::Cow;

use crate::api::resource::{DeviceAttribute, DeviceConstraint};
use crate::release::DeviceRules;

use super::{DeviceId, Fault};

/// A constraint and the devices added to it so far.
pub(super) struct ConstraintState<'a> {
    requests: Vec<&'a str>,
    attribute: &'a str,
    /// All values differ; otherwise all are the same.
    distinct: bool,
    lists: bool,
    rules: DeviceRules,
    devices: usize,
    /// The common values, device by device. Without lists, only those of the first, as upstream does.
    common: Vec<Option<AttributeValues>>,
    /// The values that must differ.
    differing: Vec<(&'a str, DeviceId<'a>, Option<AttributeValues>)>,
}

impl<'a> ConstraintState<'a> {
    /// Reads a constraint; `None` for a kind that the allocator does not know.
    pub(super) fn new(constraint: &'a DeviceConstraint, rules: DeviceRules) -> Option<Self> {
        let (attribute, distinct) = match (&constraint.match_attribute, &constraint.distinct_attribute) {
            (Some(attribute), _) => (attribute, false),
            (None, Some(attribute)) if rules.knows_capacity() => (attribute, true),
            _ => return None,
        };
        let requests = constraint.requests.iter().flatten().map(String::as_str).collect();
        Some(Self {
            requests,
            attribute,
            distinct,
            lists: rules.compares_sets(),
            rules,
            devices: 0,
            common: Vec::new(),
            differing: Vec::new(),
        })
    }

    /// Adds a device, if the constraint allows it. `alternative` is the subrequest's name, if any; `lookup` finds attributes of the device.
    pub(super) fn add<'d>(
        &mut self,
        request: &'a str,
        alternative: Option<&str>,
        id: DeviceId<'a>,
        lookup: impl FnOnce(&str) -> Result<Option<Cow<'d, DeviceAttribute>>, Fault>,
    ) -> Result<bool, Fault> {
        if !self.applies(request, alternative) {
            return Ok(true);
        }
        let Some(attribute) = lookup(self.attribute)? else { return Ok(false) };
        let own = AttributeValues::of(&attribute, self.lists);
        let fits = if self.distinct { self.differs(request, id, own) } else { self.agrees(own) };
        self.devices += usize::from(fits);
        Ok(fits)
    }

    fn agrees(&mut self, own: Option<AttributeValues>) -> bool {
        if self.devices == 0 {
            // The first device is accepted whatever the attribute's type, unless lists are supported.
            let fits = !self.lists || own.is_some();
            self.common = vec![own];
            return fits;
        }
        let common = self.common.last().and_then(Option::as_ref);
        let both = common.zip(own).and_then(|(common, own)| common.meets(&own));
        let agrees = both.is_some();
        if agrees && self.lists {
            self.common.push(both);
        }
        agrees
    }

    fn differs(&mut self, request: &'a str, id: DeviceId<'a>, own: Option<AttributeValues>) -> bool {
        if self.devices > 0 || self.rules.checks_first_distinct_value() {
            let mut others = self.differing.iter().map(|(.., value)| value);
            let clashes = match &own {
                Some(_) if self.rules.compares_distinct_pointers() => self.differing.iter().any(|(_, other, _)| *other == id),
                Some(own) => others.flatten().any(|other| own.meets(other).is_some()),
                None => self.lists || others.next().is_some(),
            };
            if clashes {
                return false;
            }
        }
        if !self.rules.keeps_every_distinct_value() {
            self.differing.retain(|(known, ..)| *known != request);
        }
        self.differing.push((request, id, own));
        true
    }

    /// Removes the device that was added last.
    pub(super) fn remove(&mut self, request: &str, alternative: Option<&str>) {
        if !self.applies(request, alternative) {
            return;
        }
        self.devices -= 1;
        if self.lists {
            self.common.truncate(self.devices);
        }
        if self.distinct && !self.rules.keeps_every_distinct_value() {
            self.differing.retain(|(known, ..)| *known != request);
        } else if self.distinct {
            self.differing.pop();
        }
    }

    fn applies(&self, request: &str, alternative: Option<&str>) -> bool {
        let named = |name: &str| self.requests.contains(&name);
        self.requests.is_empty() || named(request) || alternative.is_some_and(|alternative| named(&format!("{request}/{alternative}")))
    }
}

/// The values of an attribute, as a set.
#[derive(Clone, Debug)]
enum AttributeValues {
    Strings(Vec<String>),
    Ints(Vec<i64>),
    Bools(Vec<bool>),
    Versions(Vec<String>),
}

impl AttributeValues {
    fn of(attribute: &DeviceAttribute, lists: bool) -> Option<Self> {
        fn list<T: Clone>(values: Option<&Vec<T>>, lists: bool) -> Option<Vec<T>> {
            values.filter(|values| lists && !values.is_empty()).cloned()
        }
        let of = attribute;
        None.or_else(|| list(of.ints.as_ref(), lists).map(Self::Ints))
            .or_else(|| list(of.bools.as_ref(), lists).map(Self::Bools))
            .or_else(|| list(of.strings.as_ref(), lists).map(Self::Strings))
            .or_else(|| list(of.versions.as_ref(), lists).map(Self::Versions))
            .or_else(|| of.string.clone().map(|value| Self::Strings(vec![value])))
            .or_else(|| of.int.map(|value| Self::Ints(vec![value])))
            .or_else(|| of.bool.map(|value| Self::Bools(vec![value])))
            .or_else(|| of.version.clone().map(|value| Self::Versions(vec![value])))
    }

    /// The common values of two sets; `None`: there are none.
    fn meets(&self, other: &Self) -> Option<Self> {
        fn common<T: PartialEq + Clone>(one: &[T], other: &[T]) -> Option<Vec<T>> {
            let common: Vec<T> = one.iter().filter(|value| other.contains(value)).cloned().collect();
            (!common.is_empty()).then_some(common)
        }
        match (self, other) {
            (Self::Strings(one), Self::Strings(other)) => common(one, other).map(Self::Strings),
            (Self::Ints(one), Self::Ints(other)) => common(one, other).map(Self::Ints),
            (Self::Bools(one), Self::Bools(other)) => common(one, other).map(Self::Bools),
            (Self::Versions(one), Self::Versions(other)) => common(one, other).map(Self::Versions),
            _ => None,
        }
    }
}
