//go:build since_1_36

package scheduler

import (
	"context"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// OracleGroupCycle tries a group that came out of the queue.
func OracleGroupCycle(ctx context.Context, sched *Scheduler, group *framework.QueuedPodGroupInfo) {
	sched.scheduleOnePodGroup(ctx, group)
}

// OraclePrioritize scores nodes as an attempt does.
func OraclePrioritize(ctx context.Context, sched *Scheduler, profile framework.Framework, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) ([]fwk.NodePluginScores, error) {
	return prioritizeNodes(ctx, sched.Extenders, profile, state, pod, nodes)
}

// oracleByName takes the placements that plugins make in the order of Go's maps by their names.
func oracleByName(placements []*fwk.Placement, status *fwk.Status) ([]*fwk.Placement, *fwk.Status) {
	slices.SortFunc(placements, func(a, b *fwk.Placement) int { return strings.Compare(a.Name, b.Name) })
	return placements, status
}

// oracleRank stands for the number drawn for a placement: of equal ones the first by name has the highest.
func oracleRank(scores []fwk.PlacementPluginScores, own int) int {
	rank := 0
	for _, other := range scores {
		if other.Placement.Name > scores[own].Placement.Name {
			rank++
		}
	}
	return rank
}
