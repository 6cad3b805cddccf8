package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"windlass"
)

func ask(t *testing.T, handler http.Handler, client, key string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequest("POST", "/orders", nil)
	request.RemoteAddr = client
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer
}

func TestEachClientHasALimit(t *testing.T) {
	limiter, err := windlass.NewLimiter(windlass.LimiterConfig{Quota: "2/d", Clients: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer limiter.Close()
	handler := Limit(limiter, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for i, want := range []int{200, 200, 429} {
		// Of one client, whatever the port.
		if got := ask(t, handler, fmt.Sprintf("10.0.0.1:%d", 1000+i), "").Code; got != want {
			t.Errorf("call %d: %d, not %d", i, got, want)
		}
	}
	if after := ask(t, handler, "10.0.0.1:1", "").Header().Get("Retry-After"); len(after) != 5 {
		t.Errorf("Retry-After: %q", after) // half a day
	}
	if got := ask(t, handler, "[2001:db8::1]:1", "").Code; got != 200 {
		t.Errorf("another client: %d", got)
	}
}

func once(t *testing.T, handler http.HandlerFunc) http.Handler {
	seen, err := windlass.NewDedup(windlass.DedupConfig{Window: windlass.Ticks(24 * time.Hour), Capacity: 1000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { seen.Close() })
	return Once(seen, time.Hour, handler)
}

func TestAKeyIsHandledOnce(t *testing.T) {
	var handled int64
	handler := once(t, func(http.ResponseWriter, *http.Request) { atomic.AddInt64(&handled, 1) })
	var all sync.WaitGroup
	for i := 0; i < 8; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for n := 0; n < 100; n++ {
				switch code := ask(t, handler, "10.0.0.1:1", fmt.Sprint("key ", n)).Code; code {
				case 200, 204, 409:
				default:
					t.Errorf("%d", code)
				}
			}
		}()
	}
	all.Wait()
	if handled != 100 {
		t.Errorf("%d were handled", handled)
	}
	ask(t, handler, "10.0.0.1:1", "")
	ask(t, handler, "10.0.0.1:1", "")
	if handled != 102 {
		t.Errorf("without a key: %d", handled)
	}
}

func TestWhatFailsMayBeTriedAgain(t *testing.T) {
	fails := true
	handler := once(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Idempotency-Key") == "panics" && fails {
			panic("no")
		}
		if fails {
			http.Error(w, "down", http.StatusBadGateway)
		}
	})
	if got := ask(t, handler, "10.0.0.1:1", "a").Code; got != 502 {
		t.Error(got)
	}
	func() {
		defer func() { recover() }()
		ask(t, handler, "10.0.0.1:1", "panics")
	}()
	fails = false
	for _, key := range []string{"a", "panics"} {
		for _, want := range []int{200, 204} {
			if got := ask(t, handler, "10.0.0.1:1", key).Code; got != want {
				t.Errorf("%s: %d, not %d", key, got, want)
			}
		}
	}
}

func TestOthersWaitMeanwhile(t *testing.T) {
	var handler http.Handler
	inner := 0
	handler = once(t, func(http.ResponseWriter, *http.Request) {
		answer := ask(t, handler, "10.0.0.2:1", "a")
		inner = answer.Code
		if answer.Header().Get("Retry-After") == "" {
			t.Error("when to come again")
		}
	})
	if got := ask(t, handler, "10.0.0.1:1", "a").Code; got != 200 || inner != 409 {
		t.Error(got, inner)
	}
}
