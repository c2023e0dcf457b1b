package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

type (
	cycleState = fwk.CycleState
	nodeInfo   = fwk.NodeInfo
	fwkStatus  = fwk.Status
)

func newScheduler(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory,
	dynamicFactory dynamicinformer.DynamicSharedInformerFactory, recorders profile.RecorderFactory, options []scheduler.Option,
) (*scheduler.Scheduler, error) {
	return scheduler.New(ctx, client, factory, dynamicFactory, recorders, options...)
}

// handled waits until the scheduler's event handlers have seen everything that its informers have.
func handled(ctx context.Context, sched *scheduler.Scheduler) error {
	return sched.WaitForHandlersSync(ctx)
}

func snapshot(sched *scheduler.Scheduler) error {
	return sched.Cache.UpdateSnapshot(klog.Background(), scheduler.OracleSnapshot(sched))
}

// try runs one attempt up to the choice of a node.
func try(ctx context.Context, sched *scheduler.Scheduler, profile framework.Framework, state cycleState, pod *v1.Pod) error {
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return err
	}
	_, err = sched.SchedulePod(ctx, profile, state, &framework.QueuedPodInfo{PodInfo: info})
	return err
}

func preFilter(ctx context.Context, profile framework.Framework, state cycleState, pod *v1.Pod) (*fwk.PreFilterResult, *fwkStatus) {
	result, status, _ := profile.RunPreFilterPlugins(ctx, state, pod)
	return result, status
}

func nodeInfos(sched *scheduler.Scheduler) ([]nodeInfo, error) {
	return scheduler.OracleSnapshot(sched).NodeInfos().List()
}

// filterRows runs every filter that PreFilter did not skip on a node, whatever the ones before it said.
func filterRows(ctx context.Context, profile framework.Framework, state cycleState, pod *v1.Pod, node nodeInfo) [][]string {
	rows := [][]string{}
	for _, plugin := range runtime.OracleFilters(profile) {
		if !state.GetSkipFilterPlugins().Has(plugin.Name()) {
			status := plugin.Filter(ctx, state, pod, node)
			rows = append(rows, []string{plugin.Name(), status.Code().String(), status.Message()})
		}
	}
	return rows
}

// score runs the scores on the nodes that fit.
func score(ctx context.Context, profile framework.Framework, state cycleState, pod *v1.Pod, nodes []nodeInfo, answer *Answer) error {
	if status := profile.RunPreScorePlugins(ctx, state, pod, nodes); !status.IsSuccess() {
		return status.AsError()
	}
	scores, status := profile.RunScorePlugins(ctx, state, pod, nodes)
	if !status.IsSuccess() {
		return status.AsError()
	}
	for _, node := range scores {
		answer.Total[node.Name] = node.TotalScore
		for _, score := range node.Scores {
			note(answer.Weighted, score.Name, node.Name, score.Score)
		}
	}
	for _, plugin := range runtime.OracleScores(profile) {
		if state.GetSkipScorePlugins().Has(plugin.Name()) {
			continue
		}
		for _, node := range nodes {
			points, status := plugin.Score(ctx, state, pod, node)
			if !status.IsSuccess() {
				return status.AsError()
			}
			note(answer.Raw, plugin.Name(), node.Node().Name, points)
		}
	}
	return nil
}

func note(table map[string]map[string]int64, plugin, node string, points int64) {
	if table[plugin] == nil {
		table[plugin] = map[string]int64{}
	}
	table[plugin][node] = points
}

func postFilter(ctx context.Context, profile framework.Framework, state cycleState, pod *v1.Pod, refused *framework.FitError) (*fwk.PostFilterResult, *fwkStatus) {
	return profile.RunPostFilterPlugins(ctx, state, pod, refused.Diagnosis.NodeToStatus)
}

func newFactory(client kubernetes.Interface) informers.SharedInformerFactory {
	return scheduler.NewInformerFactory(client, 0, nil)
}

// allocations returns the devices that Filter found on a node: request, driver, pool and device of each.
func allocations(state cycleState, node string) [][]string {
	rows := [][]string{}
	for _, device := range dynamicresources.OracleAllocations(state, node) {
		rows = append(rows, []string{device.Request, device.Driver, device.Pool, device.Device})
	}
	return rows
}
