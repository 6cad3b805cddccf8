// Package main serves orders behind two filters: each client has a rate limit, and an order that is sent again, with the same idempotency key, is
// handled once.
//
//	middleware [ADDRESS]     127.0.0.1:8080 if there is none
package main

import (
	"fmt"
	"log"
	"math"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"windlass"
)

// seconds for a header: rounded up, 1 at least.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64(math.Max(1, math.Ceil(d.Seconds()))), 10)
}

// Limit lets each client, by its address, have what limiter grants, and tells the others when to come again.
func Limit(limiter *windlass.Limiter, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		client, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			client = r.RemoteAddr
		}
		answer, err := limiter.CheckString(client, 1, windlass.Now())
		if err != nil {
			http.Error(w, "rate limit: "+err.Error(), http.StatusInternalServerError)
			return
		}
		if !answer.Allowed() {
			w.Header().Set("Retry-After", seconds(answer.RetryAfter))
			http.Error(w, "too many requests", http.StatusTooManyRequests)
			return
		}
		w.Header().Set("RateLimit-Remaining", strconv.FormatUint(answer.Remaining, 10))
		next.ServeHTTP(w, r)
	})
}

// recorder notes the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Once lets a request with an Idempotency-Key through if none with the same key was handled within the window. While one is being handled the others
// are told to come again. If its handler fails, or panics, or takes longer than lease, the next one gets its turn.
func Once(seen *windlass.Dedup, lease time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("Idempotency-Key")
		if key == "" {
			next.ServeHTTP(w, r)
			return
		}
		claim, err := seen.ClaimString(key, windlass.Now(), windlass.Ticks(lease))
		switch {
		case err != nil: // no room: better later than twice
			w.Header().Set("Retry-After", "1")
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		case claim.Verdict == windlass.InProgress:
			wait := time.Second
			if now := windlass.Now(); claim.When > now {
				wait = time.Duration(claim.When - now)
			}
			w.Header().Set("Retry-After", seconds(wait))
			http.Error(w, "is being handled", http.StatusConflict)
			return
		case claim.Verdict == windlass.Duplicate:
			w.Header().Set("Idempotent-Replay", "true")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		answer := &recorder{w, http.StatusOK}
		handled := false
		defer func() {
			if handled && answer.status < 500 {
				if ok, err := seen.Commit(claim.Ticket); err != nil || !ok {
					log.Printf("%s took longer than its lease", key)
				}
			} else if _, err := seen.Abort(claim.Ticket); err != nil {
				log.Print(err)
			}
		}()
		next.ServeHTTP(answer, r)
		handled = true
	})
}

func main() {
	address := "127.0.0.1:8080"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	limiter, err := windlass.NewLimiter(windlass.LimiterConfig{Quota: "10/s burst 20", Clients: 10000, MaxMemory: 64 << 20})
	if err != nil {
		log.Fatal(err)
	}
	seen, err := windlass.NewDedup(windlass.DedupConfig{Window: windlass.Ticks(24 * time.Hour), Capacity: 10000, MaxMemory: 256 << 20})
	if err != nil {
		log.Fatal(err)
	}
	orders := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "ordered") })
	log.Printf("on http://%s", address)
	log.Fatal(http.ListenAndServe(address, Limit(limiter, Once(seen, 30*time.Second, orders))))
}
