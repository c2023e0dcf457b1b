package main

import "fmt"

// addPod draws a pod: one that runs on the node, or one that waits for a node.
func (c *cluster) addPod(name, node string) {
	namespace := c.anyOf(c.namespaces)
	spec := object{"schedulerName": "default-scheduler", "containers": c.containers(), "priority": c.priority()}
	status := object{"phase": "Running"}
	if node == "" {
		status["phase"] = "Pending"
		if c.chance(8) {
			status["nominatedNodeName"] = c.anyOf(c.nodes)
		}
	} else {
		spec["nodeName"] = node
		status["startTime"] = fmt.Sprintf("2026-01-01T00:%02d:00Z", c.Intn(60))
	}
	c.placement(spec)
	if volumes := c.podVolumes(namespace); len(volumes) > 0 {
		spec["volumes"] = volumes
	}
	if groups := c.groups[namespace]; node == "" && len(groups) > 0 && c.chance(90) {
		group := c.anyOf(groups)
		spec["schedulingGroup"] = object{"podGroupName": group}
		spec["priority"] = c.priorities[group]
		delete(spec, "preemptionPolicy")
	}
	c.add("v1", "Pod", namespace, name, object{"metadata": object{"labels": c.labels()}, "spec": spec, "status": status})
}

func (c *cluster) priority() int {
	return []int{0, 0, 10, 100}[c.Intn(4)]
}

func (c *cluster) containers() []object {
	containers := []object{}
	for number := 0; number < 1+c.Intn(2); number++ {
		requests := object{}
		if c.chance(75) {
			requests["cpu"] = c.pick("0", "100m", "250m", "500m", "1")
		}
		if c.chance(65) {
			requests["memory"] = c.pick("64Mi", "200Mi", "1Gi", "2Gi")
		}
		if c.chance(8) {
			requests["ephemeral-storage"] = c.pick("1Gi", "5Gi")
		}
		limits := object{}
		if c.chance(6) {
			requests["example.com/gpu"], limits["example.com/gpu"] = "1", "1"
		}
		container := object{
			"name": fmt.Sprintf("c%d", number), "image": fmt.Sprintf("img%d:v1", c.Intn(8)),
			"resources": object{"requests": requests, "limits": limits},
		}
		if c.chance(15) {
			container["ports"] = []object{{"containerPort": 80, "hostPort": 8080 + c.Intn(2), "protocol": c.pick("TCP", "UDP")}}
		}
		containers = append(containers, container)
	}
	return containers
}

// placement draws what a pod asks of nodes and of the pods on them.
func (c *cluster) placement(spec object) {
	if c.chance(15) {
		spec["nodeSelector"] = object{"disk": c.pick("ssd", "hdd")}
	}
	if c.chance(30) {
		toleration := object{"key": c.pick("dedicated", "k1"), "operator": "Exists"}
		if c.chance(50) {
			toleration["effect"] = c.pick("NoSchedule", "PreferNoSchedule", "NoExecute")
		}
		spec["tolerations"] = []object{toleration}
	}
	if c.chance(35) {
		spec["affinity"] = c.affinity()
	}
	if c.chance(25) {
		spec["topologySpreadConstraints"] = []object{{
			"maxSkew": 1 + c.Intn(2), "topologyKey": c.topology(), "labelSelector": c.selector(),
			"whenUnsatisfiable": c.pick("DoNotSchedule", "ScheduleAnyway"),
		}}
	}
	if c.chance(5) {
		spec["preemptionPolicy"] = "Never"
	}
}

func (c *cluster) affinity() object {
	affinity := object{}
	if c.chance(40) {
		expression := object{"key": c.pick("disk", "rack", "topology.kubernetes.io/zone"), "operator": c.pick("In", "NotIn"), "values": []string{"ssd", "k1", "z1", "z2"}}
		term := object{"matchExpressions": []object{expression}}
		if c.chance(50) {
			affinity["nodeAffinity"] = object{"requiredDuringSchedulingIgnoredDuringExecution": object{"nodeSelectorTerms": []object{term}}}
		} else {
			preferred := []object{{"weight": 1 + c.Intn(100), "preference": term}}
			affinity["nodeAffinity"] = object{"preferredDuringSchedulingIgnoredDuringExecution": preferred}
		}
	}
	for _, kind := range []string{"podAffinity", "podAntiAffinity"} {
		if c.chance(35) {
			affinity[kind] = c.podAffinity()
		}
	}
	return affinity
}

func (c *cluster) podAffinity() object {
	term := object{"topologyKey": c.topology(), "labelSelector": c.selector()}
	if c.chance(25) {
		term["namespaceSelector"] = object{"matchLabels": object{"team": c.pick("x", "y")}}
	}
	if c.chance(40) {
		return object{"requiredDuringSchedulingIgnoredDuringExecution": []object{term}}
	}
	return object{"preferredDuringSchedulingIgnoredDuringExecution": []object{{"weight": 1 + c.Intn(100), "podAffinityTerm": term}}}
}

func (c *cluster) podVolumes(namespace string) []object {
	if c.chance(75) || len(c.claims[namespace]) == 0 {
		return nil
	}
	claim := c.anyOf(c.claims[namespace])
	if c.chance(3) {
		claim = "nothing"
	}
	return []object{{"name": "v0", "persistentVolumeClaim": object{"claimName": claim}}}
}
