//! A what-if asked of a cluster, and its answer.

use std::sync::Arc;

use ketcd_cluster::replay::{Feed, SchedulerOptions};
use ketcd_cluster::{Cluster, Error, Result, cores};
use ketcd_kube::Address;
use ketcd_scheduler::Scheduler;
use ketcd_store::Revision;
use serde_json::Value;

use super::action::WhatIfAction;
use super::answer::{Loads, NodeLoad, WhatIf};
use super::caveats;
use super::control_loop::{settle, settle_for_long};
use super::drainable_nodes::spare;
use super::fit::fit;
use super::follow::{Follow, Nobody};
use super::futures::summed_up;
use super::model::Id;
use super::node_failures::losses;
use super::read;
use super::run_actions::perform;
use super::seed::Choices;
use super::simulated_cluster::SimulatedCluster;

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct WhatIfQuestion<'q> {
    /// What is done, in this order.
    pub actions: Vec<WhatIfAction>,
    /// The same in the user's words.
    pub words: Vec<String>,
    /// The object of which it is asked how many more fit, after the actions.
    pub fit: Option<FitOf>,
    /// In how many futures; 0: in one, in which the first of all equals is chosen.
    pub seeds: u64,
    /// Which losses to play after the actions: each node (`node`), each zone (`zone`), or the nodes of each value of a label.
    pub each: Option<String>,
    /// Whether it is asked which nodes could be drained, after the actions.
    pub spare: bool,
    /// How many threads play losses, each on a copy of the cluster; 0: one for each core.
    pub threads: usize,
    /// How many more pods there may be than at the beginning; 0: 5,000. What controllers want beyond that is a caveat.
    pub most_more_pods: usize,
    /// Who follows what is played.
    pub follow: Option<&'q dyn Follow>,
    /// The scheduler.
    pub scheduler: SchedulerOptions<'q>,
}

/// The object of which it is asked how many more fit.
#[derive(Clone, Debug, PartialEq)]
pub enum FitOf {
    /// An object of the cluster.
    Address(String),
    /// An object as it is given.
    Object(Value),
}

/// Plays the state of a cluster forward from the revision looked at, after some actions, until the cluster comes to rest.
///
/// # Errors
/// The source cannot be read, an action cannot be done, or the options would be refused by that scheduler.
pub async fn what_if(cluster: &Cluster, question: &WhatIfQuestion<'_>) -> Result<WhatIf> {
    let mut feed = Feed::new(cluster).await?;
    let at = cluster.revision().await?;
    let scheduler = feed.scheduler(&question.scheduler, at).await?;
    if question.seeds == 0 {
        return played(cluster, &mut feed, (&scheduler, at), question, Choices::default()).await;
    }
    let (mut futures, number) = (Vec::new(), |seed: u64| usize::try_from(seed).unwrap_or(usize::MAX));
    // Only the first is shown in full.
    let quiet = WhatIfQuestion { follow: None, ..question.clone() };
    for seed in 1..=question.seeds {
        follow(question).begins("future", number(seed), number(question.seeds));
        let question = if seed == 1 { question } else { &quiet };
        futures.push(played(cluster, &mut feed, (&scheduler, at), question, Choices::seeded(seed)).await?);
    }
    let summed_up = summed_up(&futures);
    let first = futures.swap_remove(0);
    Ok(WhatIf { futures: Some(summed_up), ..first })
}

fn follow<'q>(question: &WhatIfQuestion<'q>) -> &'q dyn Follow {
    question.follow.unwrap_or(&Nobody)
}

async fn played<'c>(
    cluster: &'c Cluster,
    feed: &mut Feed<'c>,
    (scheduler, at): (&Scheduler, Revision),
    question: &WhatIfQuestion<'_>,
    mut choices: Choices,
) -> Result<WhatIf> {
    let mut world = read::world(cluster, feed, scheduler.clone(), at).await?;
    if question.most_more_pods > 0 {
        world.most_more_pods = i64::try_from(question.most_more_pods).unwrap_or(i64::MAX);
    }
    let mut answer = WhatIf { revision: at.0, actions: question.words.clone(), before: loads(&world), ..WhatIf::default() };
    settle(&mut world, &mut choices);
    for action in &question.actions {
        perform(cluster, &mut world, action, &mut choices).await?;
    }
    if !question.actions.is_empty() {
        settle_for_long(&mut world, &mut choices);
    }
    if let Some(by) = &question.each {
        let threads = if question.threads == 0 { cores::count() } else { question.threads };
        answer.losses = Some(losses(&mut world, by, threads, &choices, follow(question))?);
    }
    if question.spare {
        answer.spare = Some(spare(&mut world, &choices, follow(question)));
    }
    if let Some(of) = &question.fit {
        let object = object(cluster, &mut world, of).await?;
        answer.fit = Some(fit(&mut world, &object, &mut choices)?);
    }
    caveats::add(&mut world);
    answer.after = loads(&world);
    answer.waiting = world.waiting();
    answer.events = std::mem::take(&mut world.events);
    answer.caveats = std::mem::take(&mut world.caveats).into_iter().collect();
    Ok(answer)
}

async fn object(cluster: &Cluster, world: &mut SimulatedCluster<'_>, of: &FitOf) -> Result<Arc<Value>> {
    let address = match of {
        FitOf::Object(object) => return Ok(Arc::new(object.clone())),
        FitOf::Address(address) => address,
    };
    let [Address::Objects { kind, namespace, name: Some(name) }] = &cluster.address(address).await?[..] else {
        return Err(
            Error::invalid(format!("{address:?} does not name one object")).hint("write KIND/NAMESPACE/NAME, such as deploy/shop/web")
        );
    };
    let id = Id::new(&kind.kind, namespace.as_deref().unwrap_or(cluster.namespace()), name);
    world.model.get(&id).ok_or_else(|| Error::invalid(format!("{} {}/{} does not exist", id.kind, id.namespace, id.name)))
}

fn loads(world: &SimulatedCluster<'_>) -> Loads {
    let of = |name: &String| {
        let node = world.model.state.node(name)?;
        let load = NodeLoad {
            cpu: node.requests_of("cpu"),
            cpu_of: node.offers_of("cpu"),
            memory: node.requests_of("memory"),
            memory_of: node.offers_of("memory"),
            pods: i64::try_from(node.pods.len()).unwrap_or(i64::MAX),
            pods_of: node.allowed_pods,
        };
        Some((name.clone(), load))
    };
    world.nodes().iter().filter_map(of).collect()
}
