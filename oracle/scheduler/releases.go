package main

import (
	"context"
	"fmt"
	"io"
	"sort"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// Answer is what the scheduler says of one pod: a line of testdata/releases.
type Answer struct {
	Pod        string                      `json:"pod"`
	PreEnqueue []string                    `json:"preenqueue,omitempty"`
	Message    string                      `json:"message,omitempty"`
	Nominated  string                      `json:"nominated,omitempty"`
	Feasible   []string                    `json:"feasible"`
	PreFilter  []string                    `json:"prefilter,omitempty"`
	Filters    map[string][][]string       `json:"filters"`
	First      map[string][]string         `json:"first"`
	Raw        map[string]map[string]int64 `json:"raw"`
	Weighted   map[string]map[string]int64 `json:"weighted"`
	Total      map[string]int64            `json:"total"`
	Devices    map[string][][]string       `json:"devices,omitempty"`
}

// answerPods answers every pending pod of the file, each on a scheduler of its own: an attempt leaves traces in the one that made it.
func answerPods(file *File, out io.Writer) error {
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
	for _, pod := range pods {
		answer, err := answerPod(file, pod)
		if err != nil {
			return fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
		if err := writeLine(out, answer); err != nil {
			return err
		}
	}
	return nil
}

func answerPod(file *File, pod *v1.Pod) (*Answer, error) {
	cluster, err := start(file)
	if err != nil {
		return nil, err
	}
	defer cluster.stop()
	profile := cluster.Profiles[pod.Spec.SchedulerName]
	if profile == nil {
		return nil, fmt.Errorf("no profile is called %q", pod.Spec.SchedulerName)
	}
	if err := scheduler.OracleUpdateSnapshot(cluster.Scheduler); err != nil {
		return nil, err
	}
	asked := &question{context.Background(), cluster, profile, pod}
	answer := &Answer{
		Pod: pod.Namespace + "/" + pod.Name, PreEnqueue: asked.preEnqueue(), Feasible: []string{}, Filters: map[string][][]string{},
		First: map[string][]string{}, Raw: map[string]map[string]int64{}, Weighted: map[string]map[string]int64{}, Total: map[string]int64{},
	}
	if err := asked.nodes(answer); err != nil {
		return nil, err
	}
	return answer, asked.attempt(answer)
}

// question is one pod on one scheduler.
type question struct {
	ctx     context.Context
	cluster *Cluster
	profile framework.Framework
	pod     *v1.Pod
}

// nodes runs PreFilter, then every filter on every node that PreFilter leaves, then the scores of the nodes that fit.
func (q *question) nodes(answer *Answer) error {
	state := framework.NewCycleState()
	result, refusal := preFilter(q.ctx, q.profile, state, q.pod)
	if !refusal.IsSuccess() {
		answer.PreFilter = refused(refusal)
		return nil
	}
	fitting := []nodeInfo{}
	for _, info := range q.infos() {
		name := info.Node().Name
		if !result.AllNodes() && !result.NodeNames.Has(name) {
			continue
		}
		answer.Filters[name] = q.filterRows(state, info)
		if first := q.profile.RunFilterPluginsWithNominatedPods(q.ctx, state, q.pod, info); first.IsSuccess() {
			fitting = append(fitting, info)
			answer.Feasible = append(answer.Feasible, name)
		} else {
			answer.First[name] = refused(first)
		}
	}
	sort.Strings(answer.Feasible)
	q.devices(answer)
	if len(fitting) < 2 {
		return nil
	}
	// Where a score fails the attempt ends with that error, and its message names it.
	_ = score(q.ctx, q.profile, state, q.pod, fitting, answer)
	return nil
}

// attempt has the scheduler itself try the pod, and make room for it where it does not fit.
func (q *question) attempt(answer *Answer) error {
	state := framework.NewCycleState()
	err := try(q.ctx, q.cluster.Scheduler, q.profile, state, q.pod)
	if err == nil {
		return nil
	}
	if fitError, unfit := err.(*framework.FitError); unfit && q.profile.HasPostFilterPlugins() {
		result, status := q.profile.RunPostFilterPlugins(q.ctx, state, q.pod, statusOf(fitError.Diagnosis))
		fitError.Diagnosis.PostFilterMsg = status.Message()
		if result != nil && result.NominatingInfo != nil {
			answer.Nominated = result.NominatedNodeName
		}
	}
	answer.Message = err.Error()
	return nil
}

// filterRows runs every filter that PreFilter did not skip on a node, whatever the ones before it returned.
func (q *question) filterRows(state cycleState, node nodeInfo) [][]string {
	rows := [][]string{}
	for _, plugin := range runtime.OracleFilters(q.profile) {
		if !skipsFilter(state, plugin.Name()) {
			status := plugin.Filter(q.ctx, state, q.pod, node)
			rows = append(rows, []string{plugin.Name(), status.Code().String(), status.Message()})
		}
	}
	return rows
}

// refused spells a status as the files do.
func refused(status *fwkStatus) []string {
	return []string{pluginOf(status), status.Code().String(), status.Message()}
}

// infos returns the nodes of the snapshot, in the order they are looked at.
func (q *question) infos() []nodeInfo {
	infos, err := scheduler.OracleSnapshot(q.cluster.Scheduler).NodeInfos().List()
	if err != nil {
		panic(err) // The snapshot is memory: listing it does not fail.
	}
	return infos
}

// node returns a node of the snapshot.
func (q *question) node(name string) nodeInfo {
	for _, info := range q.infos() {
		if info.Node().Name == name {
			return info
		}
	}
	return nil
}
