// What sigs.k8s.io/yaml, which kubectl reads and writes YAML with, makes of awkward strings.
//
// Without arguments: a line for each string, how it is written as a value and as a member's name, what is read back of both, and what the string
// means where it stands without quotes. With `read`: of lines that are YAML documents as JSON strings, what is read of each. With `check`: of lines
// that are a document and the JSON it was written of, the SHA-256 of all documents, how many there are, and how many are read as something else.
// With `kyaml`: what its package kyaml, with which kubectl prints -o kyaml, writes of documents with these strings, and of others; null where it fails.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"reflect"

	"sigs.k8s.io/yaml"
	"sigs.k8s.io/yaml/kyaml"
)

// An answer about one string; what cannot be read is null.
type answer struct {
	Text string `json:"text"`
	// The documents {"k": text} and {text: "v"}; null where they cannot be written.
	Value *string `json:"value"`
	Name  *string `json:"name"`
	// The JSON that is read of them.
	ValueRead json.RawMessage `json:"valueRead"`
	NameRead  json.RawMessage `json:"nameRead"`
	// The JSON of `k: text` and of `text: v`.
	Plain     json.RawMessage `json:"plain"`
	PlainName json.RawMessage `json:"plainName"`
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	if len(os.Args) == 2 && os.Args[1] == "read" {
		eachLine(func(line []byte) {
			var document string
			check(json.Unmarshal(line, &document))
			check(lines.Encode(read(&document)))
		})
		return
	}
	if len(os.Args) == 2 && os.Args[1] == "check" {
		sum, documents, different := sha256.New(), 0, 0
		eachLine(func(line []byte) {
			var pair struct {
				Yaml string
				Json any
			}
			check(json.Unmarshal(line, &pair))
			sum.Write([]byte(pair.Yaml))
			documents++
			var found any
			if json.Unmarshal(read(&pair.Yaml), &found) != nil || !reflect.DeepEqual(found, pair.Json) {
				different++
				fmt.Fprintf(os.Stderr, "%q\n", pair.Yaml)
			}
		})
		fmt.Fprintf(out, "%x %d documents, %d read as something else\n", sum.Sum(nil), documents, different)
		return
	}
	if len(os.Args) == 2 && os.Args[1] == "kyaml" {
		for _, document := range documents() {
			check(lines.Encode(struct {
				JSON  any     `json:"json"`
				Kyaml *string `json:"kyaml"`
			}{document, asKyaml(document)}))
		}
		return
	}
	for _, text := range texts() {
		value, name := written(map[string]string{"k": text}), written(map[string]string{text: "v"})
		plain, plainName := "k: "+text+"\n", text+": v\n"
		check(lines.Encode(answer{
			Text: text, Value: value, Name: name, ValueRead: read(value), NameRead: read(name), Plain: read(&plain), PlainName: read(&plainName),
		}))
	}
}

func eachLine(do func(line []byte)) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<26)
	for in.Scan() {
		do(in.Bytes())
	}
	check(in.Err())
}

func written(value map[string]string) *string {
	document, err := yaml.Marshal(value)
	if err != nil {
		return nil
	}
	text := string(document)
	return &text
}

// Documents of each string, as a value and as a name, and of nested lists and members.
func documents() []any {
	type object = map[string]any
	type list = []any
	all := []any{
		object{}, list{}, nil, true, 1, "text", object{"a": object{}, "b": list{}, "c": nil},
		list{object{"a": 1}, object{}}, list{object{"a": 1}, 1}, list{list{1, 2}, list{}}, list{1, list{2, object{"x": list{object{"y": "z"}}}}},
		object{"a": list{object{"b": "one\ntwo\n", "c": list{"x\ny", "  z\n\n"}}}, "d": object{"e": object{"f": list{1.5, -7, 1e21, 1e-7, 0.000001, 123456789012345680000.0}}}},
		list{"one\n two", object{"a": "\n"}, "\n\n", "\ttab\n\ttab"},
	}
	for _, text := range texts() {
		all = append(all, object{"k": text, text: list{text}})
	}
	return all
}

func asKyaml(document any) *string {
	var out bytes.Buffer
	if (&kyaml.Encoder{}).FromObject(document, &out) != nil {
		return nil
	}
	text := out.String()
	return &text
}

func read(document *string) json.RawMessage {
	if document == nil {
		return json.RawMessage("null")
	}
	value, err := yaml.YAMLToJSON([]byte(*document))
	if err != nil {
		return json.RawMessage("null")
	}
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
