//! How the made-up cluster comes to be: its nodes, then one workload after the other, while the nodes' leases are renewed.

use std::io;

use serde_json::json;

use super::objects::{self, App, Identity};
use super::{Database, Versions};
use ketcd_testing::random::Random;

/// How much of what a cluster of this many pods has: in the proportions of a real one of 150,000 pods.
pub(crate) struct Shape {
    pods: usize,
    pub nodes: usize,
    namespaces: usize,
}

impl Shape {
    pub(crate) fn of(pods: usize) -> Self {
        Self { pods, nodes: (pods / 30).max(3), namespaces: (pods / 500).max(2) }
    }
}

/// Replicas of workloads, over and over: 25 on average.
const REPLICA_COUNTS: [usize; 8] = [3, 12, 40, 5, 20, 60, 10, 50];
/// One pod in this many is bound by the scheduler; the others are created on their nodes.
const BOUND_EVERY: usize = 4;
/// One pod in this many has an Event.
const WITH_EVENT: usize = 4;
/// One Event in this many is a warning.
const WARNING_EVERY: usize = 25;
/// After so many writes a lease is renewed.
const RENEWAL_WRITES: i64 = 20;

/// Writes the cluster's history.
pub(crate) fn write(shape: &Shape, seed: u64, database: &mut Database) -> io::Result<()> {
    let mut history = History { nodes: Vec::with_capacity(shape.nodes), next_renewal: 0, random: Random(seed), pods: 0, services: 0 };
    let namespaces: Vec<String> = (0..shape.namespaces).map(|index| format!("team-{index}")).collect();
    for name in ["default", "kube-system", "kube-node-lease"].into_iter().chain(namespaces.iter().map(String::as_str)) {
        let identity = Identity::new("", name.to_owned(), database.next(), &mut history.random);
        database.put(&format!("/registry/namespaces/{name}"), &objects::namespace(&identity), Versions::default())?;
    }
    for index in 0..shape.nodes {
        history.add_node(index, database)?;
    }
    for index in 0.. {
        let left = shape.pods.saturating_sub(history.pods + 1);
        if left == 0 {
            break;
        }
        let app = App::new(index, REPLICA_COUNTS[index % REPLICA_COUNTS.len()].min(left), &mut history.random);
        history.add_app(&app, &namespaces[index % namespaces.len()], database)?;
    }
    history.add_pending(database)
}

/// A node, as far as its lease needs it.
struct Node {
    lease: Identity,
    versions: Versions,
}

struct History {
    nodes: Vec<Node>,
    next_renewal: usize,
    random: Random,
    pods: usize,
    services: usize,
}

impl History {
    fn identity(&mut self, namespace: &str, name: String, database: &Database) -> Identity {
        Identity::new(namespace, name, database.next(), &mut self.random)
    }

    fn add_node(&mut self, index: usize, database: &mut Database) -> io::Result<()> {
        let identity = self.identity("", format!("node-{index}"), database);
        let key = format!("/registry/minions/{}", identity.name);
        let mut node = objects::node(&identity, index, &mut self.random);
        let versions = database.put(&key, &node, Versions::default())?;
        let mut status = node["status"].clone();
        status["conditions"] = objects::node_conditions(true, &objects::time(database.next()));
        objects::with_status(&mut node, "kubelet", database.next(), status);
        database.put(&key, &node, versions)?;
        let lease = self.identity("kube-node-lease", identity.name, database);
        let versions = database.put(&lease_key(&lease), &objects::lease(&lease, database.next()), Versions::default())?;
        self.nodes.push(Node { lease, versions });
        Ok(())
    }

    /// Renews leases as time passes.
    fn renew(&mut self, database: &mut Database) -> io::Result<()> {
        if database.next() % RENEWAL_WRITES == 0 {
            let index = self.next_renewal % self.nodes.len();
            let Node { lease, versions } = &mut self.nodes[index];
            *versions = database.put(&lease_key(lease), &objects::lease(lease, database.next()), *versions)?;
            self.next_renewal += 1;
        }
        Ok(())
    }

    /// A Deployment with all that belongs to it, from its creation until its pods are ready.
    fn add_app(&mut self, app: &App, namespace: &str, database: &mut Database) -> io::Result<()> {
        let key = |kind: &str, name: &str| format!("/registry/{kind}/{namespace}/{name}");
        let config = self.identity(namespace, format!("{}-config", app.name), database);
        database.put(&key("configmaps", &config.name), &objects::config_map(&config, &mut self.random), Versions::default())?;
        let service = self.identity(namespace, app.name.clone(), database);
        database.put(&key("services/specs", &service.name), &objects::service(&service, app, self.services), Versions::default())?;
        self.services += 1;
        let deployment = self.identity(namespace, app.name.clone(), database);
        let (deployment_key, mut deployment_object) = (key("deployments", &deployment.name), app.deployment(&deployment));
        let deployed = database.put(&deployment_key, &deployment_object, Versions::default())?;
        let set = self.identity(namespace, app.replica_set_name(), database);
        let (set_key, mut set_object) = (key("replicasets", &set.name), app.replica_set(&set, &deployment));
        let replicated = database.put(&set_key, &set_object, Versions::default())?;
        let mut created = Vec::with_capacity(app.replicas);
        for index in 0..app.replicas {
            created.push(self.add_pod(app, index, &set, database)?);
        }
        for (identity, index, versions) in created {
            self.run_pod(app, &identity, &set, (index, versions), database)?;
        }
        objects::with_status(&mut set_object, "kube-controller-manager", database.next(), objects::replicas_of_set(app.replicas));
        database.put(&set_key, &set_object, replicated)?;
        objects::with_status(&mut deployment_object, "kube-controller-manager", database.next(), objects::replicas(app.replicas));
        database.put(&deployment_key, &deployment_object, deployed)?;
        Ok(())
    }

    fn add_pod(&mut self, app: &App, index: usize, set: &Identity, database: &mut Database) -> io::Result<(Identity, usize, Versions)> {
        let name = app.pod_name(index, &mut self.random);
        let identity = self.identity(&set.namespace, name, database);
        let at = self.pods;
        self.pods += 1;
        let is_bound = at.is_multiple_of(BOUND_EVERY);
        let pod = app.pod(&identity, set, (!is_bound).then(|| self.node_of(at)));
        let versions = database.put(&pod_key(&identity), &pod, Versions::default())?;
        self.renew(database)?;
        Ok((identity, at, versions))
    }

    /// Binds a pod, if it was created without a node, and lets it run.
    fn run_pod(
        &mut self,
        app: &App,
        identity: &Identity,
        set: &Identity,
        known: (usize, Versions),
        database: &mut Database,
    ) -> io::Result<()> {
        let (at, mut versions) = known;
        let mut pod = app.pod(identity, set, Some(self.node_of(at)));
        if at.is_multiple_of(BOUND_EVERY) {
            objects::with_status(&mut pod, "kube-scheduler", database.next(), objects::bound(database.next()));
            versions = database.put(&pod_key(identity), &pod, versions)?;
            self.renew(database)?;
        }
        let status = app.running(database.next(), at, at % self.nodes.len(), &mut self.random);
        objects::with_status(&mut pod, "kubelet", database.next(), status);
        database.put(&pod_key(identity), &pod, versions)?;
        if at.is_multiple_of(WITH_EVENT) {
            let event =
                self.identity(&set.namespace, format!("{}.{:016x}", identity.name, 0x1800_0000_0000_0000_u64 + at as u64), database);
            let is_warning = at.is_multiple_of(WITH_EVENT * WARNING_EVERY);
            let object = objects::event(&event, identity, self.node_of(at), is_warning);
            database.put(&format!("/registry/events/{}/{}", event.namespace, event.name), &object, Versions::default())?;
        }
        self.renew(database)
    }

    /// The last pod fits no node.
    fn add_pending(&mut self, database: &mut Database) -> io::Result<()> {
        let app = App::new(0, 1, &mut self.random);
        let owner = self.identity("default", "pending".to_owned(), database);
        let identity = self.identity("default", "pending-0".to_owned(), database);
        let mut pod = app.pod(&identity, &owner, None);
        pod["spec"]["nodeSelector"] = json!({"node.example.com/pool": "none"});
        let versions = database.put(&pod_key(&identity), &pod, Versions::default())?;
        objects::with_status(&mut pod, "kube-scheduler", database.next(), objects::refused(self.nodes.len(), database.next()));
        database.put(&pod_key(&identity), &pod, versions)?;
        Ok(())
    }

    fn node_of(&self, pod: usize) -> &str {
        &self.nodes[pod % self.nodes.len()].lease.name
    }
}

fn pod_key(pod: &Identity) -> String {
    format!("/registry/pods/{}/{}", pod.namespace, pod.name)
}

fn lease_key(lease: &Identity) -> String {
    format!("/registry/leases/{}/{}", lease.namespace, lease.name)
}
