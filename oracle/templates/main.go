// What Go's text/template, with kubectl's functions, prints of an object.
//
// Reads a line with the object, then lines with a template each (other members are passed over), and writes the same lines with the answers made
// anew: what is printed; what was printed before the template failed; or that it is refused.
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"text/template"
)

type answer struct {
	Template string  `json:"template"`
	Printed  *string `json:"printed,omitempty"`
	Failed   *string `json:"failed,omitempty"`
	Refused  bool    `json:"refused,omitempty"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	var first struct {
		Object map[string]any `json:"object"`
	}
	lines.Scan()
	check(json.Unmarshal(lines.Bytes(), &first))
	fmt.Println(lines.Text())
	for lines.Scan() {
		var of answer
		check(json.Unmarshal(lines.Bytes(), &of))
		check(out.Encode(run(of.Template, first.Object)))
	}
	check(lines.Err())
}

func run(text string, object map[string]any) answer {
	functions := template.FuncMap{"exists": exists, "base64decode": base64decode}
	parsed, err := template.New("output").Funcs(functions).Parse(text)
	if err != nil {
		return answer{Template: text, Refused: true}
	}
	var printed bytes.Buffer
	err = parsed.Execute(&printed, object)
	words := printed.String()
	if err != nil {
		return answer{Template: text, Failed: &words}
	}
	return answer{Template: text, Printed: &words}
}

func base64decode(text string) (string, error) {
	decoded, err := base64.StdEncoding.DecodeString(text)
	return string(decoded), err
}

// As k8s.io/cli-runtime pkg/printers/template.go describes it: whether a value that is not nil lies at the end of the keys.
func exists(item any, keys ...any) bool {
	if len(keys) == 0 {
		// What a template gives as nil has no type, and only values that have one are asked whether they are nil.
		return true
	}
	value := reflect.ValueOf(item)
	for _, key := range keys {
		value = inside(value)
		if !value.IsValid() {
			return false
		}
		place := reflect.ValueOf(key)
		switch value.Kind() {
		case reflect.Slice, reflect.String:
			if !place.IsValid() || !place.CanInt() || place.Int() < 0 || place.Int() >= int64(value.Len()) {
				return false
			}
			value = value.Index(int(place.Int()))
		case reflect.Map:
			if !place.IsValid() || place.Kind() != reflect.String {
				return false
			}
			value = value.MapIndex(place)
		default:
			return false
		}
	}
	return inside(value).IsValid()
}

func inside(value reflect.Value) reflect.Value {
	for value.IsValid() && value.Kind() == reflect.Interface {
		value = value.Elem()
	}
	return value
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(2)
	}
}
