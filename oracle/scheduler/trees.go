package main

import "encoding/json"

// isTree reports whether the name is that of a CompositePodGroup.
func (file *File) isTree(namespace, name string) bool {
	for _, object := range file.objects {
		if object.Kind == "CompositePodGroup" && object.Metadata.Namespace == namespace && object.Metadata.Name == name {
			return true
		}
	}
	return false
}

// belongs reports whether a PodGroup is the root, or is under it.
func (file *File) belongs(namespace, group, root string) bool {
	kind := "PodGroup"
	for steps := 0; steps <= len(file.objects); steps++ {
		if group == root && (kind == "CompositePodGroup") == file.isTree(namespace, root) {
			return true
		}
		if group = file.parent(kind, namespace, group); group == "" {
			return false
		}
		kind = "CompositePodGroup"
	}
	return false
}

func (file *File) parent(kind, namespace, name string) string {
	for _, object := range file.objects {
		if object.Kind != kind || object.Metadata.Namespace != namespace || object.Metadata.Name != name {
			continue
		}
		var read struct {
			Spec struct{ ParentCompositePodGroupName string }
		}
		if json.Unmarshal(object.raw, &read) == nil {
			return read.Spec.ParentCompositePodGroupName
		}
	}
	return ""
}
