//! `/ui/api/node`: a node, what its pods request, and which pods were on it in the window.

use ketcd_cluster::related::owners::{self, StoredObject};
use ketcd_render::browser::{NodeStory, Panel, RowView, View, node};
use ketcd_render::contract::browser::{PageNode, PageRow};
use ketcd_store::{At, KeyRange, Revision, Want};

use super::question::Asked;
use crate::wire::{Result, Status};

/// The most pods of one answer.
const MAX_PODS: usize = 500;

pub(super) async fn answer(asked: &Asked<'_>) -> Result<PageNode> {
    let ((after, from), to, moment) = (asked.begin("from").await?, asked.moment("to").await?, asked.moment("at").await?);
    let at = Revision(moment.revision);
    let subject = asked.subject(at).await?;
    if subject.name.kind != "Node" {
        return Err(Status::bad_request(format!("object: {} is not a node", subject.name.address)));
    }
    let cluster = asked.stand.at(at);
    let stored = stored(&cluster, &subject.life.key, at).await?;
    let requests = match &stored {
        Some(_) => cluster.node_pods(stored.as_slice(), At::Revision(at)).await?.remove(&subject.name.name),
        None => None,
    };
    let lease = format!("{}/leases/kube-node-lease/{}", cluster.prefix().await?, subject.name.name);
    let lease = self::stored(&cluster, lease.as_bytes(), at).await?;
    let view = RowView { after, to: Revision(to.revision), from_ms: from.ms, to_ms: to.ms, at_ms: moment.ms, buckets: 1_000 };
    let (pods, pods_left) = pods(asked, &subject.name.name, &view).await?;
    Ok(node(NodeStory {
        object: stored.as_ref().map(|stored| &*stored.object),
        requests: requests.as_ref().map(|pods| (&pods.requests, pods.count)),
        lease: lease.and_then(|lease| lease.object["spec"]["renewTime"].as_str().map(str::to_owned)),
        pods,
        pods_left,
        moment,
        command: asked.command(&View::Object(subject.name.address.clone(), Panel::Node(asked.cursor("at", at)))),
        name: subject.name,
    }))
}

/// An object at a revision.
async fn stored(cluster: &ketcd_cluster::Cluster, key: &[u8], at: Revision) -> Result<Option<StoredObject>> {
    let found = cluster.source.first(KeyRange::key(key), At::Revision(at), Want::Values, 1).await;
    let found = match found {
        Err(error) if error.is_denied() => Vec::new(),
        found => found?,
    };
    let kind = cluster.kinds().await?.find("nodes").ok().cloned();
    Ok(found.into_iter().next().and_then(|entry| owners::decoded(cluster, kind.as_ref(), entry)))
}

/// The pods that were on a node in the window, and how many more there were.
async fn pods(asked: &Asked<'_>, node: &str, view: &RowView) -> Result<(Vec<PageRow>, usize)> {
    let (index, families) = (asked.stand.index().await?, asked.stand.families().await?);
    let was_there = |place: usize| families.of(place).node.as_deref() == Some(node);
    let pods: Vec<usize> = index
        .shown(false)
        .filter(|(place, life)| was_there(*place) && life.is_within(view.after, view.to))
        .map(|(place, _)| place)
        .collect();
    let looked_at = &pods[..pods.len().min(MAX_PODS)];
    let mut rows = Vec::new();
    for (place, full) in asked.stand.rows_of(looked_at, (view.after, view.to)).await? {
        let changes = index.lives[place].within(view.after, view.to).len();
        rows.push(PageRow { group: format!("node:{node}"), ..full.row(asked.name(place).await?, changes, view) });
    }
    rows.sort_by_key(|row| row.begin);
    Ok((rows, pods.len() - looked_at.len()))
}
