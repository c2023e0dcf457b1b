package main

import "fmt"

var drivers = []string{"csi.x", "csi.y"}

// addDrivers draws what the CSI drivers say of themselves.
func (c *cluster) addDrivers() {
	for _, driver := range drivers {
		if c.chance(80) {
			c.add("storage.k8s.io/v1", "CSIDriver", "", driver, object{"spec": object{"attachRequired": c.chance(80), "storageCapacity": c.chance(40)}})
		}
	}
}

// addNode draws a node, and what the CSI drivers on it say.
func (c *cluster) addNode(number int) {
	name := fmt.Sprintf("n%02d", number)
	c.nodes = append(c.nodes, name)
	labels := object{"kubernetes.io/hostname": name, "disk": c.pick("ssd", "hdd")}
	if c.chance(90) {
		labels["topology.kubernetes.io/zone"] = c.pick("z1", "z2", "z2", "z3")
		labels["topology.kubernetes.io/region"] = "r1"
	}
	if c.chance(60) {
		labels["rack"] = c.pick("k1", "k2")
	}
	resources := c.resources()
	c.add("v1", "Node", "", name, object{
		"metadata": object{"labels": labels},
		"spec":     c.nodeSpec(),
		"status": object{
			"allocatable": resources, "capacity": resources, "images": c.images(),
			"conditions": []object{{"type": "Ready", "status": "True"}},
		},
	})
	if c.chance(80) {
		c.addCSINode(name)
	}
}

func (c *cluster) nodeSpec() object {
	spec := object{}
	if c.chance(10) {
		spec["unschedulable"] = true
	}
	if c.chance(40) {
		spec["taints"] = []object{{"key": c.pick("dedicated", "k1"), "value": c.pick("gpu", "v1"), "effect": c.pick("NoSchedule", "PreferNoSchedule", "NoExecute")}}
	}
	return spec
}

func (c *cluster) resources() object {
	resources := object{
		"cpu": c.pick("2", "3500m", "4", "8", "16"), "memory": c.pick("8Gi", "16Gi", "33554432Ki"),
		"pods": c.pick("10", "30", "110"), "ephemeral-storage": c.pick("10Gi", "20Gi"),
	}
	if c.chance(40) {
		resources["example.com/gpu"] = c.pick("0", "1", "4")
	}
	if c.chance(20) {
		resources["hugepages-2Mi"] = "256Mi"
	}
	return resources
}

func (c *cluster) images() []object {
	images := []object{}
	for number := 0; number < 8; number++ {
		if c.chance(30) {
			images = append(images, object{"names": []string{fmt.Sprintf("img%d:v1", number)}, "sizeBytes": 1 + c.Intn(1<<30)})
		}
	}
	return images
}

func (c *cluster) addCSINode(name string) {
	installed := []object{}
	for _, driver := range drivers {
		if c.chance(75) {
			entry := object{"name": driver, "nodeID": name, "topologyKeys": []string{"topology.kubernetes.io/zone"}}
			if c.chance(50) {
				entry["allocatable"] = object{"count": c.Intn(3)}
			}
			installed = append(installed, entry)
		}
	}
	c.add("storage.k8s.io/v1", "CSINode", "", name, object{"spec": object{"drivers": installed}})
}
