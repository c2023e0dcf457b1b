// Answers questions about access by the released RBAC authorizer. It reads roles, bindings and questions, one a line, and writes them again with the answers.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/kubernetes/pkg/registry/rbac/validation"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
)

type question struct {
	User      string   `json:"user"`
	Groups    []string `json:"groups"`
	Verb      string   `json:"verb"`
	Group     string   `json:"group,omitempty"`
	Resource  string   `json:"resource,omitempty"`
	Sub       string   `json:"subresource,omitempty"`
	Namespace string   `json:"namespace,omitempty"`
	Name      string   `json:"name,omitempty"`
	Path      string   `json:"path,omitempty"`
	Allowed   bool     `json:"allowed"`
	Reason    string   `json:"reason,omitempty"`
}

func main() {
	var roles []*rbacv1.Role
	var rolebindings []*rbacv1.RoleBinding
	var croles []*rbacv1.ClusterRole
	var cbindings []*rbacv1.ClusterRoleBinding
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	var auth *rbac.RBACAuthorizer
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for in.Scan() {
		var head struct{ Kind string }
		check(json.Unmarshal(in.Bytes(), &head))
		if head.Kind != "" {
			_, err := os.Stdout.Write(append(in.Bytes(), '\n'))
			check(err)
		}
		switch head.Kind {
		case "Role":
			o := &rbacv1.Role{}
			check(json.Unmarshal(in.Bytes(), o))
			roles = append(roles, o)
		case "RoleBinding":
			o := &rbacv1.RoleBinding{}
			check(json.Unmarshal(in.Bytes(), o))
			rolebindings = append(rolebindings, o)
		case "ClusterRole":
			o := &rbacv1.ClusterRole{}
			check(json.Unmarshal(in.Bytes(), o))
			croles = append(croles, o)
		case "ClusterRoleBinding":
			o := &rbacv1.ClusterRoleBinding{}
			check(json.Unmarshal(in.Bytes(), o))
			cbindings = append(cbindings, o)
		default:
			if auth == nil {
				_, s := validation.NewTestRuleResolver(roles, rolebindings, croles, cbindings)
				auth = rbac.New(s, s, s, s)
			}
			var q question
			check(json.Unmarshal(in.Bytes(), &q))
			attributes := authorizer.AttributesRecord{User: &user.DefaultInfo{Name: q.User, Groups: q.Groups}, Verb: q.Verb, APIGroup: q.Group, Resource: q.Resource,
				Subresource: q.Sub, Namespace: q.Namespace, Name: q.Name, Path: q.Path, ResourceRequest: q.Path == ""}
			decision, reason, _ := auth.Authorize(context.Background(), attributes)
			q.Allowed, q.Reason = decision == authorizer.DecisionAllow, reason
			check(out.Encode(q))
		}
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
