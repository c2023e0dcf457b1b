package main

import "fmt"

var classes = []string{"wait-x", "wait-y", "now-x", "local"}

// addStorage draws classes, capacities, claims and volumes.
func (c *cluster) addStorage() {
	for _, name := range classes {
		c.addClass(name)
	}
	for number := 0; number < c.Intn(3); number++ {
		c.add("storage.k8s.io/v1", "CSIStorageCapacity", "a", fmt.Sprintf("capacity-%d", number), object{
			"storageClassName": c.pick("wait-x", "wait-y"), "capacity": c.pick("0", "1Gi", "100Gi"),
			"nodeTopology": object{"matchLabels": object{"topology.kubernetes.io/zone": c.pick("z1", "z2")}},
		})
	}
	for number := 0; number < 10+c.Intn(10); number++ {
		c.addClaim(number)
	}
	for number := 0; number < 4; number++ {
		c.addVolume(fmt.Sprintf("pv-%d", number), c.anyOf(classes), nil)
	}
}

func (c *cluster) addClass(name string) {
	class := object{"provisioner": "csi.x", "volumeBindingMode": "WaitForFirstConsumer"}
	switch name {
	case "wait-y":
		class["provisioner"] = "csi.y"
		if c.chance(50) {
			terms := []object{{"key": "topology.kubernetes.io/zone", "values": []string{"z1", "z2"}}}
			class["allowedTopologies"] = []object{{"matchLabelExpressions": terms}}
		}
	case "now-x":
		class["volumeBindingMode"] = "Immediate"
	case "local":
		class["provisioner"] = "kubernetes.io/no-provisioner"
	}
	c.add("storage.k8s.io/v1", "StorageClass", "", name, class)
}

// addClaim draws a claim: bound, to be bound at once, or waiting for its first consumer.
func (c *cluster) addClaim(number int) {
	namespace, name := c.anyOf(c.namespaces), fmt.Sprintf("claim-%d", number)
	c.claims[namespace] = append(c.claims[namespace], name)
	class := c.anyOf(classes)
	spec := object{
		"storageClassName": class, "accessModes": []string{c.accessMode()},
		"resources": object{"requests": object{"storage": c.pick("1Gi", "5Gi", "10Gi")}},
	}
	metadata, status := object{}, object{"phase": "Pending"}
	bound := ""
	if c.chance(50) {
		bound = fmt.Sprintf("pv-b-%d", number)
		spec["volumeName"] = bound
		metadata["annotations"] = object{"pv.kubernetes.io/bind-completed": "yes"}
		status["phase"] = "Bound"
	}
	c.add("v1", "PersistentVolumeClaim", namespace, name, object{"metadata": metadata, "spec": spec, "status": status})
	if bound != "" && c.chance(90) {
		c.addVolume(bound, class, object{"kind": "PersistentVolumeClaim", "namespace": namespace, "name": name})
	}
}

func (c *cluster) accessMode() string {
	return c.pick("ReadWriteOnce", "ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod")
}

func (c *cluster) addVolume(name, class string, claim object) {
	spec := object{
		"storageClassName": class, "capacity": object{"storage": c.pick("5Gi", "10Gi", "20Gi")},
		"accessModes": []string{c.accessMode()}, "csi": object{"driver": c.anyOf(drivers), "volumeHandle": name},
	}
	if claim != nil {
		spec["claimRef"] = claim
	}
	labels := object{}
	if c.chance(40) {
		zone := c.pick("z1", "z2", "z3")
		labels["topology.kubernetes.io/zone"] = zone
		expression := object{"key": "topology.kubernetes.io/zone", "operator": "In", "values": []string{zone}}
		spec["nodeAffinity"] = object{"required": object{"nodeSelectorTerms": []object{{"matchExpressions": []object{expression}}}}}
	}
	c.add("v1", "PersistentVolume", "", name, object{"metadata": object{"labels": labels}, "spec": spec, "status": object{"phase": "Available"}})
}
