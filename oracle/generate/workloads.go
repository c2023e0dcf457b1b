package main

import "fmt"

// addWorkloads draws what selects pods by default: Services and controllers.
func (c *cluster) addWorkloads() {
	for number := 0; number < 1+c.Intn(3); number++ {
		spec := object{"selector": object{"app": c.pick("web", "db", "cache")}, "ports": []object{{"port": 80}}}
		c.add("v1", "Service", c.anyOf(c.namespaces), fmt.Sprintf("svc-%d", number), object{"spec": spec})
	}
	for number := 0; number < c.Intn(3); number++ {
		labels := object{"app": c.pick("web", "db", "cache")}
		spec := object{"replicas": 3, "selector": object{"matchLabels": labels}, "template": object{"metadata": object{"labels": labels}, "spec": object{"containers": []object{}}}}
		c.add("apps/v1", "ReplicaSet", c.anyOf(c.namespaces), fmt.Sprintf("rs-%d", number), object{"spec": spec})
	}
}

// addBudget draws a PodDisruptionBudget that may keep preemption from a pod.
func (c *cluster) addBudget(number int) {
	c.add("policy/v1", "PodDisruptionBudget", c.anyOf(c.namespaces), fmt.Sprintf("pdb-%d", number), object{
		"spec": object{"minAvailable": 1, "selector": c.selector()}, "status": object{"disruptionsAllowed": c.Intn(2)},
	})
}

// addGroups draws the PodGroups that pods may belong to.
func (c *cluster) addGroups() {
	for number := 0; number < 8; number++ {
		namespace, name := c.anyOf(c.namespaces), fmt.Sprintf("g%d", number)
		c.groups[namespace] = append(c.groups[namespace], name)
		c.priorities[name] = c.priority()
		policy := object{"basic": object{}}
		if c.chance(80) {
			policy = object{"gang": object{"minCount": 1 + c.Intn(3)}}
		}
		spec := object{"schedulingPolicy": policy, "priority": c.priorities[name]}
		c.add("scheduling.k8s.io/v1beta1", "PodGroup", namespace, name, object{"spec": spec})
	}
}
