//! Which members of an object are wanted, so that the others need not be made.

use serde_json::Value;

/// Members of objects by their paths. A member that is wanted without members of its own is wanted whole; a path goes through lists, to the members of
/// each item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    /// Sorted by name.
    members: Vec<(String, FieldSet)>,
    /// Whether members that are not named are not wanted; otherwise they are wanted whole.
    is_closed: bool,
}

impl FieldSet {
    /// The members at these dotted paths: `spec.containers.name` is the name of each container.
    pub fn of<'p>(paths: impl IntoIterator<Item = &'p str>) -> Self {
        let mut set = Self::default();
        paths.into_iter().for_each(|path| set.add(path.split('.')));
        set
    }

    /// Everything but the members at these dotted paths.
    pub fn all_but<'p>(paths: impl IntoIterator<Item = &'p str>) -> Self {
        let mut set = Self::WHOLE;
        paths.into_iter().for_each(|path| set.leave_out(path.split('.')));
        set
    }

    fn leave_out<'p>(&mut self, mut path: impl Iterator<Item = &'p str>) {
        let Some(name) = path.next() else {
            *self = Self::NOTHING;
            return;
        };
        let place = self.members.binary_search_by(|(known, _)| known.as_str().cmp(name));
        let at = place.unwrap_or_else(|at| {
            self.members.insert(at, (name.to_owned(), Self::WHOLE));
            at
        });
        self.members[at].1.leave_out(path);
    }

    fn add<'p>(&mut self, mut path: impl Iterator<Item = &'p str>) {
        let Some(name) = path.next() else {
            // Wanted whole, whatever was wanted of it before.
            *self = Self::WHOLE;
            return;
        };
        self.is_closed = true;
        match self.members.binary_search_by(|(known, _)| known.as_str().cmp(name)) {
            Ok(at) if self.members[at].1.is_whole() => {}
            Ok(at) => self.members[at].1.add(path),
            Err(at) => {
                let mut member = Self::default();
                member.add(path);
                self.members.insert(at, (name.to_owned(), member));
            }
        }
    }

    /// Everything.
    pub(crate) const WHOLE: Self = Self { members: Vec::new(), is_closed: false };

    const NOTHING: Self = Self { members: Vec::new(), is_closed: true };

    /// The same with the member at this dotted path.
    #[must_use]
    pub fn with(mut self, path: &str) -> Self {
        self.add(path.split('.'));
        self
    }

    /// The same without the member at this dotted path, if it is named.
    #[must_use]
    pub fn without(mut self, path: &str) -> Self {
        self.remove(path);
        self
    }

    /// Returns whether nothing is left of it.
    fn remove(&mut self, path: &str) -> bool {
        let (name, below) = path.split_once('.').map_or((path, None), |(name, below)| (name, Some(below)));
        let Some(at) = self.members.iter().position(|(known, _)| known == name) else { return false };
        if below.is_none_or(|below| self.members[at].1.remove(below)) {
            self.members.remove(at);
        }
        self.members.is_empty()
    }

    /// Takes out of an object, or of each item of a list, what is not wanted.
    pub fn keep(&self, value: &mut Value) {
        match value {
            Value::Object(members) if !self.is_whole() => {
                members.retain(|name, _| self.member(name).is_some());
                for (name, wanted) in &self.members {
                    members.get_mut(name).into_iter().for_each(|member| wanted.keep(member));
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.keep(item)),
            _ => {}
        }
    }

    /// Returns what is wanted of an object, or of each item of a list, as [`FieldSet::keep`] leaves it; the rest is not copied.
    pub fn wanted_of(&self, value: &Value) -> Value {
        match value {
            Value::Object(members) if !self.is_whole() => {
                let wanted = members.iter().filter_map(|(name, member)| Some((name.clone(), self.member(name)?.wanted_of(member))));
                Value::Object(wanted.collect())
            }
            Value::Array(items) => Value::Array(items.iter().map(|item| self.wanted_of(item)).collect()),
            other => other.clone(),
        }
    }

    /// What is wanted of the member of this name; `None` if it is not wanted.
    pub(crate) fn member(&self, name: &str) -> Option<&Self> {
        match self.members.iter().find(|(known, _)| known == name) {
            Some((_, member)) => Some(member).filter(|member| **member != Self::NOTHING),
            None => (!self.is_closed).then_some(const { &Self::WHOLE }),
        }
    }

    /// Whether everything is wanted.
    pub(crate) fn is_whole(&self) -> bool {
        self.members.is_empty() && !self.is_closed
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_whole_member_is_not_narrowed() {
        for paths in [["spec.containers", "spec.containers.name"], ["spec.containers.name", "spec.containers"]] {
            let set = FieldSet::of(paths);
            assert!(set.member("spec").unwrap().member("containers").unwrap().is_whole(), "{paths:?}");
            assert!(set.member("status").is_none() && set.member("spec").unwrap().member("volumes").is_none());
        }
        let set = FieldSet::of(["metadata.name", "metadata.labels"]);
        assert!(set.member("metadata").unwrap().member("labels").unwrap().is_whole());
        assert!(FieldSet::of([]).is_whole());
    }

    #[test]
    fn a_member_is_taken_out() {
        let set = FieldSet::of(["metadata.name", "spec.containers.name", "spec.containers.image"]);
        assert_eq!(set.clone().without("spec.containers.name"), FieldSet::of(["metadata.name", "spec.containers.image"]));
        assert_eq!(set.clone().without("metadata.name"), FieldSet::of(["spec.containers.name", "spec.containers.image"]));
        assert_eq!(set.clone().without("status.phase"), set);
    }

    #[test]
    fn all_but_some_members_are_kept() {
        let set = FieldSet::all_but(["metadata.managedFields.fieldsV1", "spec.template"]);
        let object = |owned: Value, template: Value| {
            let mut object = json!({"kind": "Job", "metadata": {"name": "a", "managedFields": [{"time": "t"}]}, "spec": {"fieldsV1": 1}});
            object["metadata"]["managedFields"][0].as_object_mut().unwrap().extend(owned.as_object().unwrap().clone());
            object["spec"].as_object_mut().unwrap().extend(template.as_object().unwrap().clone());
            object
        };
        let mut kept = object(json!({"fieldsV1": {"f:a": {}}}), json!({"template": {"spec": {}}}));
        let copied = set.wanted_of(&kept);
        set.keep(&mut kept);
        assert_eq!((&kept, &kept), (&object(json!({}), json!({})), &copied));
        assert!(!set.is_whole() && set.member("status").unwrap().is_whole() && set.member("spec").unwrap().member("template").is_none());
    }
}
