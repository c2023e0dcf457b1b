package main

import (
	"context"
	"fmt"
	"os"
	"sort"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

// Profile is what a profile runs.
type Profile struct {
	PreFilter []string `json:"preFilter"`
	Filter    []string `json:"filter"`
	Score     []string `json:"score"`
	Preempts  bool     `json:"preempts"`
}

// answer loads, validates and starts: the first that refuses is the last that is asked.
func answer(line *Line) error {
	file, err := os.CreateTemp("", "configuration-*.json")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	if _, err := file.Write(line.Config); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	read, err := options.OracleLoad(file.Name())
	if err != nil {
		line.Refused = reasons(err)
		return nil
	}
	if err := validation.ValidateKubeSchedulerConfiguration(read); err != nil {
		line.Refused = reasons(err)
		return nil
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	sched, err := start(ctx, read)
	if err != nil {
		line.Refused = reasons(err)
		return nil
	}
	line.Profiles = map[string]Profile{}
	for name, profile := range sched.Profiles {
		line.Profiles[name] = lists(profile.ListPlugins())
	}
	return nil
}

// start makes a scheduler of a configuration; its API server is never asked anything.
func start(ctx context.Context, read *config.KubeSchedulerConfiguration) (*scheduler.Scheduler, error) {
	nowhere := &rest.Config{Host: "http://oracle"}
	client, err := kubernetes.NewForConfig(nowhere)
	if err != nil {
		return nil, err
	}
	dynamicClient, err := dynamic.NewForConfig(nowhere)
	if err != nil {
		return nil, err
	}
	factory := scheduler.OracleFactory(client)
	dynamicFactory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(dynamicClient, 0, "", nil)
	recorders := profile.NewRecorderFactory(events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()}))
	return scheduler.OracleNew(ctx, client, factory, dynamicFactory, recorders, []scheduler.Option{
		scheduler.WithComponentConfigVersion(read.TypeMeta.APIVersion),
		scheduler.WithProfiles(read.Profiles...),
		scheduler.WithPercentageOfNodesToScore(read.PercentageOfNodesToScore),
		scheduler.WithExtenders(read.Extenders...),
		scheduler.WithPodInitialBackoffSeconds(read.PodInitialBackoffSeconds),
		scheduler.WithPodMaxBackoffSeconds(read.PodMaxBackoffSeconds),
		scheduler.WithParallelism(read.Parallelism),
	})
}

// lists returns the plugins of a profile in the order they run.
func lists(plugins *config.Plugins) Profile {
	listed := Profile{PreFilter: []string{}, Filter: []string{}, Score: []string{}}
	listed.PreFilter = append(listed.PreFilter, names(plugins.PreFilter)...)
	listed.Filter = append(listed.Filter, names(plugins.Filter)...)
	for _, plugin := range plugins.Score.Enabled {
		listed.Score = append(listed.Score, fmt.Sprintf("%s %d", plugin.Name, plugin.Weight))
	}
	for _, plugin := range plugins.PostFilter.Enabled {
		listed.Preempts = listed.Preempts || plugin.Name == "DefaultPreemption"
	}
	return listed
}

// names returns the plugins of a point, each once: 1.23 to 1.25 can put one down twice.
func names(set config.PluginSet) []string {
	seen, names := map[string]bool{}, []string{}
	for _, plugin := range set.Enabled {
		if !seen[plugin.Name] {
			seen[plugin.Name] = true
			names = append(names, plugin.Name)
		}
	}
	return names
}

// reasons returns the sentences of an error, sorted, each once.
func reasons(err error) []string {
	messages := []string{}
	seen := map[string]bool{}
	for _, one := range each(err) {
		if !seen[one.Error()] {
			seen[one.Error()] = true
			messages = append(messages, one.Error())
		}
	}
	sort.Strings(messages)
	return messages
}

func each(err error) []error {
	if many, is := err.(utilerrors.Aggregate); is {
		return utilerrors.Flatten(many).Errors()
	}
	return []error{err}
}
