package windlass

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestBoundedTopK(t *testing.T) {
	config := BoundedTopKConfig{Window: 60, Pane: 10, K: 3, Memory: 1 << 18, KeyBytes: 8, Seed: seed(7), Unit: UnitEvents}
	here, there := made(t, NewBoundedTopK, config), made(t, NewBoundedTopK, config)
	is(t, "added", must(here.AddString("/", 3, 1)), Counted)
	is(t, "elsewhere", must(there.Add([]byte("/"), 4, 2)), Counted)
	is(t, "a number", must(there.AddUint64(5, 9, 2)), Counted)
	is(t, "a hash", must(there.AddHash(HashBytes([]byte("x"), 7), 1, 2)), Counted)
	var packed Packed
	for _, key := range []string{"a", "b", "a"} {
		packed.AddString(key)
	}
	var tally Tally
	if err := there.AddPacked(&packed, nil, 2, nil, &tally); err != nil || tally.Counted != 3 {
		t.Error(tally, err)
	}
	for _, err := range []error{
		there.AddUint64s([]uint64{5}, []uint64{1}, 2, nil, nil),
		there.AddHashes([]Hash{HashUint64(5, 7)}, nil, 2, nil, nil),
		there.AddFixed(Fixed{[]byte("a_b_"), 1, 2, 2}, nil, 0, []Ticks{2, 2}, nil),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if err := there.AddUint64s([]uint64{5}, []uint64{1, 2}, 2, nil, nil); err != ErrRange {
		t.Error("times for two:", err)
	}
	for what, bounds := range map[string]func() (uint64, uint64, error){
		"of bytes":    func() (uint64, uint64, error) { return there.Bounds([]byte("a"), 2) },
		"of a string": func() (uint64, uint64, error) { return there.BoundsString("a", 2) },
		"of a hash":   func() (uint64, uint64, error) { return there.BoundsHash(HashBytes([]byte("a"), 7), 2) },
	} {
		if lower, upper, err := bounds(); lower != 3 || upper != 3 || err != nil {
			t.Error(what, lower, upper, err)
		}
	}
	if lower, upper, err := there.BoundsUint64(5, 2); lower > 11 || upper < 11 || err != nil {
		t.Error(lower, upper, err)
	}
	var list TopList
	if err := there.Refresh(2, &list); err != nil || len(list.Rows()) != 3 || list.Info().Total != must(there.Total(2)) {
		t.Fatal(err, list.Info())
	}
	rows := list.Rows()
	is(t, "the hottest", list.Uint64(&rows[0]), 5)
	is(t, "the next", string(list.Key(&rows[1])), "/")
	for _, err := range []error{there.Snapshot(&list), there.Top(2, &list), there.TopComplete(12, &list)} {
		if err != nil || len(list.Rows()) != 3 {
			t.Error(err, list.Rows())
		}
	}
	if stats := must(there.Stats()); stats.MemoryBytes == 0 || stats.MemoryBytes > 1<<18 || stats.Slots == 0 {
		t.Errorf("%+v", stats)
	}
	must(there.Maintain(2, 8))
	must(there.IsReady())
	config.Memory = 100
	if _, err := NewBoundedTopK(config); !errors.Is(err, ErrArg) {
		t.Error("too little memory:", err)
	}
	config.Memory, config.KeyBytes = 1<<18, NumbersOnly
	made(t, NewBoundedTopK, config)
}

// Two structures, of both kinds, the one by bytes.
func TestExports(t *testing.T) {
	here := made(t, NewTopK, TopKConfig{Window: 60, Pane: 10, K: 2, Capacity: 1000, Seed: seed(7)})
	there := made(t, NewBoundedTopK, BoundedTopKConfig{Window: 60, Pane: 10, K: 2, Seed: seed(7)})
	must(here.AddString("/", 3, 1))
	must(there.AddString("/", 4, 2))
	must(there.AddString("/login", 5, 2))
	closing := func(export *Export, err error) *Export {
		must(export, err)
		t.Cleanup(func() { export.Close() })
		return export
	}
	own, other := closing(here.Export(9)), closing(there.Export(9))
	bytes := must(other.Bytes([]byte("before ")))
	is(t, "appended", string(bytes[:11]), "before WLTK")
	bytes = bytes[7:]
	other = closing(ExportFromBytes(bytes))
	is(t, "the same bytes", must(other.Bytes(nil)), bytes)
	info := must(other.Info())
	is(t, "info", info, ExportInfo{UnitNS, 9, 10, 0, 10, 9, 0, 2, 20, 2})
	for i := range bytes {
		if _, err := ExportFromBytes(bytes[:i]); !errors.Is(err, ErrFormat) {
			t.Fatal("cut off:", err)
		}
	}
	bytes[20] ^= 1
	var detail *Error
	if _, err := ExportFromBytes(bytes); !errors.As(err, &detail) || !strings.HasPrefix(detail.Detail, "export, byte ") {
		t.Error("damaged:", err)
	}

	all, part := must(NewAggregator(2, KeysShared)), must(NewAggregator(2, KeysShared))
	defer all.Close()
	defer part.Close()
	for _, err := range []error{all.Add(own), part.Add(other), all.AddAll(part)} {
		if err != nil {
			t.Error(err)
		}
	}
	is(t, "exports", must(all.Exports()), 2)
	var list TopList
	if err := all.List(&list); err != nil || !list.Info().Certified || list.Info().Total != 12 {
		t.Fatal(err, list.Info())
	}
	rows := list.Rows()
	is(t, "the hottest", string(list.Key(&rows[0])), "/")
	is(t, "of both", rows[0].Count, 7)
	is(t, "the next", string(list.Key(&rows[1])), "/login")
	for _, err := range []error{
		all.Add(closing(here.ExportComplete(50))), all.Add(closing(there.ExportComplete(50))), all.AddAll(must(NewAggregator(2, KeysSplit))),
	} {
		if !errors.Is(err, ErrMismatch) {
			t.Error("of another interval:", err)
		}
	}
	if err := all.AddAll(all); !errors.Is(err, ErrArg) {
		t.Error("itself:", err)
	}
	if _, err := NewAggregator(0, KeysShared); !errors.Is(err, ErrArg) {
		t.Error("no keys:", err)
	}
	if err := own.Truncate(0); err != nil || must(own.Info()).Tail != 3 || own.Truncate(-1) != ErrRange {
		t.Error("cut:", err)
	}
	if err := own.List(&list); err != nil || len(list.Rows()) != 0 {
		t.Error("cut:", err)
	}
	own.Close()
	if _, err := own.Bytes(nil); err != ErrClosed {
		t.Error("closed:", err)
	}
	if err := all.Add(own); err != ErrClosed {
		t.Error("closed:", err)
	}
}

func TestLimitSet(t *testing.T) {
	second := Ticks(time.Second)
	config := LimitSetConfig{Seed: seed(7), Reservations: 2, Limits: []LimitRule{
		{Name: "user", Permits: 3, Per: 60 * second, Clients: 100},
		{Name: "all", Permits: 4, Per: 60 * second},
	}}
	set := made(t, NewLimitSet, config)
	ann, bob := []Hash{HashBytes([]byte("ann"), 7)}, []Hash{HashBytes([]byte("bob"), 7)}
	is(t, "three", must(set.Check(ann, 3, second)).Allowed(), true)
	is(t, "one more", must(set.Check(ann, 1, second)), SetAdmission{Kind: Denied, Limit: 0, RetryAfter: 20 * time.Second})
	is(t, "the last", must(set.Check(bob, 1, second)), SetAdmission{Kind: Allowed, Limit: 1, ResetAfter: time.Minute})
	is(t, "of all", must(set.Check(bob, 1, second)).Limit, 1)
	is(t, "too much", must(set.Check(bob, 9, second)).Kind, Never)
	is(t, "no key", must(set.Check(nil, 1, second)).Kind, Never)

	held, answer, err := set.Reserve(bob, 2, 30*second, 100*second)
	if !answer.Allowed() || err != nil || must(set.Check(bob, 2, 100*second)).Allowed() {
		t.Error(answer, err)
	}
	is(t, "holds", must(set.Stats()).Holds, 1)
	for _, want := range []Settled{SettledNow, SettledBefore} {
		if got, uncharged, err := set.Settle(held, 1, 101*second); got != want || uncharged != 0 || err != nil {
			t.Error(got, uncharged, err)
		}
	}
	held, _, _ = set.Reserve(ann, 3, 30*second, 101*second)
	is(t, "given back", must(set.Cancel(held, 101*second)), SettledNow)
	held, answer, _ = set.Reserve(ann, 1, 5*second, 102*second)
	is(t, "held", answer.Allowed(), true)
	if got, _, err := set.Settle(held, 1, 200*second); got != Expired || err != nil {
		t.Error(got, err)
	}
	must(set.Maintain(200*second, 8))
	config.Reservations = 0
	none := made(t, NewLimitSet, config)
	if _, _, err := none.Reserve(bob, 1, 30*second, second); err != ErrFull {
		t.Error("no room:", err)
	}
	for _, name := range []string{"all", "with\x00NUL", "\xff"} {
		config.Limits[0].Name = name
		if _, err := NewLimitSet(config); !errors.Is(err, ErrArg) {
			t.Errorf("%q: %v", name, err)
		}
	}
	set.Close()
	if _, err := set.Check(ann, 1, second); err != ErrClosed {
		t.Error("closed:", err)
	}
}

// What settings will take is known before.
func TestPlans(t *testing.T) {
	for what, plan := range map[string]func() (int64, error){
		"Dedup":   DedupConfig{Window: 60, Capacity: 1000}.MemoryBytes,
		"Limiter": LimiterConfig{Quota: "1/s", Clients: 1000}.MemoryBytes,
		"Counter": CounterConfig{Window: 60, Pane: 10, Capacity: 1000}.MemoryBytes,
		"TopK":    TopKConfig{Window: 60, Pane: 10, K: 5, Capacity: 1000}.MemoryBytes,
		"Fifo":    FifoConfig{Capacity: 1000}.MemoryBytes,
	} {
		if bytes, err := plan(); bytes < 10000 || err != nil {
			t.Error(what, bytes, err)
		}
	}
	if _, err := (DedupConfig{Window: 60, Capacity: 1 << 62}).MemoryBytes(); !errors.Is(err, ErrArg) {
		t.Error("too many ids:", err)
	}
	if _, err := (LimiterConfig{Quota: "ten"}).MemoryBytes(); !errors.Is(err, ErrArg) {
		t.Error("no quota:", err)
	}
	is(t, "panes", must(BloomConfig{Window: 1000, Panes: 4, ExpectedIDs: 500, Error: 0.01}.Plan()).Panes, 4)
	if _, err := (BloomConfig{Window: 1000, Error: 2}).Plan(); !errors.Is(err, ErrArg) {
		t.Error("more errors than ids:", err)
	}
	if RandomSeed() == RandomSeed() {
		t.Error("no random seed")
	}
}

func TestOtherFormsOfKeys(t *testing.T) {
	bloom := made(t, NewBloom, BloomConfig{Window: 1000, Panes: 4, ExpectedIDs: 500, Error: 0.001, Seed: seed(7), Unit: UnitEvents})
	must(bloom.InsertString("a", 1))
	must(bloom.InsertUint64(7, 1))
	spans := make([]PaneSpan, 4)
	is(t, "a hash", must(bloom.PanesHash(HashBytes([]byte("a"), 7), 3, spans)), 1)
	is(t, "a number", must(bloom.PanesUint64(7, 3, spans)), 1)
	is(t, "another", must(bloom.PanesUint64(8, 3, nil)), 0)

	ring := made(t, NewRing, RingConfig{Seed: seed(7)})
	must(ring.Add(1, "a", 1))
	must(ring.Add(2, "b", 1))
	bytes, hash := make([]uint32, 2), make([]uint32, 2)
	is(t, "nodes", must(ring.RouteN([]byte("key"), bytes)), 2)
	is(t, "nodes", must(ring.RouteNHash(HashBytes([]byte("key"), 7), hash)), 2)
	is(t, "the same", hash, bytes)

	fifo := made(t, NewFifo, FifoConfig{Capacity: 100, Seed: seed(7)})
	var values Packed
	values.AddString("seven")
	values.AddString(strings.Repeat("v", 500))
	results := make([]Pushed, 2)
	if err := fifo.PushUint64s([]uint64{7, 8}, &values, 1, results, nil); err != nil || results[1] != PushedNew {
		t.Error(results, err)
	}
	if err := fifo.PushUint64s([]uint64{9}, &values, 1, results[:1], nil); err != ErrRange {
		t.Error("values for two:", err)
	}
	fifo.PushHash(Hash{1, 2}, []byte("hash"), 2)
	fifo.PushString("text", nil, 3)
	value, rank, found, err := fifo.FindUint64(8, nil)
	if len(value) != 500 || rank != 1 || !found || err != nil {
		t.Error(len(value), rank, found, err)
	}
	value, rank, found, err = fifo.FindHash(Hash{1, 2}, []byte("a "))
	if string(value) != "a hash" || rank != 2 || !found || err != nil {
		t.Error(string(value), rank, found, err)
	}
	var entries Entries
	is(t, "one of two fits", must(fifo.PopPacked(2, &entries)), 1)
	is(t, "its value", string(entries.Value(0)), "seven")
	is(t, "its key", entries.Key(0), []byte{7, 0, 0, 0, 0, 0, 0, 0})
	is(t, "kind", entries.Kind(0), KeyUint64)
	is(t, "one that is long", must(fifo.PopPacked(1, &entries)), 1)
	is(t, "its length", len(entries.Value(0)), 500)
	is(t, "the rest", must(fifo.PopPacked(5, &entries)), 2)
	is(t, "a text", string(entries.Key(1)), "text")
	is(t, "a hash", entries.Kind(0), KeyHash)
	is(t, "in order", entries.Seq(0) < entries.Seq(1) && entries.PushedAt(1) == 3 && entries.Len() == 2, true)
	is(t, "none", must(fifo.PopPacked(5, &entries)), 0)
	if _, err := fifo.PopPacked(-1, &entries); err != ErrRange {
		t.Error("fewer than none:", err)
	}
}
