package windlass

import (
	"fmt"
	"testing"
)

// What is called for every event allocates nothing.
func TestCallsDoNotAllocate(t *testing.T) {
	if withRace {
		t.Skip("the race detector allocates")
	}
	dedup := made(t, NewDedup, DedupConfig{Window: 1 << 40, Capacity: 100000})
	bloom := made(t, NewBloom, BloomConfig{Window: 1 << 40, ExpectedIDs: 10000})
	limiter := made(t, NewLimiter, LimiterConfig{Quota: "1000/s", Clients: 1000})
	global := made(t, NewGlobalLimiter, LimiterConfig{Quota: "1000/s"})
	counter := made(t, NewCounter, CounterConfig{Window: 60, Pane: 10, Capacity: 1000})
	topk := made(t, NewTopK, TopKConfig{Window: 60, Pane: 10, K: 10, Capacity: 1000})
	bounded := made(t, NewBoundedTopK, BoundedTopKConfig{Window: 60, Pane: 10, K: 10})
	set := made(t, NewLimitSet, LimitSetConfig{Limits: []LimitRule{{Name: "all", Permits: 1000, Per: 1 << 30}}, Reservations: 10})
	fifo := made(t, NewFifo, FifoConfig{Capacity: 1000})
	ring := made(t, NewRing, RingConfig{})
	if _, err := ring.Add(1, "a", 1); err != nil {
		t.Fatal(err)
	}

	key, text := []byte("an id of some length"), "another id of some length"
	packed := &Packed{}
	numbers, hashes := make([]uint64, 64), make([]Hash, 64)
	verdicts, ranks, owners := make([]Verdict, 64), make([]int64, 64), make([]uint32, 64)
	var answers Admissions
	var tally Tally
	var list TopList
	var entry Entry
	now := Ticks(1)
	pack := func() {
		packed.Reset()
		for i := 0; i < 64; i++ {
			packed.Add(key[:1+i%10])
			packed.AddString(text[:0])
		}
		packed.Reset()
		for i := 0; i < 64; i++ {
			packed.AddString(text[:1+i%10])
		}
	}
	calls := map[string]func(){
		"Now":                      func() { now = Now() },
		"Dedup.Observe":            func() { dedup.Observe(key, now) },
		"Dedup.ObserveString":      func() { dedup.ObserveString(text, now) },
		"Dedup.ObserveUint64":      func() { dedup.ObserveUint64(4711, now) },
		"Dedup.ObserveHash":        func() { dedup.ObserveHash(hashes[0], now) },
		"Dedup.ContainsString":     func() { dedup.ContainsString(text, now) },
		"Dedup.ClaimString":        func() { dedup.ClaimString("claimed", now, 1000) },
		"Dedup.ObservePacked":      func() { pack(); dedup.ObservePacked(packed, now, nil, verdicts) },
		"Dedup.ObserveUint64s":     func() { dedup.ObserveUint64s(numbers, now, nil, verdicts) },
		"Dedup.ObserveHashes":      func() { dedup.ObserveHashes(hashes, now, nil, verdicts) },
		"Bloom.Insert":             func() { bloom.Insert(key, now) },
		"Bloom.ObservePacked":      func() { pack(); bloom.ObservePacked(packed, now, nil, verdicts) },
		"Limiter.CheckString":      func() { limiter.CheckString(text, 1, now) },
		"Limiter.CheckUint64":      func() { limiter.CheckUint64(4711, 1, now) },
		"Limiter.CheckPacked":      func() { pack(); limiter.CheckPacked(packed, nil, now, nil, &answers) },
		"GlobalLimiter.Check":      func() { global.Check(1, now) },
		"Counter.AddString":        func() { counter.AddString(text, 1, 1) },
		"Counter.Count":            func() { counter.Count(key, 1) },
		"Counter.AddPacked":        func() { pack(); counter.AddPacked(packed, nil, 1, nil, &tally) },
		"TopK.AddString":           func() { topk.AddString(text, 1, 1) },
		"TopK.AddPacked":           func() { pack(); topk.AddPacked(packed, nil, 1, nil, &tally) },
		"TopK.Top":                 func() { topk.Top(1, &list) },
		"BoundedTopK.AddString":    func() { bounded.AddString(text, 1, 1) },
		"BoundedTopK.BoundsString": func() { bounded.BoundsString(text, 1) },
		"BoundedTopK.AddPacked":    func() { pack(); bounded.AddPacked(packed, nil, 1, nil, &tally) },
		"LimitSet.Check":           func() { set.Check(hashes[:1], 1, 1) },
		"LimitSet.Reserve, Settle": func() {
			held, _, _ := set.Reserve(hashes[:1], 1, 1000, 1)
			set.Settle(held, 1, 1)
		},
		"Fifo.Push, Rank, Peek, Pop": func() {
			fifo.Push(key, key, 1)
			fifo.Rank(key)
			fifo.Peek(&entry)
			fifo.Pop(&entry)
		},
		"Fifo.RankPacked":  func() { pack(); fifo.RankPacked(packed, ranks) },
		"Ring.RouteString": func() { ring.RouteString(text) },
		"Ring.RoutePacked": func() { pack(); ring.RoutePacked(packed, owners) },
	}
	for name, call := range calls {
		call() // buffers grow once
		if n := testing.AllocsPerRun(100, call); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkEmptyCall(b *testing.B) {
	// The cheapest there is: what crossing takes.
	global, err := NewGlobalLimiter(LimiterConfig{Quota: "1/s"})
	if err != nil {
		b.Fatal(err)
	}
	global.Close()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		global.Peek(1, 1) // closed: returns at once
	}
}

func benchmarked(b *testing.B) (*Dedup, [][]byte) {
	dedup, err := NewDedup(DedupConfig{Window: 1 << 40, Capacity: 100000})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { dedup.Close() })
	keys := make([][]byte, 4096)
	for i := range keys {
		keys[i] = []byte(fmt.Sprintf("%016d", i))
		dedup.Observe(keys[i], 1)
	}
	b.ReportAllocs()
	b.ResetTimer()
	return dedup, keys
}

func BenchmarkObserve(b *testing.B) {
	dedup, keys := benchmarked(b)
	for i := 0; i < b.N; i++ {
		dedup.Observe(keys[i%4096], 1)
	}
}

func BenchmarkObserveUint64(b *testing.B) {
	dedup, _ := benchmarked(b)
	for i := 0; i < b.N; i++ {
		dedup.ObserveUint64(uint64(i%4096), 1)
	}
}

// By key, with the packing.
func BenchmarkObservePacked256(b *testing.B) {
	dedup, keys := benchmarked(b)
	var packed Packed
	verdicts := make([]Verdict, 256)
	for i := 0; i < b.N; i += 256 {
		packed.Reset()
		for _, key := range keys[i%4096:][:256] {
			packed.Add(key)
		}
		dedup.ObservePacked(&packed, 1, nil, verdicts)
	}
}

// By key, of batches that are packed.
func BenchmarkObserveReady256(b *testing.B) {
	dedup, keys := benchmarked(b)
	var all [16]Packed
	for i, key := range keys {
		all[i/256].Add(key)
	}
	verdicts := make([]Verdict, 256)
	b.ResetTimer()
	for i := 0; i < b.N; i += 256 {
		dedup.ObservePacked(&all[i/256%16], 1, nil, verdicts)
	}
}
