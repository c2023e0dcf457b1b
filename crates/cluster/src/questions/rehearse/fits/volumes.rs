//! Volumes that were deleted, given away, attached elsewhere or made since, and the claims that hang on them.
//!
//! What is on disks is not in etcd; that a disk is gone follows from its reclaim policy alone (k8s.io/kubernetes v1.36.3,
//! `pkg/controller/volume/persistentvolume/pv_controller.go`, `reclaimVolume`): with Delete the provisioner deletes the disk before the object goes, which
//! its finalizer holds until then; with Retain the disk stays. A restored volume says that it is Bound, and nobody checks whether its disk exists until a
//! pod needs it. An attachment that is marked attached is not made again (`pkg/volume/csi/csi_attacher.go`), and one that nobody knows is not
//! taken back (`pkg/controller/volume/attachdetach/reconciler/reconciler.go`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use ketcd_kube::Object;

use super::super::forecast::{Affected, Forecast, ForecastKind};
use super::super::objects::{Pair, affected, counted, is_deleted, items, name, pairs, text};
use super::super::states::{RehearsedState, States};
use crate::error::Result;
use crate::verify::Weight;

/// Access modes in which a volume may be attached to several nodes at once.
const SHARED_MODES: [&str; 2] = ["ReadWriteMany", "ReadOnlyMany"];

/// Returns what becomes of volumes.
pub(super) async fn forecasts(states: &States<'_>) -> Result<Vec<Forecast>> {
    let Some(newest) = &states.newest else {
        states.note("which volumes were deleted, made or attached elsewhere since the backup: no newer state");
        return Ok(Vec::new());
    };
    let mut volumes = Volumes::default();
    pairs(states, "/persistentvolumes/").for_each(|pair| volumes.see(&pair));
    let hanging = hanging(states, &volumes.lost).await?;
    let elsewhere = attached_elsewhere(states, newest, &volumes.lost).await?;
    let mut forecasts = volumes.finish(states);
    forecasts.extend(hanging);
    forecasts.extend(open_again(states));
    forecasts.extend(elsewhere);
    Ok(forecasts)
}

/// What becomes of volumes, by what it is.
#[derive(Default)]
struct Volumes {
    /// The names of those whose disk is gone.
    lost: BTreeSet<String>,
    gone: Vec<Affected>,
    kept: Vec<Affected>,
    unknown: Vec<Affected>,
    given_away: Vec<Affected>,
}

impl Volumes {
    fn see(&mut self, pair: &Pair) {
        let Some(before) = &pair.before else {
            let says = pair.after.as_ref().map_or_else(String::new, |after| format!("is {} now", disk(after)));
            self.unknown.push(pair.affected(says));
            return;
        };
        let is_to_go = text(before, "/spec/persistentVolumeReclaimPolicy") == "Delete";
        let Some(after) = pair.after.as_ref().filter(|_| pair.is_same()) else {
            let says = format!("was {}", disk(before));
            if is_to_go {
                self.lost.insert(name(before).to_owned());
                self.gone.push(pair.affected_then(says));
            } else {
                self.kept.push(pair.affected_then(says));
            }
            return;
        };
        let is_going = |volume: &Value| is_deleted(volume) || text(volume, "/status/phase") == "Released";
        if is_to_go && is_going(after) && !is_going(before) {
            self.lost.insert(name(before).to_owned());
            self.gone.push(pair.affected("is being deleted"));
        } else if let Some(says) = given_away(before, after) {
            self.given_away.push(pair.affected(says));
        }
    }

    fn finish(self, states: &States<'_>) -> Vec<Forecast> {
        const SHOW_COMMAND: &str = "kubectl get persistentvolumes -o wide";
        let mut forecasts = Vec::new();
        if !self.gone.is_empty() {
            let count = counted(self.gone.len(), "volume", "volumes");
            let deleted = counted(self.gone.len(), "volume was deleted since", "volumes were deleted since");
            let says =
                format!("{deleted}, and the reclaim policy deletes the disk too: the restored volumes would say Bound and have no disk");
            let headline = format!("{count} {} gone", if self.gone.len() == 1 { "is" } else { "are" });
            let forecast = Forecast::new(ForecastKind::VolumesGone, Weight::High, says, self.gone).with_headline(headline);
            forecasts.push(forecast.with_command(SHOW_COMMAND));
        }
        if !self.kept.is_empty() {
            let deleted = counted(self.kept.len(), "volume was deleted since", "volumes were deleted since");
            let says = format!("{deleted}, and the reclaim policy keeps the disk: what nobody deleted would be back");
            forecasts.push(Forecast::new(ForecastKind::VolumesGone, Weight::Low, says, self.kept).with_command(SHOW_COMMAND));
        }
        if !self.given_away.is_empty() {
            let count = counted(self.given_away.len(), "volume", "volumes");
            let belong = counted(self.given_away.len(), "volume belongs", "volumes belong");
            let says = format!("{belong} to other claims now, and would belong to those of the backup again, with the data of now");
            let headline = format!("{count} would change claims");
            let forecast = Forecast::new(ForecastKind::VolumesElsewhere, Weight::Medium, says, self.given_away).with_headline(headline);
            forecasts.push(forecast.with_command(SHOW_COMMAND));
        }
        if !self.unknown.is_empty() {
            let count = counted(self.unknown.len(), "volume", "volumes");
            let made = counted(self.unknown.len(), "volume was made since", "volumes were made since");
            let says = format!("{made}: no object would name the disks any more, which keep their data and their price");
            let headline = format!("{count} made since would be unknown");
            let forecast = Forecast::new(ForecastKind::VolumesUnknown, Weight::Medium, says, self.unknown).with_headline(headline);
            forecasts.push(forecast.with_command(states.of_newest("get persistentvolumes -o wide")));
        }
        forecasts
    }
}

fn disk(volume: &Value) -> String {
    let handle = text(volume, "/spec/csi/volumeHandle");
    if handle.is_empty() { "a volume without a CSI driver".to_owned() } else { format!("{handle} of {}", text(volume, "/spec/csi/driver")) }
}

/// What is said of a volume that has another claim in the newest state.
fn given_away(before: &Value, after: &Value) -> Option<String> {
    let claim = |volume: &Value| format!("{}/{}", text(volume, "/spec/claimRef/namespace"), text(volume, "/spec/claimRef/name"));
    let [then, now] = [before, after].map(|volume| text(volume, "/spec/claimRef/uid"));
    let is_other = !then.is_empty() && !now.is_empty() && then != now;
    is_other.then(|| format!("belongs to {} now, and belonged to {}", claim(after), claim(before)))
}

/// The claims of the backup whose disk is gone.
async fn hanging(states: &States<'_>, lost: &BTreeSet<String>) -> Result<Option<Forecast>> {
    if lost.is_empty() {
        return Ok(None);
    }
    let lost = lost.clone();
    let of_claim = move |claim: Object| {
        let volume = text(&claim, "/spec/volumeName");
        lost.contains(volume).then(|| affected(&claim, format!("is bound to {volume}, whose disk is gone")))
    };
    let hang = states.backup.made("/persistentvolumeclaims/", of_claim).await?;
    if hang.is_empty() {
        return Ok(None);
    }
    let count = counted(hang.len(), "claim", "claims");
    let says = format!(
        "{count} would be Bound to disks that are gone: pods that use them would wait in ContainerCreating until somebody deletes them"
    );
    let headline = format!("{count} would hang");
    let commands: Vec<String> = hang.iter().take(MAX_COMMANDS).map(|claim| delete(&claim.subject.namespace, &claim.subject.name)).collect();
    let forecast = Forecast::new(ForecastKind::ClaimsHang, Weight::High, says, hang).with_headline(headline);
    Ok(Some(commands.into_iter().fold(forecast, Forecast::with_command)))
}

/// The claims that were bound since.
fn open_again(states: &States<'_>) -> Option<Forecast> {
    let mut open = Vec::new();
    for pair in pairs(states, "/persistentvolumeclaims/").filter(Pair::is_same) {
        let [then, now] = [&pair.before, &pair.after].map(|claim| claim.as_ref().map_or("", |claim| text(claim, "/spec/volumeName")));
        if then.is_empty() && !now.is_empty() {
            open.push(pair.affected(format!("is bound to {now} now, and was not in the backup")));
        }
    }
    if open.is_empty() {
        return None;
    }
    let count = counted(open.len(), "claim", "claims");
    let bound = counted(open.len(), "claim that was bound since", "claims that were bound since");
    let says = format!("{bound} would be open again, and get other volumes without the data of now");
    let forecast =
        Forecast::new(ForecastKind::ClaimsHang, Weight::High, says, open).with_headline(format!("{count} would get another volume"));
    Some(forecast.with_command("kubectl get persistentvolumeclaims -A"))
}

/// For how many claims a command is printed.
const MAX_COMMANDS: usize = 20;

fn delete(namespace: &str, name: &str) -> String {
    let word = |text: &str| ketcd_store::shell::quoted(text.as_bytes());
    format!("kubectl delete persistentvolumeclaim --namespace={} -- {}", word(namespace), word(name))
}

/// The nodes that each volume is attached to, as its attachments say.
async fn attached(state: &RehearsedState<'_>) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let mut attached: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let of_attachment = |attachment: Object| {
        let [volume, node] = ["/spec/source/persistentVolumeName", "/spec/nodeName"].map(|field| text(&attachment, field).to_owned());
        (attachment["status"]["attached"] == true && !volume.is_empty()).then_some((volume, node))
    };
    for (volume, node) in state.made("/volumeattachments/", of_attachment).await? {
        attached.entry(volume).or_default().insert(node);
    }
    Ok(attached)
}

/// The volumes of the backup that are attached to other nodes than it says.
async fn attached_elsewhere(states: &States<'_>, newest: &RehearsedState<'_>, lost: &BTreeSet<String>) -> Result<Option<Forecast>> {
    let (then, now) = (attached(&states.backup).await?, attached(newest).await?);
    if then == now {
        return Ok(None);
    }
    let nowhere = BTreeSet::new();
    let (mut elsewhere, mut is_held) = (Vec::new(), false);
    let of_volume = |volume: Object| {
        let is_shared = items(&volume, "/spec/accessModes").any(|mode| SHARED_MODES.iter().any(|shared| mode == shared));
        (!is_shared).then(|| affected(&volume, ""))
    };
    for volume in states.backup.made("/persistentvolumes/", of_volume).await? {
        let [then, now] = [&then, &now].map(|attached| attached.get(&volume.subject.name).unwrap_or(&nowhere));
        if then == now || lost.contains(&volume.subject.name) {
            continue;
        }
        let list = |nodes: &BTreeSet<String>| nodes.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let says = match (then.is_empty(), now.is_empty()) {
            (true, _) => format!("is attached to {}, and nowhere in the backup", list(now)),
            (_, true) => format!("is attached nowhere, and to {} in the backup", list(then)),
            _ => format!("is attached to {}, and to {} in the backup", list(now), list(then)),
        };
        is_held |= !now.is_empty();
        elsewhere.push(Affected { node: now.iter().next().cloned().unwrap_or_default(), says, ..volume });
    }
    if elsewhere.is_empty() {
        return Ok(None);
    }
    let count = counted(elsewhere.len(), "volume", "volumes");
    let says = format!(
        "{count} of the backup are attached to other nodes than it says: its attachments would be taken for made, so that pods wait for devices that are \
         not there, until the node of now lets go and the attachment is deleted"
    );
    let weight = if is_held { Weight::High } else { Weight::Medium };
    let forecast = Forecast::new(ForecastKind::VolumesElsewhere, weight, says, elsewhere)
        .with_headline(format!("{count} attached elsewhere"))
        .with_command("kubectl get volumeattachments -o wide");
    Ok(Some(forecast))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::made_up::{MadeUp, names, object, with};
    use super::*;

    fn volume(name: &str, policy: &str, phase: &str, claim: &str) -> Value {
        let spec = json!({"persistentVolumeReclaimPolicy": policy, "csi": {"driver": "disks", "volumeHandle": name},
            "accessModes": ["ReadWriteOnce"], "claimRef": {"namespace": "shop", "name": claim, "uid": claim}});
        with(object("PersistentVolume", "", name, name), json!({"spec": spec, "status": {"phase": phase}}))
    }

    fn claim(name: &str, volume: &str) -> Value {
        with(object("PersistentVolumeClaim", "shop", name, name), json!({"spec": {"volumeName": volume}}))
    }

    fn attachment(volume: &str, node: &str) -> Value {
        let spec = json!({"attacher": "disks", "nodeName": node, "source": {"persistentVolumeName": volume}});
        with(object("VolumeAttachment", "", &format!("{volume}-{node}"), "u"), json!({"spec": spec, "status": {"attached": true}}))
    }

    async fn found(backup: &[Value], newest: &[Value]) -> Vec<Forecast> {
        let made_up = MadeUp::two(backup, newest).await;
        forecasts(&made_up.states().await).await.unwrap()
    }

    #[tokio::test]
    async fn a_deleted_disk_leaves_a_claim_that_hangs() {
        let backup = [
            volume("gone", "Delete", "Bound", "a"),
            volume("kept", "Retain", "Bound", "b"),
            volume("going", "Delete", "Bound", "c"),
            claim("a", "gone"),
            claim("b", "kept"),
        ];
        let newest = [volume("going", "Delete", "Released", "c"), volume("made", "Delete", "Bound", "d"), claim("b", "kept")];
        let found = found(&backup, &newest).await;
        assert_eq!(names(&found, ForecastKind::VolumesGone), ["going", "gone", "kept"]);
        assert_eq!(names(&found, ForecastKind::VolumesUnknown), ["made"]);
        assert_eq!(names(&found, ForecastKind::ClaimsHang), ["a"]);
        assert_eq!((found[0].weight, found[0].headline.as_str(), found[1].weight), (Weight::High, "2 volumes are gone", Weight::Low));
        let hang = found.iter().find(|forecast| forecast.kind == ForecastKind::ClaimsHang).unwrap();
        assert_eq!(hang.commands, ["kubectl delete persistentvolumeclaim --namespace=shop -- a"]);
    }

    #[tokio::test]
    async fn a_volume_of_another_claim_would_be_given_back() {
        let found = found(&[volume("v", "Retain", "Bound", "a")], &[volume("v", "Retain", "Bound", "b")]).await;
        assert_eq!(found[0].affected[0].says, "belongs to shop/b now, and belonged to shop/a");
    }

    #[tokio::test]
    async fn a_claim_that_was_bound_since_gets_another_volume() {
        let found = found(&[claim("a", "")], &[claim("a", "v"), volume("v", "Delete", "Bound", "a")]).await;
        assert_eq!(names(&found, ForecastKind::ClaimsHang), ["a"]);
    }

    #[tokio::test]
    async fn attachments_are_compared_by_volume() {
        let volumes =
            [volume("moved", "Delete", "Bound", "a"), volume("stays", "Delete", "Bound", "b"), volume("free", "Delete", "Bound", "c")];
        let backup = [&volumes[..], &[attachment("moved", "n1"), attachment("stays", "n1"), attachment("free", "n1")]].concat();
        let newest = [&volumes[..], &[attachment("moved", "n2"), attachment("stays", "n1")]].concat();
        let found = found(&backup, &newest).await;
        assert_eq!(names(&found, ForecastKind::VolumesElsewhere), ["free", "moved"]);
        assert_eq!((found[0].weight, found[0].headline.as_str()), (Weight::High, "2 volumes attached elsewhere"));
        assert_eq!(found[0].affected[1].says, "is attached to n2, and to n1 in the backup");
    }
}
