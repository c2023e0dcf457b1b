package main

import (
	"context"
	"fmt"
	"io"
	"sort"
	"strings"

	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Sample is what the scheduler did with one pod of a cluster that is too large to be looked at whole: a line of testdata/sampling.
type Sample struct {
	Pod      string                      `json:"pod"`
	Node     *string                     `json:"node"`
	Message  *string                     `json:"message"`
	Refused  map[string][]any            `json:"refused"`
	Sample   []string                    `json:"sample"`
	Raw      map[string]map[string]int64 `json:"raw,omitempty"`
	Weighted map[string]map[string]int64 `json:"weighted,omitempty"`
	Total    map[string]int64            `json:"total,omitempty"`
}

// answerSamples tries the pending pods one after the other on one scheduler.
func answerSamples(file *File, out io.Writer) error {
	if err := setGates(file.header); err != nil {
		return err
	}
	if err := file.write(out); err != nil {
		return err
	}
	cluster, err := start(file)
	if err != nil {
		return err
	}
	defer cluster.stop()
	pods, err := file.pending()
	if err != nil {
		return err
	}
	for _, pod := range pods {
		asked := &question{context.Background(), cluster, cluster.Profiles[pod.Spec.SchedulerName], pod}
		sample, err := asked.sample(file.answers[pod.Namespace+"/"+pod.Name])
		if err != nil {
			return fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
		if err := writeLine(out, sample); err != nil {
			return err
		}
	}
	return nil
}

// sample makes one attempt, and gives the pod its node. Which nodes are looked at hangs on which goroutine is faster, and of nodes that are
// equally good upstream draws one: what a file records of these is taken from it.
func (q *question) sample(recorded Recorded) (*Sample, error) {
	if err := scheduler.OracleUpdateSnapshot(q.cluster.Scheduler); err != nil {
		return nil, err
	}
	state := framework.NewCycleState()
	nodes, diagnosis, err := scheduler.OracleFindNodes(q.ctx, q.cluster.Scheduler, q.profile, state, q.pod)
	sample := &Sample{Pod: q.pod.Namespace + "/" + q.pod.Name, Refused: map[string][]any{}, Sample: []string{}}
	// What PreFilter refuses is refused before a node is looked at.
	if _, status := preFilter(q.ctx, q.profile, framework.NewCycleState(), q.pod); status.IsSuccess() {
		eachRefusal(diagnosis, sample.refuse)
	}
	if len(recorded.Sample) > 0 {
		nodes = q.lookAt(state, recorded, sample)
	}
	for _, node := range nodes {
		sample.Sample = append(sample.Sample, node.Node().Name)
	}
	if err == nil && len(nodes) == 0 {
		_, status := q.profile.RunPostFilterPlugins(q.ctx, state, q.pod, statusOf(diagnosis))
		diagnosis.PostFilterMsg = status.Message()
		err = &framework.FitError{Pod: q.pod, NumAllNodes: len(q.infos()), Diagnosis: diagnosis}
	}
	if err != nil {
		message := err.Error()
		sample.Message = &message
		return sample, nil
	}
	return sample, q.choose(state, nodes, recorded.Node, sample)
}

// lookAt filters the nodes that an attempt of the file looked at, and returns those that fit.
func (q *question) lookAt(state cycleState, recorded Recorded, sample *Sample) []nodeInfo {
	names := append([]string{}, recorded.Sample...)
	for name := range recorded.Refused {
		names = append(names, name)
	}
	sample.Refused = map[string][]any{}
	fitting := []nodeInfo{}
	for _, name := range names {
		info := q.node(name)
		if status := q.profile.RunFilterPluginsWithNominatedPods(q.ctx, state, q.pod, info); status.IsSuccess() {
			fitting = append(fitting, info)
		} else {
			sample.refuse(name, status)
		}
	}
	return fitting
}

// refuse notes why a node does not fit.
func (sample *Sample) refuse(node string, status *fwkStatus) {
	// What a filter failed with, without what the framework puts before it.
	message := strings.TrimPrefix(status.Message(), fmt.Sprintf("running %q filter plugin: ", pluginOf(status)))
	reasons := strings.Split(message, ", ")
	sort.Strings(reasons)
	sample.Refused[node] = []any{pluginOf(status), status.Code().String(), reasons}
}

// choose puts the pod on one of the best nodes: the wanted one, if it is among them.
func (q *question) choose(state cycleState, nodes []nodeInfo, wanted string, sample *Sample) error {
	best := sample.Sample[:1]
	if len(nodes) > 1 {
		answer := &Answer{Raw: map[string]map[string]int64{}, Weighted: map[string]map[string]int64{}, Total: map[string]int64{}}
		if err := score(q.ctx, q.profile, state, q.pod, nodes, answer); err != nil {
			return err
		}
		sample.Raw, sample.Weighted, sample.Total = answer.Raw, answer.Weighted, answer.Total
		best = highest(answer.Total)
	}
	sample.Node = &best[0]
	for _, node := range best {
		if node == wanted {
			sample.Node = &wanted
		}
	}
	return q.assume(state, *sample.Node)
}

// highest returns the nodes that have the most points, by name.
func highest(total map[string]int64) []string {
	nodes := []string{}
	for node, points := range total {
		if len(nodes) > 0 && points > total[nodes[0]] {
			nodes = nodes[:0]
		}
		if len(nodes) == 0 || points == total[nodes[0]] {
			nodes = append(nodes, node)
		}
	}
	sort.Strings(nodes)
	return nodes
}

// assume puts the pod on the node, as the scheduler does before it binds.
func (q *question) assume(state cycleState, node string) error {
	assumed := q.pod.DeepCopy()
	assumed.Spec.NodeName = node
	if err := scheduler.OracleAssume(q.cluster.Scheduler, assumed); err != nil {
		return err
	}
	if status := q.profile.RunReservePluginsReserve(q.ctx, state, assumed, node); !status.IsSuccess() {
		return status.AsError()
	}
	return nil
}
