package windlass

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
)

var wall = time.Unix(1700000000, 0)

// What is returned of a panic.
func panics(call func()) (value any) {
	defer func() { value = recover() }()
	call()
	return nil
}

type writer func([]byte) (int, error)

func (w writer) Write(bytes []byte) (int, error) { return w(bytes) }

type reader func([]byte) (int, error)

func (r reader) Read(bytes []byte) (int, error) { return r(bytes) }

// again takes a snapshot through all that it may go to and come from.
func again[T interface{ Close() error }](
	t *testing.T, write func(io.Writer) error, restore func(io.Reader, time.Time) (T, Restored, error),
) (T, Restored) {
	t.Helper()
	var bytes bytes.Buffer
	if err := write(&bytes); err != nil {
		t.Fatal(err)
	}
	text := bytes.String()
	broken := errors.New("broken")
	// Writers that fail.
	if err := write(writer(func([]byte) (int, error) { return 0, broken })); err != broken {
		t.Error("a writer that fails:", err)
	}
	if err := write(writer(func(p []byte) (int, error) { return len(p) - 1, nil })); err != io.ErrShortWrite {
		t.Error("a short write:", err)
	}
	if value := panics(func() { write(writer(func([]byte) (int, error) { panic("of the writer") })) }); value != "of the writer" {
		t.Error("a writer that panics:", value)
	}
	// Readers that fail.
	failing := []struct {
		r    io.Reader
		want error
	}{
		{iotest.ErrReader(broken), broken},
		{io.MultiReader(strings.NewReader(text[:10]), iotest.ErrReader(broken)), broken},
		{reader(func([]byte) (int, error) { return 0, nil }), io.ErrNoProgress},
		{reader(func(p []byte) (int, error) { return len(p) + 1, nil }), errCount},
		{strings.NewReader(text[:len(text)-1]), ErrSnapshot},
		{strings.NewReader(""), ErrSnapshot},
		{strings.NewReader(text[1:]), ErrSnapshot},
	}
	for i, of := range failing {
		if _, _, err := restore(of.r, wall); !errors.Is(err, of.want) {
			t.Errorf("reader %d: %v, not %v", i, err, of.want)
		}
	}
	if value := panics(func() { restore(reader(func([]byte) (int, error) { panic("of the reader") }), wall) }); value != "of the reader" {
		t.Error("a reader that panics:", value)
	}
	// Readers that do not, each in its own way.
	behind := strings.NewReader(text + "behind")
	for i, r := range []io.Reader{
		behind, iotest.OneByteReader(strings.NewReader(text)), iotest.HalfReader(strings.NewReader(text)),
		iotest.DataErrReader(strings.NewReader(text)), iotest.DataErrReader(iotest.OneByteReader(strings.NewReader(text))),
	} {
		it, _, err := restore(r, wall)
		if err != nil {
			t.Fatal(i, err)
		}
		it.Close()
	}
	is(t, "what is behind it", string(must(io.ReadAll(behind))), "behind")
	it, restored, err := restore(&bytes, wall.Add(20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { it.Close() })
	is(t, "elapsed", restored.Elapsed, 20*time.Second)
	return it, restored
}

func second(n int) Ticks { return Ticks(n) * Ticks(time.Second) }

func TestSnapshots(t *testing.T) {
	ids := DedupConfig{Window: second(60), Capacity: 1000}
	dedup := made(t, NewDedup, ids)
	must(dedup.ObserveString("a", second(1)))
	must(dedup.ObserveUint64(5, second(2)))
	ofDedup := func(w io.Writer) error { return dedup.Snapshot(w, second(10), wall) }
	dedups, restored := again(t, ofDedup, func(r io.Reader, wall time.Time) (*Dedup, Restored, error) { return RestoreDedup(ids, r, wall) })
	is(t, "restored", restored, Restored{second(30), 20 * time.Second, 2})
	is(t, "an id of before", must(dedups.ObserveString("a", restored.Resumed)), Duplicate)
	is(t, "an id of long before", must(dedups.ObserveString("a", second(62))), Fresh)
	is(t, "its seed", must(dedups.Seed()), must(dedup.Seed()))
	var detail *Error
	var text bytes.Buffer
	if err := ofDedup(&text); err != nil {
		t.Fatal(err)
	}
	_, _, err := RestoreDedup(DedupConfig{Window: second(61), Capacity: 1000}, &text, wall)
	if !errors.Is(err, ErrArg) || !errors.As(err, &detail) || !strings.Contains(detail.Detail, "window 60000000000 ns") {
		t.Error("another window:", err)
	}
	dedup.Close()
	if err := ofDedup(&text); err != ErrClosed {
		t.Error("closed:", err)
	}

	seen := BloomConfig{Window: second(60), ExpectedIDs: 1000}
	bloom := made(t, NewBloom, seen)
	must(bloom.InsertString("a", second(5)))
	blooms, restored := again(t, func(w io.Writer) error { return bloom.Snapshot(w, second(10), wall) },
		func(r io.Reader, wall time.Time) (*Bloom, Restored, error) { return RestoreBloom(seen, r, wall) })
	is(t, "resumed", restored.Resumed, second(30))
	is(t, "seen", must(blooms.ContainsString("a", second(40))), true)
	is(t, "not seen", must(blooms.ContainsString("b", second(40))), false)

	counts := CounterConfig{Window: second(60), Pane: second(10), Capacity: 100}
	counter := made(t, NewCounter, counts)
	must(counter.AddString("a", 3, second(5)))
	counters, _ := again(t, func(w io.Writer) error { return counter.Snapshot(w, second(10), wall) },
		func(r io.Reader, wall time.Time) (*Counter, Restored, error) { return RestoreCounter(counts, r, wall) })
	is(t, "count", must(counters.CountString("a", second(31))), 3)

	hot := TopKConfig{Window: second(60), Pane: second(10), K: 3, Capacity: 100}
	topk := made(t, NewTopK, hot)
	must(topk.AddString("a", 7, second(5)))
	topks, _ := again(t, func(w io.Writer) error { return topk.Save(w, second(10), wall) },
		func(r io.Reader, wall time.Time) (*TopK, Restored, error) { return RestoreTopK(hot, r, wall) })
	var list TopList
	if err := topks.Top(second(31), &list); err != nil || len(list.Rows()) != 1 || string(list.Key(&list.Rows()[0])) != "a" {
		t.Error(list, err)
	}

	few := BoundedTopKConfig{Window: second(60), Pane: second(10), K: 3, Memory: 1 << 16}
	bounded := made(t, NewBoundedTopK, few)
	must(bounded.AddString("a", 7, second(5)))
	boundeds, _ := again(t, func(w io.Writer) error { return bounded.Save(w, second(10), wall) },
		func(r io.Reader, wall time.Time) (*BoundedTopK, Restored, error) {
			return RestoreBoundedTopK(few, r, wall)
		})
	lower, upper := must2(boundeds.BoundsString("a", second(31)))
	is(t, "bounds", [2]uint64{lower, upper}, [2]uint64{7, 7})

	queue := FifoConfig{Capacity: 100}
	fifo := made(t, NewFifo, queue)
	value := strings.Repeat("v", 500)
	must2(fifo.PushString("a", []byte("1"), second(1)))
	must2(fifo.PushString("b", []byte(value), second(2)))
	fifos, restored := again(t, func(w io.Writer) error { return fifo.Snapshot(w, second(10), wall) },
		func(r io.Reader, wall time.Time) (*Fifo, Restored, error) { return RestoreFifo(queue, r, wall) })
	is(t, "entries", restored.Entries, 2)
	var entry Entry
	must(fifos.Pop(&entry))
	is(t, "there is a second", must(fifos.Pop(&entry)), true)
	is(t, "its value", string(entry.Value()), value)

	points := RingConfig{Vnodes: 40}
	ring := made(t, NewRing, points)
	must(ring.Add(1, "cache-a", 1))
	must(ring.Add(2, "cache-b", 2))
	rings, _ := again(t, func(w io.Writer) error { return ring.Snapshot(w, wall) },
		func(r io.Reader, wall time.Time) (*Ring, Restored, error) { return RestoreRing(points, r, wall) })
	for key := uint64(0); key < 100; key++ {
		is(t, "owner", must(rings.RouteUint64(key)), must(ring.RouteUint64(key)))
	}

	perMinute := LimiterConfig{Quota: "60/m", Clients: 100}
	limiter := made(t, NewLimiter, perMinute)
	is(t, "all at once", must(limiter.CheckString("a", 60, second(1))).Kind, Allowed)
	ownQuota := limiter.SetQuotaForString("b", Quota{120, second(60), 0}, InheritAsIs, second(1))
	is(t, "of its own", ownQuota, nil)
	limiters, restored := again(t, func(w io.Writer) error { return limiter.Snapshot(w, second(11), wall) },
		func(r io.Reader, wall time.Time) (*Limiter, Restored, error) {
			return RestoreLimiter(perMinute, r, wall)
		})
	// One permit has come back in each of the 30 seconds since.
	is(t, "resumed", restored.Resumed, second(31))
	is(t, "its seed", must(limiters.Seed()), must(limiter.Seed()))
	is(t, "too many", must(limiters.CheckString("a", 31, second(31))).Kind, Denied)
	is(t, "as many as there are", must(limiters.CheckString("a", 30, second(31))).Kind, Allowed)
	is(t, "a quota of its own", must(limiters.CheckString("b", 120, second(31))).Kind, Allowed)
	text.Reset()
	if err := limiter.Snapshot(&text, second(11), wall); err != nil {
		t.Fatal(err)
	}
	_, _, err = RestoreLimiter(LimiterConfig{Quota: "61/m", Clients: 100}, &text, wall)
	if !errors.Is(err, ErrArg) || !errors.As(err, &detail) || !strings.Contains(detail.Detail, "quota 60/m") {
		t.Error("another quota:", err)
	}
	if _, _, err := RestoreLimiter(LimiterConfig{Quota: "many"}, &text, wall); !errors.Is(err, ErrArg) {
		t.Error("no quota:", err)
	}

	global := made(t, NewGlobalLimiter, perMinute)
	is(t, "all at once", must(global.Check(60, second(1))).Kind, Allowed)
	globals, restored := again(t, func(w io.Writer) error { return global.Snapshot(w, second(11), wall) },
		func(r io.Reader, wall time.Time) (*GlobalLimiter, Restored, error) {
			return RestoreGlobalLimiter(perMinute, r, wall)
		})
	is(t, "resumed", restored.Resumed, second(31))
	is(t, "too many", must(globals.Check(31, second(31))).Kind, Denied)
	is(t, "as many as there are", must(globals.Check(30, second(31))).Kind, Allowed)

	limits := LimitSetConfig{
		Limits: []LimitRule{
			{Name: "user", Permits: 10, Per: second(3600), Clients: 100, Algorithm: FixedWindow},
			{Name: "all", Permits: 1000, Per: second(3600)},
		},
		Reservations: 10, Seed: seed(7),
	}
	set := made(t, NewLimitSet, limits)
	ann := []Hash{HashBytes([]byte("ann"), 7)}
	ticket, admission, err := set.Reserve(ann, 10, second(600), second(1))
	if err != nil || !admission.Allowed() {
		t.Error(admission, err)
	}
	sets, restored := again(t, func(w io.Writer) error { return set.Snapshot(w, second(10), wall) },
		func(r io.Reader, wall time.Time) (*LimitSet, Restored, error) {
			return RestoreLimitSet(limits, r, wall)
		})
	is(t, "resumed", restored.Resumed, second(30))
	is(t, "all is held", must(sets.Check(ann, 1, second(30))).Kind, Denied)
	settled, uncharged, err := sets.Settle(ticket, 4, second(30))
	if settled != SettledNow || uncharged != 0 || err != nil {
		t.Error(settled, uncharged, err)
	}
	is(t, "given back", must(sets.Check(ann, 6, second(30))).Kind, Allowed)
	is(t, "no more", must(sets.Check(ann, 1, second(30))).Kind, Denied)
	text.Reset()
	if err := set.Snapshot(&text, second(10), wall); err != nil {
		t.Fatal(err)
	}
	other := limits
	other.Seed = seed(8)
	_, _, err = RestoreLimitSet(other, &text, wall)
	if !errors.Is(err, ErrArg) || !errors.As(err, &detail) || !strings.Contains(detail.Detail, "seed") {
		t.Error("another seed:", err)
	}
	other.Limits = []LimitRule{{Name: "a\x00b", Permits: 1, Per: second(1)}}
	if _, _, err := RestoreLimitSet(other, &text, wall); !errors.Is(err, ErrArg) {
		t.Error("a NUL:", err)
	}
}

func must2[A, B any](a A, b B, err error) (A, B) {
	if err != nil {
		panic(err)
	}
	return a, b
}

func TestWallTimes(t *testing.T) {
	for _, of := range []struct {
		wall time.Time
		want uint64
	}{
		{time.Time{}, 0}, {time.Unix(-1, 0), 0}, {time.Unix(0, 7), 7}, {time.Unix(1700000000, 5), 1700000000000000005},
		// Beyond what UnixNano can say.
		{time.Unix(1<<34, 1), (1<<34)*1000000000 + 1}, {time.Unix(1<<40, 0), NoLimit},
	} {
		is(t, of.wall.String(), uint64(nanoseconds(of.wall)), of.want)
	}
}

// Several at once, while others go on and the garbage collector moves what it can.
func TestSnapshotsWhileOthersGoOn(t *testing.T) {
	config := DedupConfig{Window: second(60), Capacity: 20000, Unit: UnitEvents}
	dedup := made(t, NewDedup, config)
	for id := uint64(0); id < 5000; id++ {
		must(dedup.ObserveUint64(id, Ticks(id)))
	}
	var all sync.WaitGroup
	for i := 0; i < 4; i++ {
		all.Add(1)
		go func(i uint64) {
			defer all.Done()
			for id := i * 1000; id < (i+1)*1000; id++ {
				if _, err := dedup.ObserveUint64(10000+id, Ticks(id)); err != nil {
					t.Error(err)
				}
			}
			var text bytes.Buffer
			to := writer(func(p []byte) (int, error) {
				runtime.GC()
				// A callback may use it, and the stack it runs on may grow.
				if _, err := dedup.ContainsUint64(1, 1); err != nil || deep(1000) != 1000 {
					t.Error(err)
				}
				return text.Write(p)
			})
			if err := dedup.Snapshot(to, 5000, wall); err != nil {
				t.Error(err)
				return
			}
			it, restored, err := RestoreDedup(config, iotest.HalfReader(&text), wall)
			if err != nil || restored.Entries < 6000 {
				t.Error(restored, err)
				return
			}
			defer it.Close()
			for id := uint64(0); id < 5000; id++ {
				if verdict, err := it.ObserveUint64(id, 5000); err != nil || verdict != Duplicate {
					t.Error(id, verdict, err)
				}
			}
		}(uint64(i))
	}
	all.Wait()
}

func deep(n int) int {
	if n == 0 {
		return 0
	}
	var room [64]byte
	room[n%64] = 1
	return deep(n-1) + int(room[n%64])
}

func TestQuotas(t *testing.T) {
	limiter := made(t, NewLimiter, LimiterConfig{Quota: "10/s", Clients: 100, Seed: seed(7)})
	now := second(1)
	left := func(answer Admission, err error) uint64 {
		t.Helper()
		if err != nil || !answer.Allowed() {
			t.Error(answer, err)
		}
		return answer.Remaining
	}
	fine := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	is(t, "to begin with", left(limiter.CheckString("a", 6, now)), 4)
	fine(limiter.SetQuota(Quota{20, second(1), 0}, InheritAsIs, now))
	is(t, "of more", left(limiter.CheckString("a", 0, now)), 14)
	fine(limiter.SetQuota(Quota{10, second(1), 0}, InheritProportional, now))
	is(t, "of as many", left(limiter.CheckString("a", 0, now)), 7)
	fine(limiter.SetQuotaFor([]byte("a"), Quota{50, second(1), 0}, InheritAsIs, now))
	is(t, "of its own", left(limiter.CheckString("a", 0, now)), 47)
	is(t, "of another", left(limiter.CheckString("b", 0, now)), 10)
	fine(limiter.SetQuotaForString("b", Quota{20, second(1), 0}, InheritAsIs, now))
	is(t, "of another's own", left(limiter.CheckString("b", 0, now)), 20)
	fine(limiter.SetQuotaForHash(HashBytes([]byte("b"), 7), Quota{30, second(1), 0}, InheritAsIs, now))
	is(t, "by its hash", left(limiter.CheckString("b", 0, now)), 30)
	fine(limiter.SetQuotaForUint64(5, Quota{3, second(1), 1}, InheritAsIs, now))
	is(t, "of a number", left(limiter.CheckUint64(5, 1, now)), 0)
	is(t, "had one", must(limiter.ClearQuotaForString("a", InheritAsIs, now)), true)
	is(t, "had none", must(limiter.ClearQuotaFor([]byte("a"), InheritAsIs, now)), false)
	is(t, "had one, by its hash", must(limiter.ClearQuotaForHash(HashBytes([]byte("b"), 7), InheritAsIs, now)), true)
	is(t, "had one, a number", must(limiter.ClearQuotaForUint64(5, InheritAsIs, now)), true)
	is(t, "as all", left(limiter.CheckString("b", 0, now)), 10)
	var detail *Error
	err := limiter.SetQuota(Quota{0, second(1), 0}, InheritAsIs, now)
	if !errors.Is(err, ErrArg) || !errors.As(err, &detail) || detail.Detail != "quota: 0/s is out of range: 1 permit at least" {
		t.Error("no permits:", err)
	}
	if err := limiter.SetQuotaForString("a", Quota{1, second(1), 0}, 2, now); !errors.Is(err, ErrArg) {
		t.Error("no such way:", err)
	}
	if _, err := limiter.ClearQuotaForString("a", 2, now); !errors.Is(err, ErrArg) {
		t.Error("no such way:", err)
	}

	global := made(t, NewGlobalLimiter, LimiterConfig{Quota: "10/s"})
	left(global.Check(6, now))
	fine(global.SetQuota(Quota{20, second(1), 0}, InheritAsIs, now))
	is(t, "of all", left(global.Check(0, now)), 14)

	set := made(t, NewLimitSet, LimitSetConfig{Limits: []LimitRule{{Name: "all", Permits: 10, Per: second(1)}}})
	must(set.Check(nil, 6, now))
	fine(set.SetQuota("all", Quota{20, second(1), 0}, now))
	is(t, "of a set", must(set.Check(nil, 0, now)).Remaining, 14)
	for _, name := range []string{"nobody", "all\x00"} {
		if err := set.SetQuota(name, Quota{20, second(1), 0}, now); !errors.Is(err, ErrArg) {
			t.Error(name, err)
		}
	}
	global.Close()
	if err := global.SetQuota(Quota{20, second(1), 0}, InheritAsIs, now); err != ErrClosed {
		t.Error("closed:", err)
	}

	// Two permits for all that share the one cell.
	config := LimiterConfig{Quota: "2/s", Clients: 1, OnUnknown: OnUnknownShare, SharedCells: 1}
	sharing := made(t, NewLimiter, config)
	allowed := 0
	for client := uint64(0); client < 1000; client++ {
		if must(sharing.CheckUint64(client, 1, now)).Allowed() {
			allowed++
		}
	}
	if stats := must(sharing.Stats()); allowed >= 100 || stats.Unknown <= 900 {
		t.Error(allowed, stats)
	}
	config.SharedCells = 0
	if _, err := NewLimiter(config); !errors.Is(err, ErrArg) {
		t.Error("no cells:", err)
	}
}
