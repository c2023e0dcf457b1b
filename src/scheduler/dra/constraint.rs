//! Constraints over the devices of one claim. Upstream: `matchAttributeConstraint`, `distinctAttributeConstraint`.

use crate::kube::api::resource::v1::{Device, DeviceAttribute, DeviceConstraint};

use super::DeviceId;

/// A constraint and the devices that are in it so far.
pub struct Constraint<'a> {
    requests: Vec<&'a str>,
    attribute: &'a str,
    /// All values differ; otherwise all are the same.
    distinct: bool,
    members: Vec<&'a DeviceAttribute>,
}

impl<'a> Constraint<'a> {
    /// Reads a constraint; `None` for a kind that is not known.
    pub fn new(constraint: &'a DeviceConstraint, distinct_known: bool) -> Option<Self> {
        let (attribute, distinct) = match (&constraint.match_attribute, &constraint.distinct_attribute) {
            (Some(attribute), _) => (attribute, false),
            (None, Some(attribute)) if distinct_known => (attribute, true),
            _ => return None,
        };
        let requests = constraint.requests.iter().flatten().map(String::as_str).collect();
        Some(Self { requests, attribute, distinct, members: Vec::new() })
    }

    /// Takes a device in, if it may be there. `alternative` is the subrequest's name, where there is one.
    pub fn add(&mut self, request: &str, alternative: Option<&str>, device: &'a Device, id: DeviceId<'_>) -> bool {
        if !self.applies(request, alternative) {
            return true;
        }
        let Some(attribute) = self.lookup(device, id) else { return false };
        let fits = if self.distinct {
            self.members.iter().all(|member| !same(member, attribute))
        } else {
            self.members.first().is_none_or(|first| same(first, attribute))
        };
        if fits {
            self.members.push(attribute);
        }
        fits
    }

    /// Puts the device that came last out again.
    pub fn remove(&mut self, request: &str, alternative: Option<&str>) {
        if self.applies(request, alternative) {
            self.members.pop();
        }
    }

    fn applies(&self, request: &str, alternative: Option<&str>) -> bool {
        let named = |name: &str| self.requests.contains(&name);
        self.requests.is_empty() || named(request) || alternative.is_some_and(|alternative| named(&format!("{request}/{alternative}")))
    }

    /// An attribute by its full name, or without its domain where that is the driver's.
    fn lookup(&self, device: &'a Device, id: DeviceId<'_>) -> Option<&'a DeviceAttribute> {
        let attributes = device.attributes.as_ref()?;
        attributes.get(self.attribute).or_else(|| {
            let (domain, name) = self.attribute.split_once('/')?;
            attributes.get(name).filter(|_| domain == id.0)
        })
    }
}

fn same(one: &DeviceAttribute, other: &DeviceAttribute) -> bool {
    if other.string.is_some() {
        one.string == other.string
    } else if other.int.is_some() {
        one.int == other.int
    } else if other.bool.is_some() {
        one.bool == other.bool
    } else {
        other.version.is_some() && one.version == other.version
    }
}
