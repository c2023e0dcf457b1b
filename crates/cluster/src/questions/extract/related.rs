//! Adds what the objects asked for own and refer to.

use std::collections::BTreeSet;

use futures_util::TryStreamExt;
use ketcd_restore::ObjectId;
use ketcd_restore::references::{self, Related, references};
use ketcd_store::{KeyRange, Want};

use super::gathering::{Gathering, With};
use crate::error::Result;
use crate::related::owners::{self, StoredObject};

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

impl Gathering<'_> {
    /// Adds what `with` says, and what that refers to in turn.
    pub(super) async fn add_related(&mut self, with: With) -> Result<()> {
        if with.owned {
            self.add_owned().await?;
        }
        let mut asked: BTreeSet<ObjectId> = BTreeSet::new();
        let mut waiting: Vec<ObjectId> = self.gathered.objects.keys().cloned().collect();
        while let Some(id) = waiting.pop() {
            for reference in self.referred(&id, with).await? {
                if !asked.insert(reference.clone()) || self.gathered.objects.contains_key(&reference) {
                    continue;
                }
                match self.one(&reference).await? {
                    Some(stored) => waiting.extend(self.add(&stored).await?.then_some(reference)),
                    None => {
                        self.gathered.missing.insert(reference);
                    }
                }
            }
        }
        if with.rbac { self.add_rights().await } else { Ok(()) }
    }

    async fn referred(&mut self, id: &ObjectId, with: With) -> Result<BTreeSet<ObjectId>> {
        let Some(found) = self.gathered.objects.get(id) else { return Ok(BTreeSet::new()) };
        let mut referred = BTreeSet::new();
        if with.config {
            referred.extend(references(&found.object, Related::Config));
        }
        if with.storage {
            referred.extend(references(&found.object, Related::Storage));
        }
        let custom = found.kind.as_ref().filter(|kind| kind.is_custom()).map(|kind| kind.resource());
        referred.extend(
            custom.filter(|_| with.crds).map(|resource| ObjectId::new("apiextensions.k8s.io", "CustomResourceDefinition", None, &resource)),
        );
        Ok(referred)
    }

    /// Adds what controllers made of the objects asked for.
    async fn add_owned(&mut self) -> Result<()> {
        let mut subjects = Vec::new();
        let ids: Vec<ObjectId> = self.gathered.objects.keys().cloned().collect();
        for id in ids {
            subjects.extend(self.one(&id).await?);
        }
        let family = self.cluster.tree(subjects, self.at).await?;
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut waiting: Vec<&str> = family.subjects.iter().map(|(subject, _)| subject.uid()).collect();
        while let Some(uid) = waiting.pop() {
            if !uid.is_empty() && seen.insert(uid) {
                for owned in family.owned(uid) {
                    self.add(owned).await?;
                    waiting.push(owned.uid());
                }
            }
        }
        Ok(())
    }

    /// Adds the ServiceAccounts that pods run as, the bindings that give them rights, and the roles bound.
    async fn add_rights(&mut self) -> Result<()> {
        let accounts: BTreeSet<(String, String)> =
            self.gathered.objects.values().flat_map(|found| references::accounts(&found.object)).collect();
        for (namespace, name) in &accounts {
            if let Some(stored) = self.one(&ObjectId::new("", "ServiceAccount", Some(namespace), name)).await? {
                self.add(&stored).await?;
            }
        }
        let namespaces: BTreeSet<&str> = accounts.iter().map(|(namespace, _)| namespace.as_str()).collect();
        let mut bindings = self.bindings("rolebindings", &namespaces.iter().map(|namespace| Some(*namespace)).collect::<Vec<_>>()).await?;
        bindings.extend(self.bindings("clusterrolebindings", &[None]).await?);
        for binding in bindings.iter().filter(|binding| references::binds(&binding.object, &accounts)) {
            if let Some(role) = references::role(&binding.object)
                && let Some(role) = self.one(&role).await?
            {
                self.add(&role).await?;
            }
            self.add(binding).await?;
        }
        Ok(())
    }

    async fn bindings(&self, plural: &str, namespaces: &[Option<&str>]) -> Result<Vec<StoredObject>> {
        let kinds = self.cluster.kinds().await?;
        let Ok(kind) = kinds.find(&format!("{plural}.{RBAC_GROUP}")) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for namespace in namespaces {
            let range = KeyRange::prefix(kind.key_prefix(self.cluster.prefix().await?, *namespace));
            let Some(listing) = self.cluster.range_or_miss(range, self.at, Want::Values).await? else { continue };
            let mut entries = listing.entries;
            while let Some(entry) = entries.try_next().await? {
                found.extend(owners::decoded(self.cluster, Some(kind), entry));
            }
        }
        Ok(found)
    }
}
