//go:build since_1_36

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// How many tries of one group are written down: preemption can make hundreds.
const mostTries = 60

// answerGroups tries every group of the file, each on a scheduler of its own.
func answerGroups(file *File, out io.Writer) error {
	if err := setGates(file.header); err != nil {
		return err
	}
	if err := file.write(out); err != nil {
		return err
	}
	pods, err := file.pending()
	if err != nil {
		return err
	}
	for _, asked := range file.groups(pods) {
		answer, err := answerGroup(file, asked, pods)
		if err != nil {
			return fmt.Errorf("%s: %w", asked, err)
		}
		if err := writeLine(out, answer); err != nil {
			return err
		}
	}
	return nil
}

// groups returns the groups that the file names, or those that pending pods name.
func (file *File) groups(pods []*v1.Pod) []string {
	if len(file.groupNames) > 0 {
		return file.groupNames
	}
	names := []string{}
	for _, pod := range pods {
		if group := pod.Spec.SchedulingGroup; group != nil && group.PodGroupName != nil {
			names = append(names, pod.Namespace+"/"+*group.PodGroupName)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// groupAttempt is what is seen of the cycle of one group.
type groupAttempt struct {
	*Cluster
	// Whether it is a CompositePodGroup, and whether there are such: files say more then.
	isTree, trees bool
	// Namespace of all pods of the group.
	namespace string
	pods      map[string]map[string]string
	tries     []map[string]any
}

// answerGroup takes one group out of the queue and tries it.
func answerGroup(file *File, asked string, pods []*v1.Pod) (map[string]any, error) {
	cluster, err := start(file)
	if err != nil {
		return nil, err
	}
	defer cluster.stop()
	if err := scheduler.OracleUpdateSnapshot(cluster.Scheduler); err != nil {
		return nil, err
	}
	namespace, name, _ := strings.Cut(asked, "/")
	attempt := &groupAttempt{
		Cluster: cluster, isTree: file.isTree(namespace, name), trees: file.header.Gates != nil && strings.Contains(*file.header.Gates, "CompositePodGroup=true"),
		namespace: namespace, pods: map[string]map[string]string{}, tries: []map[string]any{},
	}
	gated := attempt.gated(file, name, pods)
	answer := map[string]any{"group": asked, "gated": gated}
	group := attempt.queued(file, name, pods, gated)
	if group != nil {
		attempt.SchedulePod, attempt.FailureHandler = attempt.schedule, attempt.failed
		scheduler.OracleGroupCycle(context.Background(), cluster.Scheduler, group)
		attempt.bound(pods, group)
	}
	attempt.settle()
	// After the cycle, which leaves out pods that are being deleted.
	attempt.leaves(group, answer)
	attempt.written(answer)
	answer["pods"], answer["tries"] = attempt.pods, attempt.tries
	if attempt.trees {
		answer["kind"] = "PodGroup"
		if attempt.isTree {
			answer["kind"] = "CompositePodGroup"
		}
	}
	return answer, nil
}

// gated returns the pods of the group that PreEnqueue keeps out of the queue.
func (a *groupAttempt) gated(file *File, root string, pods []*v1.Pod) map[string][]string {
	found := map[string][]string{}
	for _, pod := range pods {
		if !a.isMember(file, pod, root) {
			continue
		}
		asked := &question{context.Background(), a.Cluster, a.Profiles[pod.Spec.SchedulerName], pod}
		if refusal := asked.preEnqueue(); refusal != nil {
			found[pod.Name] = []string{refusal[0], refusal[2]}
		}
	}
	return found
}

// isMember reports whether a pod belongs to the group of that name, or to one under it.
func (a *groupAttempt) isMember(file *File, pod *v1.Pod, root string) bool {
	group := pod.Spec.SchedulingGroup
	return pod.Namespace == a.namespace && group != nil && group.PodGroupName != nil && file.belongs(a.namespace, *group.PodGroupName, root)
}

// leaves writes in which order pods are tried.
func (a *groupAttempt) leaves(group *framework.QueuedPodGroupInfo, answer map[string]any) {
	leaves := map[string][]string{}
	if group != nil {
		leaves = orders(group)
	}
	if a.trees {
		answer["leaves"] = leaves
		return
	}
	answer["order"] = []string{}
	for _, order := range leaves {
		answer["order"] = order
	}
}

// schedule does what SchedulePod does, and writes it down; of equal nodes it takes the first by name.
func (a *groupAttempt) schedule(ctx context.Context, profile framework.Framework, state fwk.CycleState, info *framework.QueuedPodInfo) (scheduler.ScheduleResult, error) {
	placement, err := scheduler.OracleSnapshot(a.Scheduler).ListNodesInPlacement()
	if err != nil {
		return scheduler.ScheduleResult{}, err
	}
	try := map[string]any{"pod": info.Pod.Name, "node": nil, "nodes": a.spell(placement)}
	if len(a.tries) < mostTries {
		a.tries = append(a.tries, try)
	}
	nodes, diagnosis, err := scheduler.OracleFindNodes(ctx, a.Scheduler, profile, state, info.Pod)
	if err != nil {
		return scheduler.ScheduleResult{}, err
	}
	refused, total, feasible := map[string][]string{}, map[string]int64{}, []string{}
	diagnosis.NodeToStatus.ForEachExplicitNode(func(node string, status *fwk.Status) {
		refused[node] = []string{status.Plugin(), status.Message()}
	})
	// Where PreFilter refuses no node is looked at.
	if diagnosis.PreFilterMsg == "" {
		try["refused"], try["total"], try["feasible"] = refused, total, feasible
	}
	if len(nodes) == 0 {
		return scheduler.ScheduleResult{}, &framework.FitError{Pod: info.Pod, NumAllNodes: len(placement), Diagnosis: diagnosis}
	}
	for _, node := range nodes {
		feasible = append(feasible, node.Node().Name)
	}
	sort.Strings(feasible)
	try["feasible"] = feasible
	best := feasible[0]
	if len(nodes) > 1 {
		scores, err := scheduler.OraclePrioritize(ctx, a.Scheduler, profile, state, info.Pod, nodes)
		if err != nil {
			return scheduler.ScheduleResult{}, err
		}
		for _, node := range scores {
			total[node.Name] = node.TotalScore
		}
		best = highest(total)[0]
	}
	try["node"] = best
	return scheduler.ScheduleResult{SuggestedHost: best, EvaluatedNodes: len(nodes) + diagnosis.NodeToStatus.Len(), FeasibleNodes: len(nodes)}, nil
}

// spell says which nodes are looked at: how many, for a group by itself.
func (a *groupAttempt) spell(nodes []fwk.NodeInfo) any {
	if !a.trees {
		return len(nodes)
	}
	names := []string{}
	for _, node := range nodes {
		names = append(names, node.Node().Name)
	}
	sort.Strings(names)
	return names
}

// failed writes down what would be written about a pod.
func (a *groupAttempt) failed(_ context.Context, _ framework.Framework, info *framework.QueuedPodInfo, status *fwk.Status, _ *fwk.NominatingInfo, _ time.Time) {
	a.pods[info.Pod.Name] = map[string]string{"message": status.Message()}
}

// bound writes down where the pods went that did not fail.
func (a *groupAttempt) bound(pods []*v1.Pod, group *framework.QueuedPodGroupInfo) {
	for _, order := range orders(group) {
		for _, pod := range pods {
			if pod.Namespace != a.namespace || !slices.Contains(order, pod.Name) || a.pods[pod.Name] != nil {
				continue
			}
			if assumed, err := a.Cache.GetPod(pod); err == nil {
				a.pods[pod.Name] = map[string]string{"bound": assumed.Spec.NodeName}
			}
		}
	}
}

// settle waits until nothing more is written: victims are deleted beside the cycle.
func (a *groupAttempt) settle() {
	for before := -1; before != a.server.count(); {
		before = a.server.count()
		time.Sleep(100 * time.Millisecond)
	}
}

// written adds to the answer what was to be written into the API: conditions of groups, and deletions.
func (a *groupAttempt) written(answer map[string]any) {
	victims, conditions := []string{}, map[string]string{}
	for _, write := range a.server.writes {
		place := parse(write.path)
		if write.method == "DELETE" && place.resource == "pods" {
			victims = append(victims, place.namespace+"/"+place.name)
		}
		var patch struct {
			Status struct{ Conditions []struct{ Message string } }
		}
		if place.resource == "podgroups" && json.Unmarshal(write.body, &patch) == nil && len(patch.Status.Conditions) > 0 {
			conditions[place.name] = patch.Status.Conditions[0].Message
		}
	}
	sort.Strings(victims)
	answer["victims"] = victims
	if a.trees {
		answer["conditions"] = conditions
		return
	}
	answer["condition"] = nil
	for _, condition := range conditions {
		answer["condition"] = condition
	}
}
