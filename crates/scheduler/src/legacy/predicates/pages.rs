//! The pages of the predicates: what each checks, what it reads, and how it changed.

pub(super) const CHECK_NODE_CONDITION: &str = "A node must be ready, with its network up and its disk not full.

Checks
  Conditions in stored order: Ready not True (were not ready), OutOfDisk not False, NetworkUnavailable not False; then spec.unschedulable.
  All that is wrong is reported. A node without a Ready condition passes.
Reads
  node status.conditions, spec.unschedulable
History
  1.9–1.11  default and mandatory
  1.12–1.16 only with TaintNodesByCondition=false; OutOfDisk is no longer looked at from 1.14 on
  1.17–     gone: conditions become taints
Differs from upstream
  nowhere";

pub(super) const CHECK_NODE_MEMORY_PRESSURE: &str = "A node short of memory takes no pods of the class BestEffort.

Checks
  The condition MemoryPressure is True, and no container asks for or is limited in cpu or memory (from 1.16 on init containers count).
Reads
  node status.conditions; requests and limits of the pod
History
  1.9–1.11 default; 1.12–1.16 only with TaintNodesByCondition=false; preemption cannot help from 1.12 on
Differs from upstream
  nowhere";

pub(super) const CHECK_NODE_DISK_PRESSURE: &str = "A node short of disk takes no pods.

Checks
  The condition DiskPressure is not True.
Reads
  node status.conditions
History
  1.9–1.11 default; 1.12–1.16 only with TaintNodesByCondition=false; preemption cannot help from 1.12 on
Differs from upstream
  nowhere";

pub(super) const CHECK_NODE_PID_PRESSURE: &str = "A node short of process ids takes no pods.

Checks
  The condition PIDPressure is not True.
Reads
  node status.conditions
History
  1.11 default; 1.12–1.16 only with TaintNodesByCondition=false; preemption cannot help from 1.12 on
Differs from upstream
  nowhere";

pub(super) const CHECK_NODE_UNSCHEDULABLE: &str = "A cordoned node takes no pods.

Checks
  spec.unschedulable; from 1.12 on a toleration of the taint node.kubernetes.io/unschedulable lets a pod pass.
Reads
  node spec.unschedulable; pod spec.tolerations
History
  1.10–1.11 known, in no default
  1.12–1.16 default and mandatory with TaintNodesByCondition
  1.17–     the plugin NodeUnschedulable
Differs from upstream
  nowhere";

pub(super) const GENERAL_PREDICATES: &str = "Resources, host name, host ports and node selector at once.

Checks
  PodFitsResources, HostName, PodFitsHostPorts and MatchNodeSelector, in this order; the reasons of all that fail are reported.
Reads
  what the four read
History
  1.9–1.16; 1.17 runs the four as plugins: NodeResourcesFit, NodeName, NodePorts, NodeAffinity
Differs from upstream
  nowhere";

pub(super) const HOST_NAME: &str = "A pod that names its node fits only there.

Checks
  spec.nodeName is empty or the node's name.
Reads
  pod spec.nodeName
History
  1.9–1.16, alone only in a Policy; from 1.17 on the plugin NodeName
Differs from upstream
  nowhere";

pub(super) const POD_FITS_HOST_PORTS: &str = "The host ports a pod wants are free on the node.

Checks
  No pod on the node has the same port and protocol on the same address; 0.0.0.0 (or none) is every address.
Reads
  hostPort, hostIP and protocol of containers, of the pod and of those on the node
History
  1.9–1.16, alone only in a Policy; from 1.17 on the plugin NodePorts
Differs from upstream
  nowhere";

pub(super) const POD_FITS_PORTS: &str = "The old name of PodFitsHostPorts.

Checks
  What PodFitsHostPorts checks.
Reads
  what PodFitsHostPorts reads
History
  1.9–1.17 accepted in a Policy; from 1.10 on it is not in the order of predicates, so it never runs
Differs from upstream
  nowhere";

pub(super) const MATCH_NODE_SELECTOR: &str = "A pod's node selector and required node affinity hold.

Checks
  Every label of spec.nodeSelector, and one of the required terms. A term without expressions and fields matches nothing.
Reads
  pod spec.nodeSelector and spec.affinity.nodeAffinity; node labels and name
History
  1.9–1.10 matchFields is not known; a term that does not parse ends the search
  1.11–    matchFields counts; a term that does not parse is passed over
  1.9–1.16, alone only in a Policy; from 1.17 on the plugin NodeAffinity
Differs from upstream
  nowhere";

pub(super) const POD_FITS_RESOURCES: &str = "A node has room for what a pod requests.

Checks
  One more pod is allowed; cpu, memory, ephemeral storage and extended resources: what is allocatable covers the requests of the node's pods
  and of this one. Everything that lacks is named. A pod that requests nothing is only counted.
Reads
  node status.allocatable; requests of the pod and of the pods on the node
History
  1.9–1.10 alpha.kubernetes.io/nvidia-gpu is a resource of its own
  1.9–1.15 init containers of pods on the node do not count; the pod's own do, by their maximum
  1.9–1.16, alone only in a Policy; from 1.17 on the plugin NodeResourcesFit
Differs from upstream
  several extended resources lacking on one node are named in alphabetic order; upstream's order varies. 1.17 names only the first, so
  it may name another of them";

pub(super) const POD_TOLERATES_NODE_TAINTS: &str = "A tainted node takes only pods that tolerate its taints.

Checks
  Each taint of effect NoSchedule or NoExecute is tolerated.
Reads
  node spec.taints; pod spec.tolerations
History
  1.9–1.16 default, mandatory with TaintNodesByCondition; from 1.17 on the plugin TaintToleration, which names the taint from 1.18 on
Differs from upstream
  nowhere";

pub(super) const POD_TOLERATES_NODE_NO_EXECUTE_TAINTS: &str = "Taints of effect NoExecute are tolerated.

Checks
  Each taint of effect NoExecute is tolerated.
Reads
  node spec.taints; pod spec.tolerations
History
  1.9–1.17 in the code and in the order of predicates, but not registered: a released scheduler refuses a Policy that names it
Differs from upstream
  it is evaluated where a Policy names it, with a caveat";

pub(super) const CHECK_NODE_LABEL_PRESENCE: &str = "A node has certain labels, or has them not.

Checks
  With presence true every label of the argument is there, with false none is; values do not matter.
Reads
  node labels; the Policy's argument labelsPresence: labels, presence
History
  1.9       under whatever name the Policy gives it
  1.10–1.16 it runs only under this name, as others are not in the order of predicates
  1.17–1.22 one plugin (NodeLabel) for all such entries; removed with the Policy in 1.23
Differs from upstream
  nowhere";

pub(super) const CHECK_SERVICE_AFFINITY: &str = "Pods of one Service stay on nodes alike in some labels.

Checks
  The node has the values that the pod's nodeSelector gives for the argument's labels; those it does not give are taken, if some Service
  selects the pod, from the node of the first pod in the scheduler's list that carries all of the pod's labels.
Reads
  pod spec.nodeSelector and labels; Services and pods of its namespace; node labels; the Policy's argument serviceAffinity: labels
History
  1.9       under whatever name the Policy gives it
  1.10–1.16 it runs only under this name, as others are not in the order of predicates
  1.17–1.22 one plugin (ServiceAffinity) for all such entries; removed with the Policy in 1.23
Differs from upstream
  The list has no order: where the pods' nodes differ in such a label, the node is unknown.";

pub(super) const MATCH_INTER_POD_AFFINITY: &str = "Required affinity and anti-affinity between pods hold.

Checks
  No pod's required anti-affinity keeps this pod out of the node's domains; then the pod's own affinity, then its own anti-affinity.
  The first pod of a series that wants to be together is let through.
Reads
  affinity and anti-affinity of the pod; required anti-affinity of all pods; labels and namespaces of all pods; node labels
History
  1.9–1.10  each term of the pod's affinity for itself; 1.10 looks only at the node's own pods where the key is kubernetes.io/hostname
  1.9–1.11  an existing pod's term that matches is checked with the key of that pod's last term
  1.11      one node's pods must match all terms, in all their domains; so must they for its anti-affinity
  1.12–1.17 pods matching all terms, each key for itself; preemption cannot help against affinity
  1.17      the plugin InterPodAffinity, with one of the two reasons
Differs from upstream
  nowhere";

pub(super) const NO_DISK_CONFLICT: &str = "Disks that two pods of one node cannot share.

Checks
  The same Google disk or iSCSI target unless both read only, the same Amazon disk, the same Ceph image unless both read only. Only volumes
  written into the pods count, not those behind claims.
Reads
  volumes of the pod and of the pods on the node
History
  1.9–1.16; from 1.17 on the plugin VolumeRestrictions
Differs from upstream
  nowhere";

macro_rules! volume_count {
    ($what:literal, $limit:literal, $history:literal) => {
        concat!(
            "How many ", $what, " disks a node may have attached.\n\n",
            "Checks\n  The disks of the pod (inline, or behind its claims) and of the pods on the node, each counted once, against the node's limit.\n",
            "Reads\n  volumes of the pod and of the pods on the node, claims, volumes, classes;\n  limit: ", $limit, ", or the node's allocatable from 1.12 on\n",
            "History\n  ", $history, "\n",
            "  1.9–1.15 a claim that is missing, unbound or without its volume counts as one disk of every kind;\n           from 1.16 on only by its class\n",
            "Differs from upstream\n  the scheduler's environment variable KUBE_MAX_PD_VOLS is taken as unset"
        )
    };
}

pub(super) const MAX_EBS_VOLUME_COUNT: &str =
    volume_count!("Amazon", "39 (25 in 1.11 on c5 and m5, from 1.12 on on Nitro instances)", "1.9–1.16; from 1.17 on the plugin EBSLimits");
pub(super) const MAX_GCE_PD_VOLUME_COUNT: &str = volume_count!("Google", "16", "1.9–1.16; from 1.17 on the plugin GCEPDLimits");
pub(super) const MAX_AZURE_DISK_VOLUME_COUNT: &str = volume_count!("Azure", "16", "1.9–1.16; from 1.17 on the plugin AzureDiskLimits");
pub(super) const MAX_CINDER_VOLUME_COUNT: &str =
    volume_count!("OpenStack", "256", "1.14–1.16, only in a Policy; from 1.17 on the plugin CinderLimits");

pub(super) const MAX_CSI_VOLUME_COUNT: &str = "How many CSI volumes of each driver a node may have attached.

Checks
  For each driver, volumes of the pod and of the pods on the node, each counted once, against the limit the node gives for it.
Reads
  claims of the pod and of the pods on the node, volumes, classes; limit: the node's allocatable attachable-volumes-csi-DRIVER, from 1.16 on
  also CSINode
History
  1.12–1.14 only bound volumes count
  1.15–1.16 unbound claims count for their class's driver (1.15: of the class the spec names, whatever the annotation says)
  1.17–     the plugin NodeVolumeLimits
Differs from upstream
  nowhere";

pub(super) const CHECK_VOLUME_BINDING: &str = "Bound volumes can be reached from the node, and unbound claims can get volumes there.

Checks
  Node affinity of bound volumes; for claims that wait for their first consumer a volume that matches and can be reached, or a class
  that can provision one there. Claims that nobody binds end the attempt with an error.
Reads
  claims of the pod, volumes, classes; node labels
History
  1.9       nothing, unless VolumeScheduling is on
  1.10–1.11 a claim that names its volume counts as bound; provisioning is not considered
            (1.11: unless DynamicProvisioningScheduling is on)
  1.10–1.15 a claim whose annotation names another class than its spec finds no volume
  1.11–1.16 unbound: pod has unbound immediate PersistentVolumeClaims, once per node
  1.14–     a claim with a node selected for it is provisioned there or nowhere
  1.17–     the plugin VolumeBinding
Differs from upstream
  nowhere";

pub(super) const NO_VOLUME_ZONE_CONFLICT: &str = "Bound volumes with zone labels fit only nodes of that zone.

Checks
  Each zone or region label of the pod's bound volumes against the node's; a node without any such label passes.
Reads
  claims of the pod, labels of their volumes, classes of unbound claims; node labels
History
  1.9–1.16, with the beta labels only; from 1.17 on the plugin VolumeZone
  unbound claims: up to 1.10 the class is that of the spec alone
  unbound claims: up to 1.14 PersistentVolumeClaim is not bound, from 1.15 on PersistentVolumeClaim was not found
Differs from upstream
  nowhere";

pub(super) const EVEN_PODS_SPREAD: &str = "Spread constraints with DoNotSchedule hold.

Checks
  The node's domain would not hold more than maxSkew pods more than the emptiest domain.
Reads
  the pod's topologySpreadConstraints; labels of the pods of its namespace; labels of all nodes that match its node selector and affinity
History
  1.16 behind the gate EvenPodsSpread (off); from 1.17 on the plugin PodTopologySpread
Differs from upstream
  nowhere";
