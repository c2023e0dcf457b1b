package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sort"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// server is the API server of the scheduler under question: it lists the objects of a file, in the order of their resourceVersion,
// says nothing to watches, and remembers what is written to it without doing it.
type server struct {
	objects []Object
	// What a list of a kind waits for: the scheduler sees kinds in an order that is always the same.
	gates  map[string]chan struct{}
	mutex  sync.Mutex
	writes []write
}

// write is one request that was to change something.
type write struct {
	method, path string
	body         []byte
}

func newServer(objects []Object) *server {
	objects = append([]Object{}, objects...)
	sort.SliceStable(objects, func(i, j int) bool {
		return revision(objects[i].Metadata.ResourceVersion) < revision(objects[j].Metadata.ResourceVersion)
	})
	return &server{objects: objects, gates: map[string]chan struct{}{"pods": make(chan struct{})}}
}

// config returns the configuration of a client that talks to this server.
func (s *server) config() *rest.Config {
	return &rest.Config{Host: "http://oracle", Transport: s, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

// RoundTrip answers one request of a client.
func (s *server) RoundTrip(request *http.Request) (*http.Response, error) {
	place := parse(request.URL.Path)
	query := request.URL.Query()
	switch {
	case request.Method != http.MethodGet:
		return s.change(request, place)
	case query.Get("sendInitialEvents") == "true":
		return respond(http.StatusBadRequest, status("Failure", "BadRequest", http.StatusBadRequest)), nil
	case query.Get("watch") == "true":
		return silence(request), nil
	case place.name != "":
		return s.get(place), nil
	}
	if gate := s.gates[place.resource]; gate != nil {
		<-gate
	}
	return s.list(place, query.Get("fieldSelector")), nil
}

func (s *server) list(place place, selector string) *http.Response {
	items := []json.RawMessage{}
	for _, object := range s.objects {
		if plural(object.Kind) == place.resource && selected(object.raw, selector) {
			items = append(items, versioned(object.raw, place.version))
		}
	}
	// The client knows which kind of list it asked for.
	return respond(http.StatusOK, map[string]any{"metadata": map[string]any{"resourceVersion": "1"}, "items": items})
}

// pods returns how many pods are listed.
func (s *server) pods() int {
	count := 0
	for _, object := range s.objects {
		if object.Kind == "Pod" && selected(object.raw, "status.phase!=Succeeded,status.phase!=Failed") {
			count++
		}
	}
	return count
}

func (s *server) get(place place) *http.Response {
	for _, object := range s.objects {
		if plural(object.Kind) == place.resource && object.Metadata.Namespace == place.namespace && object.Metadata.Name == place.name {
			return respond(http.StatusOK, versioned(object.raw, place.version))
		}
	}
	return respond(http.StatusNotFound, status("Failure", "NotFound", http.StatusNotFound))
}

// change remembers a write and answers as if it had been done.
func (s *server) change(request *http.Request, place place) (*http.Response, error) {
	var body []byte
	if request.Body != nil {
		var err error
		if body, err = io.ReadAll(request.Body); err != nil {
			return nil, err
		}
	}
	s.mutex.Lock()
	s.writes = append(s.writes, write{request.Method, request.URL.Path, body})
	s.mutex.Unlock()
	switch request.Method {
	case http.MethodDelete:
		return respond(http.StatusOK, status("Success", "", http.StatusOK)), nil
	case http.MethodPatch:
		return s.get(place), nil
	}
	return respond(http.StatusOK, json.RawMessage(body)), nil
}

// count returns how many writes there were.
func (s *server) count() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.writes)
}

// place is what a request's path names.
type place struct{ version, namespace, resource, name string }

func parse(path string) place {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	var found place
	switch {
	case len(parts) > 2 && parts[0] == "api":
		found.version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		found.version, parts = parts[1]+"/"+parts[2], parts[3:]
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		found.namespace, parts = parts[1], parts[2:]
	}
	found.resource = parts[0]
	if len(parts) > 1 {
		found.name = parts[1]
	}
	return found
}

// plural returns the resource of a kind, as paths spell it.
func plural(kind string) string {
	resource := strings.ToLower(kind)
	switch {
	case strings.HasSuffix(resource, "ss"):
		return resource + "es"
	case strings.HasSuffix(resource, "s"):
		return resource
	case strings.HasSuffix(resource, "y"):
		return strings.TrimSuffix(resource, "y") + "ies"
	}
	return resource + "s"
}

// versioned returns an object in the version that is asked for.
func versioned(raw json.RawMessage, version string) json.RawMessage {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return raw
	}
	fields["apiVersion"], _ = json.Marshal(version)
	text, _ := json.Marshal(fields)
	return text
}

// selected reports whether a field selector keeps an object; only phases of pods are ever selected by.
func selected(raw json.RawMessage, selector string) bool {
	var object struct{ Status struct{ Phase string } }
	if selector == "" || json.Unmarshal(raw, &object) != nil {
		return true
	}
	for _, term := range strings.Split(selector, ",") {
		if term == fmt.Sprintf("status.phase!=%s", object.Status.Phase) {
			return false
		}
	}
	return true
}

func status(status, reason string, code int) map[string]any {
	return map[string]any{"kind": "Status", "apiVersion": "v1", "status": status, "reason": reason, "code": code}
}

func respond(code int, body any) *http.Response {
	text, err := json.Marshal(body)
	if err != nil {
		return &http.Response{StatusCode: http.StatusInternalServerError, Body: http.NoBody}
	}
	return &http.Response{
		StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": []string{"application/json"}}, Body: io.NopCloser(bytes.NewReader(text)),
	}
}

// silence is a watch in which nothing happens until the client goes.
func silence(request *http.Request) *http.Response {
	reader, writer := io.Pipe()
	go func() {
		<-request.Context().Done()
		writer.Close()
	}()
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": []string{"application/json"}}, Body: reader,
	}
}
