// Jaeger's storage in memory, its query service and its HTTP API, and OTLP translated as its receiver does. Jaeger's own program links every storage and
// queue that it knows, which takes minutes to compile; these packages of it are what keeps spans and returns them.
package main

import (
	"context"
	"flag"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"

	"github.com/gorilla/mux"
	"github.com/jaegertracing/jaeger/cmd/query/app"
	"github.com/jaegertracing/jaeger/cmd/query/app/querysvc"
	"github.com/jaegertracing/jaeger/plugin/storage/memory"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/translator/jaeger"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// Keeps the spans of a request.
func take(store *memory.Store, body []byte) error {
	request := ptraceotlp.NewExportRequest()
	if err := request.UnmarshalProto(body); err != nil {
		return err
	}
	for _, batch := range jaeger.ProtoFromTraces(request.Traces()) {
		for _, span := range batch.Spans {
			if span.Process == nil {
				span.Process = batch.Process
			}
			if err := store.WriteSpan(context.Background(), span); err != nil {
				return err
			}
		}
	}
	return nil
}

// Answers with Jaeger's pages; each of its views is one page.
func pages(folder string) http.Handler {
	files := http.FileServer(http.Dir(folder))
	return http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		if _, err := os.Stat(filepath.Join(folder, filepath.Clean(request.URL.Path))); err != nil {
			request.URL.Path = "/"
		}
		files.ServeHTTP(answer, request)
	})
}

func main() {
	query := flag.String("query", "", "where the API listens")
	folder := flag.String("pages", "", "Jaeger's pages, built")
	otlp := flag.String("otlp", "", "where OTLP over HTTP listens")
	flag.Parse()
	store := memory.NewStore()
	traces := http.NewServeMux()
	traces.HandleFunc("/v1/traces", func(answer http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err == nil {
			err = take(store, body)
		}
		if err != nil {
			http.Error(answer, err.Error(), http.StatusBadRequest)
		}
	})
	go func() { log.Fatal(http.ListenAndServe(*otlp, traces)) }()
	router := mux.NewRouter()
	app.NewAPIHandler(querysvc.NewQueryService(store, store, querysvc.QueryServiceOptions{})).RegisterRoutes(router)
	if *folder != "" {
		router.PathPrefix("/").Handler(pages(*folder))
	}
	log.Fatal(http.ListenAndServe(*query, router))
}
