// What etcd's own libraries say of files: `judges bolt|log` reads a path a line, answers with a line of JSON each. A panic is a refusal.
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.uber.org/zap"
)

// Answer is what a judge says of a file.
type Answer struct {
	Refused string `json:"refused"`
	// How many entries of it can be read.
	Entries int `json:"entries"`
	// The hash of what is there: buckets and etcd's revisions, or the indexes and terms of a log's entries.
	Names string `json:"names"`
	// The hash of everything.
	Values string `json:"values"`
	// Of a database, etcd's revisions that it has, as they are stored.
	Revisions []string `json:"revisions,omitempty"`
}

type reading struct {
	entries       int
	names, values hash.Hash
	revisions     []string
}

func newReading() *reading { return &reading{names: sha256.New(), values: sha256.New()} }

func (reading *reading) name(name []byte) { write(reading.names, name) }

func (reading *reading) add(name, value []byte) {
	reading.entries++
	write(reading.values, name)
	write(reading.values, value)
}

func write(hash hash.Hash, bytes []byte) {
	_ = binary.Write(hash, binary.BigEndian, uint64(len(bytes)))
	hash.Write(bytes)
}

func (reading *reading) answer() Answer {
	return Answer{Entries: reading.entries, Names: hex.EncodeToString(reading.names.Sum(nil)), Values: hex.EncodeToString(reading.values.Sum(nil)), Revisions: reading.revisions}
}

// bolt checks a database as `bbolt check` does, and reads every entry of every bucket.
func bolt(path string) (Answer, error) {
	if err := checksum(path); err != nil {
		return Answer{}, err
	}
	db, err := bbolt.Open(path, 0o400, &bbolt.Options{ReadOnly: true, PreLoadFreelist: true, Timeout: time.Second})
	if err != nil {
		return Answer{}, err
	}
	tx, err := db.Begin(false)
	if err != nil {
		return Answer{}, err
	}
	// The channel is left where a check finds something: a check that does not end holds the database.
	for err := range tx.Check() {
		return Answer{}, err
	}
	reading := newReading()
	err = tx.ForEach(func(name []byte, bucket *bbolt.Bucket) error {
		reading.name(name)
		return bucket.ForEach(func(key, value []byte) error {
			if string(name) == "key" {
				reading.name(key)
				reading.revisions = append(reading.revisions, hex.EncodeToString(key))
			}
			reading.add(append(append([]byte(nil), name...), key...), value)
			return nil
		})
	})
	if err != nil {
		return Answer{}, err
	}
	answer := reading.answer()
	return answer, errors.Join(tx.Rollback(), db.Close())
}

// checksum holds a snapshot against the SHA-256 at its end, as `etcdutl snapshot restore` does where there is one.
func checksum(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size()%512 != sha256.Size {
		return err
	}
	sum := sha256.New()
	if _, err := io.CopyN(sum, file, info.Size()-sha256.Size); err != nil {
		return err
	}
	said, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	if string(said) != string(sum.Sum(nil)) {
		return errors.New("the SHA-256 does not hold")
	}
	return nil
}

// log reads a member's write-ahead log from its newest snapshot on, as etcd does when it starts.
func log(member string) (Answer, error) {
	folder := filepath.Join(member, "wal")
	snapshots, err := wal.ValidSnapshotEntries(zap.NewNop(), folder)
	if err != nil {
		return Answer{}, err
	}
	start := &walpb.Snapshot{}
	for _, snapshot := range snapshots {
		if _, err := os.Stat(filepath.Join(member, "snap", fmt.Sprintf("%016x-%016x.snap", snapshot.GetTerm(), snapshot.GetIndex()))); err == nil {
			start = snapshot
		}
	}
	opened, err := wal.OpenForRead(zap.NewNop(), folder, start)
	if err != nil {
		return Answer{}, err
	}
	defer opened.Close()
	metadata, _, entries, err := opened.ReadAll()
	if err != nil {
		return Answer{}, err
	}
	reading := newReading()
	reading.add(nil, metadata)
	for _, entry := range entries {
		name := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, entry.GetIndex()), entry.GetTerm())
		reading.name(name)
		reading.add(name, append([]byte{byte(entry.GetType())}, entry.Data...))
	}
	return reading.answer(), nil
}

// guarded makes a refusal of a panic; faults of the mapped file are panics, too.
func guarded(judge func(string) (Answer, error), path string) (answer Answer) {
	debug.SetPanicOnFault(true)
	defer func() {
		if panicked := recover(); panicked != nil {
			answer = Answer{Refused: fmt.Sprint("panics: ", panicked)}
		}
	}()
	answer, err := judge(path)
	if err != nil {
		answer.Refused = err.Error()
	}
	return answer
}

func main() {
	judge, known := map[string]func(string) (Answer, error){"bolt": bolt, "log": log}[os.Args[1]]
	if !known {
		os.Exit(2)
	}
	debug.SetMaxStack(64 << 20)
	paths, answers := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	for paths.Scan() {
		if err := answers.Encode(guarded(judge, paths.Text())); err != nil {
			os.Exit(1)
		}
	}
}
