package main

import (
	"fmt"
	"math/rand"
)

// object is a part of the JSON that is written; its keys come out sorted.
type object = map[string]any

// cluster draws objects from one source of chance: what is drawn first decides all that follows.
type cluster struct {
	*rand.Rand
	objects    []object
	namespaces []string
	nodes      []string
	claims     map[string][]string
	groups     map[string][]string
	// Priorities of groups, which are those of their pods.
	priorities map[string]int
}

func newCluster(seed int64) *cluster {
	return &cluster{
		Rand: rand.New(rand.NewSource(seed)), namespaces: []string{"a", "b", "c"},
		claims: map[string][]string{}, groups: map[string][]string{}, priorities: map[string]int{},
	}
}

// fill draws a whole cluster.
func (c *cluster) fill(size size, groups bool) {
	for _, name := range c.namespaces {
		c.add("v1", "Namespace", "", name, object{"metadata": object{"labels": object{"kubernetes.io/metadata.name": name, "team": c.pick("x", "y")}}})
	}
	c.addDrivers()
	for number := 0; number < size.nodes+c.Intn(size.moreNodes); number++ {
		c.addNode(number)
	}
	c.addStorage()
	c.addWorkloads()
	if groups {
		c.addGroups()
	}
	for number := 0; number < size.running; number++ {
		c.addPod(fmt.Sprintf("p%03d", number), c.anyOf(c.nodes))
	}
	for number := 0; number < size.pending; number++ {
		c.addPod(fmt.Sprintf("q%03d", number), "")
	}
	for number := 0; number < c.Intn(4); number++ {
		c.addBudget(number)
	}
}

// add puts an object down, with the identity that only its place in the file decides.
func (c *cluster) add(version, kind, namespace, name string, rest object) {
	metadata, _ := rest["metadata"].(object)
	if metadata == nil {
		metadata = object{}
	}
	number := 1001 + len(c.objects)
	metadata["name"] = name
	metadata["uid"] = fmt.Sprintf("00000000-0000-0000-0000-%012x", number)
	metadata["resourceVersion"] = fmt.Sprint(number)
	metadata["creationTimestamp"] = "2026-01-01T00:00:00Z"
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	rest["apiVersion"], rest["kind"], rest["metadata"] = version, kind, metadata
	c.objects = append(c.objects, rest)
}

// chance is true in so many of a hundred cases.
func (c *cluster) chance(percent int) bool {
	return c.Intn(100) < percent
}

func (c *cluster) pick(from ...string) string {
	return c.anyOf(from)
}

func (c *cluster) anyOf(from []string) string {
	return from[c.Intn(len(from))]
}

// labels draws labels that the selectors of selector often select.
func (c *cluster) labels() object {
	labels := object{}
	if c.chance(80) {
		labels["app"] = c.pick("web", "db", "cache")
	}
	if c.chance(50) {
		labels["tier"] = c.pick("front", "back")
	}
	return labels
}

func (c *cluster) selector() object {
	switch c.Intn(4) {
	case 0:
		return object{"matchExpressions": []object{{"key": "tier", "operator": c.pick("Exists", "DoesNotExist")}}}
	case 1:
		return object{"matchExpressions": []object{{"key": "app", "operator": c.pick("In", "NotIn"), "values": []string{"web", "db"}}}}
	}
	return object{"matchLabels": object{"app": c.pick("web", "db", "cache")}}
}

func (c *cluster) topology() string {
	return c.pick("topology.kubernetes.io/zone", "topology.kubernetes.io/zone", "kubernetes.io/hostname", "rack")
}
