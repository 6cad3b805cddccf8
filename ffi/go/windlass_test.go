package windlass

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func made[T interface{ Close() error }, Config any](t testing.TB, make func(Config) (T, error), config Config) T {
	t.Helper()
	it, err := make(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { it.Close() })
	return it
}

func is[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v, not %v", what, got, want)
	}
}

// must is for what may not fail here.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func seed(n uint64) *uint64 { return &n }

func TestDedup(t *testing.T) {
	dedup := made(t, NewDedup, DedupConfig{Window: Ticks(time.Minute), Capacity: 1000, Seed: seed(7)})
	is(t, "new", must(dedup.Observe([]byte("a"), 1)), Fresh)
	is(t, "again, as a string", must(dedup.ObserveString("a", 2)), Duplicate)
	is(t, "again, as a hash", must(dedup.ObserveHash(HashBytes([]byte("a"), 7), 3)), Duplicate)
	is(t, "a number", must(dedup.ObserveUint64(5, 3)), Fresh)
	is(t, "empty", must(dedup.Observe(nil, 3)), Fresh)
	is(t, "empty again", must(dedup.ObserveString("", 3)), Duplicate)
	is(t, "contains", must(dedup.ContainsString("a", 4)), true)
	is(t, "forgets", must(dedup.Forget([]byte("a"), 4)), true)
	is(t, "forgotten", must(dedup.Contains([]byte("a"), 4)), false)

	var packed Packed
	is(t, "no keys", packed.Len(), 0)
	is(t, "a batch of none", must(dedup.ObservePacked(&packed, 5, nil, nil)), 0)
	for _, id := range []string{"x", "yy", "", "x"} {
		packed.AddString(id)
	}
	verdicts := make([]Verdict, 4)
	is(t, "fresh in a batch", must(dedup.ObservePacked(&packed, 5, nil, verdicts)), 2)
	is(t, "verdicts", verdicts, []Verdict{Fresh, Fresh, Duplicate, Duplicate})
	is(t, "numbers", must(dedup.ObserveUint64s([]uint64{5, 6, 7}, 5, []Ticks{5, 6, 7}, nil)), 2)
	is(t, "hashes", must(dedup.ObserveHashes([]Hash{HashUint64(9, 7)}, 5, nil, nil)), 1)
	is(t, "fixed", must(dedup.ObserveFixed(Fixed{[]byte("p1_p2_p1"), 2, 3, 3}, 5, nil, nil)), 2)
	for _, wrong := range []Fixed{{[]byte("p1_p2_p1"), 2, 3, 4}, {nil, 1, 1, 1}, {[]byte("abc"), -1, 1, 1}, {[]byte("abc"), 1, 1 << 62, 3}} {
		if _, err := dedup.ObserveFixed(wrong, 5, nil, nil); !errors.Is(err, ErrRange) {
			t.Errorf("%v: %v", wrong, err)
		}
	}
	if _, err := dedup.ObservePacked(&packed, 5, nil, verdicts[:3]); !errors.Is(err, ErrRange) {
		t.Error("too few verdicts:", err)
	}

	claim := must(dedup.ClaimString("job", 100, 50))
	is(t, "claimed", claim.Verdict, Fresh)
	is(t, "by another", must(dedup.ClaimString("job", 101, 50)).Verdict, InProgress)
	is(t, "given up", must(dedup.Abort(claim.Ticket)), true)
	is(t, "lost", must(dedup.Commit(claim.Ticket)), false)
	is(t, "committed", must(dedup.Commit(must(dedup.ClaimString("job", 102, 50)).Ticket)), true)
	is(t, "done", must(dedup.ClaimString("job", 103, 50)).Verdict, Duplicate)
	if _, err := dedup.ClaimUint64(1, 103, 0); err != ErrLease {
		t.Error("a lease of 0:", err)
	}
	if stats := must(dedup.Stats()); stats.Capacity < 1000 || stats.Live == 0 || stats.MemoryBytes == 0 {
		t.Errorf("%+v", stats)
	}
	is(t, "seed", must(dedup.Seed()), 7)
	must(dedup.Maintain(200, 16))
	if err := dedup.Reset(); err != nil || must(dedup.ContainsString("job", 104)) {
		t.Error("reset:", err)
	}
}

func TestErrors(t *testing.T) {
	_, err := NewDedup(DedupConfig{})
	var detail *Error
	if !errors.Is(err, ErrArg) || !errors.As(err, &detail) || !strings.HasPrefix(detail.Detail, "window: 0 ns is out of range") {
		t.Error("no window:", err)
	}
	if _, err := NewLimiter(LimiterConfig{Quota: "ten"}); !errors.Is(err, ErrArg) {
		t.Error("no quota:", err)
	}
	if ErrFull.Error() == "" || Version() == "" {
		t.Error("no text")
	}
	dedup := made(t, NewDedup, DedupConfig{Window: 10, Capacity: 1, MaxJump: 5})
	must(dedup.Observe([]byte("a"), 1))
	if _, err := dedup.Observe([]byte("a"), 100); err != ErrJump {
		t.Error("a jump:", err)
	}
	verdicts := []Verdict{0, 0}
	must(dedup.ObserveUint64s([]uint64{1, 2}, 0, []Ticks{2, 100}, verdicts))
	if verdicts[0].Err() != nil || verdicts[1].Err() != ErrJump {
		t.Error(verdicts)
	}
	for i := 0; i < 2; i++ {
		dedup.Close()
	}
	if _, err := dedup.Observe([]byte("a"), 1); err != ErrClosed {
		t.Error("closed:", err)
	}
	if _, err := dedup.Stats(); err != ErrClosed {
		t.Error("closed:", err)
	}
}

func TestBloom(t *testing.T) {
	config := BloomConfig{Window: 1000, Panes: 4, ExpectedIDs: 500, Error: 0.001, Seed: seed(7), Unit: UnitEvents}
	bloom, same := made(t, NewBloom, config), made(t, NewBloom, config)
	is(t, "new", must(bloom.InsertString("a", 1)), false)
	is(t, "seen", must(bloom.Insert([]byte("a"), 2)), true)
	is(t, "contains", must(bloom.ContainsHash(HashBytes([]byte("a"), 7), 2)), true)
	is(t, "observed", must(bloom.ObserveUint64(7, 2)), Fresh)
	answers := make([]Verdict, 2)
	is(t, "unseen", must(bloom.ContainsUint64s([]uint64{7, 8}, 3, nil, answers)), 1)
	is(t, "answers", answers, []Verdict{Duplicate, Fresh})
	is(t, "put in", must(bloom.InsertUint64s([]uint64{7, 8}, 3, nil, nil)), 1)
	if ids, _, err := bloom.Distinct(3); err != nil || ids < 2 || ids > 4 {
		t.Error(ids, err)
	}
	spans := make([]PaneSpan, 4)
	if n := must(bloom.Panes([]byte("a"), 3, spans)); n != 1 || spans[0].End == 0 {
		t.Error(n, spans)
	}
	is(t, "panes", must(bloom.Plan()).Panes, 4)
	if err := same.Merge(bloom); err != nil || !must(same.ContainsString("a", 3)) {
		t.Error("merged:", err)
	}
	config.Seed = seed(8)
	if err := same.Merge(made(t, NewBloom, config)); !errors.Is(err, ErrArg) {
		t.Error("of another seed:", err)
	}
	if err := bloom.Advance(9000); err != nil || must(bloom.ContainsString("a", 9000)) {
		t.Error("advanced:", err)
	}
	if stats := must(bloom.Stats()); stats.MemoryBytes == 0 || stats.Rotations == 0 {
		t.Errorf("%+v", stats)
	}
}

func TestLimiter(t *testing.T) {
	second := Ticks(time.Second)
	limiter := made(t, NewLimiter, LimiterConfig{Quota: "10/s burst 2", Clients: 100})
	is(t, "first", must(limiter.CheckString("a", 1, second)).Remaining, 1)
	is(t, "second", must(limiter.Check([]byte("a"), 1, second)).Allowed(), true)
	is(t, "third", must(limiter.CheckString("a", 1, second)), Admission{Kind: Denied, RetryAfter: 100 * time.Millisecond})
	is(t, "too much", must(limiter.CheckString("a", 3, second)).Kind, Never)
	is(t, "peek", must(limiter.PeekString("a", 1, second+second/10)).Allowed(), true)
	is(t, "forgotten", must(limiter.ForgetString("a", second)), true)
	var answers Admissions
	is(t, "allowed of a batch", must(limiter.CheckUint64s([]uint64{5, 5, 5}, nil, second, nil, &answers)), 2)
	is(t, "the last", answers.At(2).Kind, Denied)
	is(t, "costs", must(limiter.CheckUint64s([]uint64{6, 6}, []uint64{2, 1}, second, nil, nil)), 1)
	if stats := must(limiter.Stats()); stats.Clients < 2 {
		t.Errorf("%+v", stats)
	}
	global := made(t, NewGlobalLimiter, LimiterConfig{Permits: 1, Per: second})
	is(t, "global", must(global.Check(1, second)).Allowed(), true)
	is(t, "global, again", must(global.Check(1, second)).Kind, Denied)
	is(t, "global, given back", must(global.Forget(second)), true)
}

func TestCounts(t *testing.T) {
	counter := made(t, NewCounter, CounterConfig{Window: 60, Pane: 10, Capacity: 100, Seed: seed(7), Unit: UnitEvents})
	is(t, "added", must(counter.AddString("a", 5, 1)), Counted)
	var tally Tally
	if err := counter.AddUint64s([]uint64{1, 2}, []uint64{2, 3}, 3, nil, &tally); err != nil || tally.Counted != 2 {
		t.Error(tally, err)
	}
	is(t, "count", must(counter.Count([]byte("a"), 3)), 5)
	is(t, "of a number", must(counter.CountUint64(2, 3)), 3)
	is(t, "total", must(counter.Total(3)), 10)
	is(t, "complete", must(counter.CountComplete([]byte("a"), 3)), 0)
	is(t, "complete later", must(counter.TotalComplete(11)), 10)
	counts := make([]uint64, 1)
	if err := counter.CountHashes([]Hash{HashBytes([]byte("a"), 7)}, 3, counts); err != nil || counts[0] != 5 {
		t.Error(counts, err)
	}
	must(counter.AddString("b", 1, 500))
	is(t, "late", must(counter.AddString("b", 1, 1)), Late)
	is(t, "stats", must(counter.Stats()).Late, 1)

	topk := made(t, NewTopK, TopKConfig{Window: 60, Pane: 10, K: 100, Capacity: 1000, Unit: UnitEvents})
	var list TopList
	if err := topk.Snapshot(&list); err != nil || len(list.Rows()) != 0 || list.Info().End != 0 {
		t.Error("before the first:", err, list.Info())
	}
	for i := 0; i < 100; i++ {
		must(topk.AddString(strings.Repeat("k", 50+i), uint64(1000-i), 1))
	}
	must(topk.AddUint64(4711, 2000, 1))
	for _, list := range []*TopList{&list, {}} {
		if err := topk.Refresh(2, list); err != nil || len(list.Rows()) != 100 || !list.Info().Certified {
			t.Fatal(err, len(list.Rows()), list.Info())
		}
		rows := list.Rows()
		is(t, "a number", list.Uint64(&rows[0]), 4711)
		is(t, "its kind", rows[0].Kind, KeyUint64)
		is(t, "a key", string(list.Key(&rows[1])), strings.Repeat("k", 50))
		is(t, "its count", rows[1].Count, 1000)
		is(t, "total", list.Info().Total, must(topk.Total(2)))
	}
	if err := topk.TopComplete(2, &list); err != nil || len(list.Rows()) != 0 {
		t.Error("no pane is complete:", err, list.Rows())
	}
}

func TestFifo(t *testing.T) {
	fifo := made(t, NewFifo, FifoConfig{Capacity: 100, OnPresent: OnPresentMove})
	long := bytes.Repeat([]byte("v"), 500)
	kind, first, err := fifo.PushString("a", []byte("1"), 1)
	is(t, "pushed", kind, PushedNew)
	if err != nil {
		t.Fatal(err)
	}
	fifo.PushString("b", long, 2)
	fifo.PushUint64(7, nil, 3)
	kind, seq, _ := fifo.PushString("a", []byte("2"), 4)
	is(t, "moved", kind, PushedMoved)
	is(t, "to the tail", seq > first, true)
	rank, found, _ := fifo.RankString("a")
	is(t, "rank", rank, 2)
	is(t, "found", found, true)
	_, found, _ = fifo.RankString("x")
	is(t, "not found", found, false)
	value, rank, found, err := fifo.Find([]byte("b"), []byte("before "))
	if string(value) != "before "+string(long) || rank != 0 || !found || err != nil {
		t.Error(len(value), rank, found, err)
	}
	value, _, found, _ = fifo.Find([]byte("x"), []byte("before"))
	is(t, "none found", string(value)+fmt.Sprint(found), "beforefalse")
	var entry Entry
	is(t, "peek", must(fifo.Peek(&entry)), true)
	is(t, "its value", string(entry.Value()), string(long))
	is(t, "a number", must(fifo.AtRank(1, &entry)), true)
	is(t, "its bytes", entry.Key(), []byte{7, 0, 0, 0, 0, 0, 0, 0})
	is(t, "the next", must(fifo.Next(entry.Seq()+1, &entry)), true)
	is(t, "is", string(entry.Key()), "a")
	fifo.PushString("left", long, 4)
	is(t, "removed", must(fifo.Remove([]byte("left"), &entry)), true)
	is(t, "what was removed", string(entry.Value())+string(entry.Key()), string(long))
	is(t, "once", must(fifo.Remove([]byte("left"), &entry)), false)
	is(t, "no such number", must(fifo.RemoveUint64(8, &entry)), false)
	is(t, "nor hash", must(fifo.RemoveHash(Hash{}, &entry)), false)
	is(t, "before", must(fifo.CountBefore(4)), 2)
	is(t, "until", must(fifo.PopUntil(1, &entry)), false)
	for i := 3; i > 0; i-- {
		is(t, "length", must(fifo.Len()), i)
		is(t, "popped", must(fifo.Pop(&entry)), true)
	}
	is(t, "empty", must(fifo.Pop(&entry)), false)

	var keys, values Packed
	for _, text := range []string{"x", "yy"} {
		keys.AddString(text)
		values.AddString(text + text)
	}
	results, ranks := make([]Pushed, 2), make([]int64, 2)
	if err := fifo.PushPacked(&keys, &values, 5, results, nil); err != nil || results[1] != PushedNew {
		t.Error(results, err)
	}
	if err := fifo.RankPacked(&keys, ranks); err != nil || ranks[0] != 0 || ranks[1] != 1 {
		t.Error(ranks, err)
	}
	must(fifo.Pop(&entry))
	is(t, "of a batch", string(entry.Value()), "xx")
	is(t, "stats", must(fifo.Stats()).Len, 1)
}

// docs/ring.md.
func TestRing(t *testing.T) {
	keys := []string{"", "a", "user-1", "user-2", "user-3", "user-4711", "Ünïcödé", "0123456789abcdef0123456789abcdef"}
	for _, of := range []struct {
		config RingConfig
		owners [8][3]uint32
	}{
		{RingConfig{}, [8][3]uint32{{2, 1, 3}, {2, 3, 1}, {3, 1, 2}, {2, 3, 1}, {3, 2, 1}, {3, 2, 1}, {3, 1, 2}, {3, 1, 2}}},
		{RingConfig{Seed: seed(42), Vnodes: 40}, [8][3]uint32{{2, 1, 3}, {2, 1, 3}, {1, 2, 3}, {3, 2, 1}, {2, 3, 1}, {1, 2, 3}, {2, 1, 3}, {2, 3, 1}}},
	} {
		ring := made(t, NewRing, of.config)
		if _, err := ring.RouteString("a"); err != ErrNoNode {
			t.Error("no node:", err)
		}
		is(t, "moved", must(ring.Add(1, "cache-a", 1)), 1)
		must(ring.Add(2, "cache-b", 2))
		must(ring.Add(3, "cache-c", 1))
		if _, err := ring.Add(3, "cache-d", 1); !errors.Is(err, ErrArg) {
			t.Error("twice:", err)
		}
		var packed Packed
		for i, key := range keys {
			packed.AddString(key)
			owners := make([]uint32, 3)
			is(t, "nodes", must(ring.RouteN([]byte(key), owners)), 3)
			is(t, key, owners, of.owners[i][:])
			is(t, key, must(ring.RouteString(key)), owners[0])
		}
		first := make([]uint32, len(keys))
		if err := ring.RoutePacked(&packed, first); err != nil || first[2] != of.owners[2][0] {
			t.Error(first, err)
		}
		nodes := make([]Node, 3)
		is(t, "nodes", must(ring.Nodes(nodes)), 3)
		is(t, "weight", nodes[1].Weight, 2)
		must(ring.SetWeight(2, 1))
		must(ring.Remove(3))
		is(t, "left", must(ring.Stats()).Nodes, 2)
	}
}

// As in tests/house/hash_vectors.rs.
func TestHashVectors(t *testing.T) {
	for _, vector := range []struct {
		key  string
		seed uint64
		want Hash
	}{
		{"", 0, Hash{0x6001c324468d497f, 0x99aa06d3014798d8}},
		{"", 42, Hash{0x3c1d09e9fe249164, 0x16c20acd33f7af2f}},
		{"", 0x9e3779b97f4a7c15, Hash{0x4ca5176998171787, 0xd142977a2cca554b}},
		{"", 1<<64 - 1, Hash{0x2d10110a247d19dd, 0x5334ec22748b5fcd}},
		{"a", 0, Hash{0xe6c632b61e964e1f, 0xa96faf705af16834}},
		{"a", 42, Hash{0x4c437dd47f0716f4, 0x28df5945863b24b7}},
		{"abc", 0, Hash{0x78af5f94892f3950, 0x06b05ab6733a6185}},
		{"abc", 42, Hash{0xd8438def21bbdcc3, 0x4bc24859f045e0b4}},
	} {
		is(t, vector.key, HashBytes([]byte(vector.key), vector.seed), vector.want)
	}
	is(t, "a number", HashUint64(0x9e3779b97f4a7c15, 0).Lo, 0xe220a8397b1dcdaf)
	if NamespaceSeed(1, "a") == NamespaceSeed(1, "b") {
		t.Error("namespaces")
	}
}

// Of all goroutines that bring an id one is told that it is fresh, while memory is collected all the time.
func TestGoroutinesAndCollections(t *testing.T) {
	dedup := made(t, NewDedup, DedupConfig{Window: 1 << 40, Capacity: 10000})
	var fresh int64
	var callers, collector sync.WaitGroup
	done := make(chan struct{})
	collector.Add(1)
	go func() {
		defer collector.Done()
		for {
			select {
			case <-done:
				return
			default:
				runtime.GC()
			}
		}
	}()
	for g := 0; g < 4; g++ {
		callers.Add(1)
		go func() {
			defer callers.Done()
			var packed Packed
			for i := 0; i < 2000; i += 50 {
				// New memory each time, so that it moves and goes.
				packed.Reset()
				for j := i; j < i+50; j++ {
					packed.AddString(fmt.Sprint("id ", j))
				}
				atomic.AddInt64(&fresh, int64(must(dedup.ObservePacked(&packed, 1, nil, make([]Verdict, 50)))))
				if v := must(dedup.ObserveString(fmt.Sprint("id ", i), 1)); v != Duplicate {
					t.Error(v)
				}
			}
		}()
	}
	callers.Wait()
	close(done)
	collector.Wait()
	is(t, "fresh", fresh, 2000)
}

// A handle lives as long as the last call with it, and goes when nobody has it any more.
func TestFinalizers(t *testing.T) {
	used := func() bool {
		dedup, err := NewDedup(DedupConfig{Window: 10, Capacity: 1000})
		if err != nil {
			t.Fatal(err)
		}
		go runtime.GC()
		ids := make([]uint64, 500)
		for i := range ids {
			ids[i] = uint64(i)
		}
		// The last use: during it nothing else holds dedup.
		n, err := dedup.ObserveUint64s(ids, 1, nil, nil)
		return err == nil && n == 500
	}
	for i := 0; i < 50; i++ {
		if !used() {
			t.Fatal("a handle was freed too early")
		}
	}
	before := resident(t)
	for i := 0; i < 100; i++ { // 100 tables of 4 MB and more, none of them closed
		dedup, err := NewDedup(DedupConfig{Window: 1 << 30, Capacity: 100000})
		if err != nil {
			t.Fatal(err)
		}
		ids := make([]uint64, 100000)
		for j := range ids {
			ids[j] = uint64(j)
		}
		must(dedup.ObserveUint64s(ids, 1, nil, nil))
		runtime.GC()
	}
	runtime.GC()
	if after := resident(t); !withRace && after > before+200<<20 {
		t.Errorf("%d MB are resident, after %d", after>>20, before>>20)
	}
}

func resident(t *testing.T) int {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip(err)
	}
	var size, pages int
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// What Go 1.24 is told of C functions it is told of all that are called, and of no others.
func TestDirectives(t *testing.T) {
	names := func(pattern string, skip func(string) bool) []string {
		found := map[string]bool{}
		files, err := filepath.Glob("*.go")
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			if skip(file) {
				continue
			}
			for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(must(os.ReadFile(file))), -1) {
				found[match[1]] = true
			}
		}
		var sorted []string
		for name := range found {
			sorted = append(sorted, name)
		}
		sort.Strings(sorted)
		return sorted
	}
	// (windlass_status is a type.)
	calls := names(`C\.((?:windlass_(?:[a-rt-z]\w+|seed\w+|status_text)|wl_(?:[ac-z]|b[b-z])\w+))\(`, func(file string) bool { return strings.HasSuffix(file, "_test.go") })
	for _, directive := range []string{"noescape", "nocallback"} {
		of := names(`#cgo `+directive+` (\w+)`, func(file string) bool { return file != "cgo_go124.go" })
		is(t, directive, of, calls)
	}
	// They call Go back: then the stack moves.
	back := names(`C\.(wl_back_\w+)\(`, func(file string) bool { return strings.HasSuffix(file, "_test.go") })
	is(t, "that call back", len(back), 20)
}
