package main

import (
	"context"
	"fmt"
	"reflect"
	"time"

	v1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	configscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

// Cluster is a scheduler that has seen all objects of a file and has not tried any pod.
type Cluster struct {
	*scheduler.Scheduler
	server *server
	stop   context.CancelFunc
}

// setGates turns the file's feature gates on and off, once for the whole run.
func setGates(header Header) error {
	if header.Gates == nil || *header.Gates == "" {
		return nil
	}
	return utilfeature.DefaultMutableFeatureGate.Set(*header.Gates)
}

// start makes a scheduler and waits until its cache holds the file's objects.
func start(file *File) (*Cluster, error) {
	ctx, stop := context.WithCancel(context.Background())
	server := newServer(file.objects)
	client, err := kubernetes.NewForConfig(server.config())
	if err != nil {
		stop()
		return nil, err
	}
	dynamicClient, err := dynamic.NewForConfig(server.config())
	if err != nil {
		stop()
		return nil, err
	}
	options, err := options(file.header)
	if err != nil {
		stop()
		return nil, err
	}
	factory := scheduler.OracleFactory(client)
	dynamicFactory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(dynamicClient, 0, "", nil)
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	sched, err := scheduler.OracleNew(ctx, client, factory, dynamicFactory, profile.NewRecorderFactory(broadcaster), options)
	if err != nil {
		stop()
		return nil, err
	}
	if err := fill(ctx, sched, factory, server); err != nil {
		stop()
		return nil, err
	}
	return &Cluster{sched, server, stop}, nil
}

// fill hands the objects to the scheduler: pods when everything else is there.
func fill(ctx context.Context, sched *scheduler.Scheduler, factory informers.SharedInformerFactory, server *server) error {
	nodes := 0
	for _, object := range server.objects {
		if object.Kind == "Node" {
			nodes++
		}
	}
	factory.Start(ctx.Done())
	if err := until(func() bool { return sched.Cache.NodeCount() == nodes }); err != nil {
		return fmt.Errorf("the cache does not get the nodes: %w", err)
	}
	if err := until(func() bool { return others(factory) }); err != nil {
		return fmt.Errorf("not everything but pods is read: %w", err)
	}
	close(server.gates["pods"])
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return fmt.Errorf("%v were not read", kind)
		}
	}
	return handled(ctx, sched, server)
}

// others reports whether everything but pods was read.
func others(factory informers.SharedInformerFactory) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Millisecond)
	defer cancel()
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced && kind != reflect.TypeOf(&v1.Pod{}) {
			return false
		}
	}
	return true
}

// until waits for something that other goroutines bring about.
func until(done func() bool) error {
	for tries := 0; tries < 10_000; tries++ {
		if done() {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("not after 10 seconds")
}

// options returns what the file's KubeSchedulerConfiguration asks of the scheduler.
func options(header Header) ([]scheduler.Option, error) {
	if len(header.Config) == 0 || string(header.Config) == "null" {
		return nil, nil
	}
	decoded, _, err := configscheme.Codecs.UniversalDecoder().Decode(header.Config, nil, nil)
	if err != nil {
		return nil, err
	}
	read, ok := decoded.(*config.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("the configuration is a %T", decoded)
	}
	return []scheduler.Option{
		scheduler.WithProfiles(read.Profiles...),
		scheduler.WithPercentageOfNodesToScore(read.PercentageOfNodesToScore),
		scheduler.WithExtenders(read.Extenders...),
	}, nil
}
