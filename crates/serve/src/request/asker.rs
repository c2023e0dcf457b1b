//! Who a request asks for: the holder of the token, or the user that it impersonates with the headers of `kubectl --as`.

use std::collections::BTreeMap;

use axum::http::{HeaderMap, HeaderValue};
use ketcd_kube::rbac::User;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use crate::wire::{Result, Status};

const USER_HEADER: &str = "impersonate-user";
const GROUP_HEADER: &str = "impersonate-group";
const UID_HEADER: &str = "impersonate-uid";
const EXTRA_HEADER_PREFIX: &str = "impersonate-extra-";

/// An impersonated user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asker {
    /// Its name and groups.
    pub user: User,
    uid: String,
    extra: BTreeMap<String, Vec<String>>,
}

impl Asker {
    /// Reads the headers of a request; `None` where they impersonate nobody.
    ///
    /// Source: apiserver v0.37 `pkg/endpoints/filters/impersonation/impersonation.go`.
    ///
    /// # Errors
    /// They name groups, a UID or extra values and no user, or are not text.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Option<Self>> {
        let first = |name: &str| headers.get(name).map(text).transpose().map(Option::unwrap_or_default);
        let (name, uid) = (first(USER_HEADER)?, first(UID_HEADER)?);
        let groups: Vec<String> = headers.get_all(GROUP_HEADER).iter().map(text).collect::<Result<_>>()?;
        let mut extra = BTreeMap::<String, Vec<String>>::new();
        for (header, value) in headers {
            if let Some(key) = header.as_str().strip_prefix(EXTRA_HEADER_PREFIX) {
                let key = percent_decode_str(key).decode_utf8().map_or_else(|_| key.to_owned(), |key| key.into_owned());
                extra.entry(key).or_default().push(text(value)?);
            }
        }
        match (name.is_empty(), groups.is_empty() && uid.is_empty() && extra.is_empty()) {
            (true, true) => Ok(None),
            (true, false) => Err(Status::bad_request("requested groups, a UID or extra values without impersonating a user")),
            (false, _) => Ok(Some(Self { user: User::impersonated(name, groups), uid, extra })),
        }
    }

    /// Its `userInfo`, as reviews have it.
    pub(crate) fn info(&self) -> Value {
        let mut info = json!({"username": self.user.name, "groups": self.user.groups});
        if !self.uid.is_empty() {
            info["uid"] = self.uid.as_str().into();
        }
        if !self.extra.is_empty() {
            info["extra"] = json!(self.extra);
        }
        info
    }
}

fn text(value: &HeaderValue) -> Result<String> {
    let text = std::str::from_utf8(value.as_bytes());
    text.map(str::to_owned).map_err(|_| Status::bad_request("a header that impersonates a user is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    fn asker(headers: &[(&'static str, &'static str)]) -> Result<Option<Asker>> {
        let mut map = HeaderMap::new();
        for &(name, value) in headers {
            map.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        Asker::of(&map)
    }

    #[test]
    fn headers_name_the_user_its_groups_uid_and_extra_values() {
        let found = asker(&[
            (USER_HEADER, "jo"),
            (GROUP_HEADER, "a"),
            (GROUP_HEADER, "b"),
            (UID_HEADER, "7"),
            ("impersonate-extra-acme.com%2fteam", "x"),
        ]);
        let wanted = json!({"username": "jo", "groups": ["a", "b", "system:authenticated"], "uid": "7", "extra": {"acme.com/team": ["x"]}});
        assert_eq!(found.unwrap().unwrap().info(), wanted);
        assert_eq!(asker(&[("accept", "application/json")]).unwrap(), None);
    }

    #[test]
    fn nobody_has_no_groups() {
        for header in [GROUP_HEADER, UID_HEADER, "impersonate-extra-a"] {
            assert!(asker(&[(header, "x")]).is_err(), "{header}");
        }
    }
}
