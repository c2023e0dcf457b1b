// Fills client-go's informers from an API server, one for every version of every resource that discovery names with list and watch, and writes
// what they hold. It ends with an error where an informer does not sync, or a list or watch of one failed.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

const protobuf = "application/vnd.kubernetes.protobuf"

// What the clients saw: how they asked, media types of responses, and what failed.
var (
	mutex    sync.Mutex
	requests = map[string]int{}
	answers  = map[string]int{}
	failures = map[string]int{}
)

func count(counts map[string]int, key string) {
	mutex.Lock()
	defer mutex.Unlock()
	counts[key]++
}

type counting struct{ next http.RoundTripper }

func (c counting) RoundTrip(request *http.Request) (*http.Response, error) {
	query := request.URL.Query()
	switch {
	case query.Get("sendInitialEvents") == "true":
		count(requests, "streaming list")
	case query.Has("watch"):
		count(requests, "watch")
	case query.Get("resourceVersionMatch") == "Exact":
		count(requests, "second list")
	case query.Has("resourceVersion"):
		count(requests, "list")
	}
	response, err := c.next.RoundTrip(request)
	if err == nil {
		mediaType, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
		count(answers, fmt.Sprintf("%d %s", response.StatusCode, mediaType))
	}
	return response, err
}

// A factory of informers with a client and connections of its own.
type factory struct {
	informer func(schema.GroupVersionResource) (cache.SharedIndexInformer, error)
	start    func(<-chan struct{})
	synced   map[schema.GroupVersionResource]cache.SharedIndexInformer
}

func newFactory(mode, kubeconfig string) (*factory, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counting{next} })
	// client-go shares connections between clients whose configurations are equal; a proxy function of its own makes this one differ.
	config.Proxy = http.ProxyFromEnvironment
	switch mode {
	case "typed":
		// Protobuf alone, stricter than controllers are, who take JSON too.
		config.ContentType, config.AcceptContentTypes = protobuf, protobuf
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		if _, err := client.Discovery().ServerVersion(); err != nil {
			return nil, fmt.Errorf("version: %w", err)
		}
		shared := informers.NewSharedInformerFactory(client, 0)
		return &factory{informer: func(resource schema.GroupVersionResource) (cache.SharedIndexInformer, error) {
			generic, err := shared.ForResource(resource)
			if err != nil {
				return nil, err
			}
			return generic.Informer(), nil
		}, start: shared.Start}, nil
	case "metadata":
		client, err := metadata.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		shared := metadatainformer.NewSharedInformerFactory(client, 0)
		return &factory{informer: func(resource schema.GroupVersionResource) (cache.SharedIndexInformer, error) {
			return shared.ForResource(resource).Informer(), nil
		}, start: shared.Start}, nil
	case "dynamic":
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		shared := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
		return &factory{informer: func(resource schema.GroupVersionResource) (cache.SharedIndexInformer, error) {
			return shared.ForResource(resource).Informer(), nil
		}, start: shared.Start}, nil
	}
	return nil, fmt.Errorf("no mode is called %q", mode)
}

// Adds an informer for each resource; a typed client has none for custom resources.
func (f *factory) add(resources []schema.GroupVersionResource) error {
	f.synced = map[schema.GroupVersionResource]cache.SharedIndexInformer{}
	for _, resource := range resources {
		informer, err := f.informer(resource)
		if err != nil {
			continue
		}
		err = informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) {
			count(failures, fmt.Sprintf("%s: %v", name(resource), err))
		})
		if err != nil {
			return err
		}
		f.synced[resource] = informer
	}
	return nil
}

func (f *factory) wait(ctx context.Context) error {
	var missing []string
	for resource, informer := range f.synced {
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			missing = append(missing, name(resource))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("never in sync: %s", strings.Join(missing, " "))
	}
	return nil
}

// `group_version_resource`, the core group's empty.
func name(resource schema.GroupVersionResource) string {
	return resource.Group + "_" + resource.Version + "_" + resource.Resource
}

// What can be listed and watched, in every version.
func watchable(kubeconfig string) ([]schema.GroupVersionResource, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		return nil, err
	}
	found, err := discovery.GroupVersionResources(discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "watch"}}, lists))
	resources := slices.Collect(maps.Keys(found))
	slices.SortFunc(resources, func(a, b schema.GroupVersionResource) int { return strings.Compare(name(a), name(b)) })
	return resources, err
}

// Writes the objects of a store, each a line of JSON.
func write(path string, informer cache.SharedIndexInformer) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	out := bufio.NewWriter(file)
	for _, item := range informer.GetStore().List() {
		object := item.(runtime.Object).DeepCopyObject()
		// Typed objects do not say what they are.
		if kinds, _, err := scheme.Scheme.ObjectKinds(object); err == nil && object.GetObjectKind().GroupVersionKind().Empty() {
			object.GetObjectKind().SetGroupVersionKind(kinds[0])
		}
		text, err := json.Marshal(object)
		if err != nil {
			return err
		}
		out.Write(append(text, '\n'))
	}
	return out.Flush()
}

// The resource versions of a store, by key.
func versions(informer cache.SharedIndexInformer) map[string]string {
	found := map[string]string{}
	for _, item := range informer.GetStore().List() {
		object := item.(interface {
			GetNamespace() string
			GetName() string
			GetResourceVersion() string
		})
		found[object.GetNamespace()+"/"+object.GetName()] = object.GetResourceVersion()
	}
	return found
}

func run() error {
	kubeconfig := flag.String("kubeconfig", "", "the server")
	mode := flag.String("mode", "dynamic", "dynamic, typed (in protobuf) or metadata")
	out := flag.String("out", "", "the folder for the stores of the first factory")
	factories := flag.Int("factories", 1, "how many sets of informers run at once")
	hold := flag.Duration("hold", 2*time.Second, "how long they go on watching")
	limit := flag.Duration("limit", 5*time.Minute, "how long they may take")
	flag.Parse()
	resources, err := watchable(*kubeconfig)
	if err != nil {
		return err
	}
	var all []*factory
	for range *factories {
		next, err := newFactory(*mode, *kubeconfig)
		if err != nil {
			return err
		}
		if err := next.add(resources); err != nil {
			return err
		}
		all = append(all, next)
	}
	ctx, cancel := context.WithTimeout(context.Background(), *limit)
	defer cancel()
	begun := time.Now()
	for _, one := range all {
		one.start(ctx.Done())
	}
	for _, one := range all {
		if err := one.wait(ctx); err != nil {
			return err
		}
	}
	took := time.Since(begun)
	time.Sleep(*hold)
	objects := 0
	for resource, informer := range all[0].synced {
		wanted := versions(informer)
		objects += len(wanted)
		for _, other := range all[1:] {
			if !maps.Equal(versions(other.synced[resource]), wanted) {
				return fmt.Errorf("two stores of %s differ", name(resource))
			}
		}
		if *out != "" {
			if err := write(filepath.Join(*out, name(resource)+".jsonl"), informer); err != nil {
				return err
			}
		}
	}
	mutex.Lock()
	defer mutex.Unlock()
	if len(failures) > 0 {
		return fmt.Errorf("lists or watches failed: %v", failures)
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"informers": len(all) * len(all[0].synced), "resources": len(all[0].synced), "objects": objects,
		"seconds": took.Seconds(), "requests": requests, "answers": answers,
	})
}

func main() {
	if err := run(); err != nil && !errors.Is(err, flag.ErrHelp) {
		log.Fatal(err)
	}
}
