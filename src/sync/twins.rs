//! Negative twins: the same model with one step left out must fail, else the model shows nothing.

use std::cell::Cell;

/// What a model leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Twin {
    /// A new key takes the first cell that is gone, not the least.
    AnyGoneCell,
    /// A key whose cell is gone takes the least cell instead.
    ForgetCell,
    /// The horizon is loaded before the cells.
    HorizonFirst,
    /// A snapshot's entry is the key of then and the state of now.
    ReadByHalves,
    /// A snapshot finds out which tables lie below when it has read the newest.
    BelowAfterwards,
    /// "Gone" is answered without another look at the cell.
    GoneAtFirstSight,
    /// A late call goes by its own clock although the horizon has passed it.
    OwnTime,
    /// A call that asks before the first has come looks at what that one leaves by a time of its own.
    AsksBeforeTime,
    /// A commit takes any claim for its own.
    CommitAny,
    /// An abort does not look at whose claim there is.
    AbortBlindly,
    /// A forgotten entry can be overwritten at once.
    MarkGoesFirst,
    /// A bucket that has overflowed takes its own gone cell although the row's least stands elsewhere.
    HomeFirst,
    /// An empty cell is raised to the horizon like others, and so becomes one of key 0.
    RaiseEmpty,
    /// A full row is left for a wider one without a flag.
    WiderWithoutFlag,
    /// The flag is put on the first cell, not on the least.
    FlagAnyCell,
    /// A flag counts although it is marked as closing.
    UseWhileClosing,
    /// Of a key's cells the one furthest out counts.
    OuterFirst,
    /// A key's cell at home is changed although another key has taken it meanwhile.
    TakenAtHome,
    /// Evicts whatever is least, however young.
    EvictYoung,
    /// A change does not mind the seal.
    IgnoreSeal,
    /// A key is put into the newest table while its row below is open.
    NoSeal,
    /// .. and goes by what was there before it was sealed.
    SealAfterLook,
    /// "Absent" is answered without another look at the newest table.
    AbsentAtFirstSight,
    /// What is put from the oldest table into the newest does not mind the tables between.
    ForwardBlindly,
    /// .. nor whether it is gone.
    ForwardDead,
    /// A cell that may have been the key's is taken for another's, and stays as it is.
    LeaveTheDead,
    /// A ticket's key is known by where its bytes are and not by what they are.
    KnownByPlace,
    /// A key takes a gone cell further out as its own, although one further in may have been its later one.
    TakeTheRemnant,
    /// A cell that is raised without its key keeps its reference, although that belongs to the slice of the old state.
    RaiseNamed,
    /// A replaced table is destroyed at once.
    DropAtOnce,
    /// A reference is followed into whatever segment is in its slot.
    IgnoreSlice,
    /// A slice that is let go leaves no number behind.
    ForgetSlice,
    /// A range is taken by a load and a store.
    CursorByStore,
    /// No room is said while another thread opens a chunk.
    RefuseAtOnce,
    /// Whoever finds a chunk of a column not yet clear clears it.
    ClearTwice,
    /// A pane that comes into the column of the one before leaves its label as it is.
    KeepLabel,
    /// A call relies on a label that the thread that leaves the column may not have seen.
    RaiseLoosely,
    /// The next column's label is written when it is current, not before.
    LabelLate,
    /// "Absent" is answered without another look at the ring.
    AbsentAtOnce,
    /// A word is cleared with Relaxed.
    RelaxedClear,
    /// What is live in a snapshot is what was live when it was begun.
    KeepAsBegun,
    /// A column that has been retired since it was read keeps its bits.
    KeepRetired,
    /// A ring goes back to its pool at once.
    PutAtOnce,
    /// The newest time is stored without a look at what it is by now.
    TimeBlindly,
    /// A log's stamp is put in before its client's entry is raised to it.
    StampFirst,
    /// A snapshot of a log finds out how many permits there are when it has read their times.
    HeadAfterwards,
    /// A limiter's state, or a count, is stored without another look at it.
    StoreBlindly,
    /// A generation is put into whatever directory there is by now.
    OpenBlindly,
    /// The newest pane is looked at before the directory.
    NewestFirst,
    /// A row that another thread has just taken is passed over, whoever's it is.
    PassOver,
    /// A snapshot reads rows from the first to the last.
    RowsUpwards,
    /// .. with Relaxed.
    RelaxedRow,
    /// A further table is linked in the place of one that was linked meanwhile.
    LinkTwice,
    /// A table that has left is cleared while calls under way may use it.
    ClearAtOnce,
    /// A change of the ring that has lost against another is published as it was.
    PublishStale,
    /// A slot is filled although it may have been skipped.
    FillBlindly,
    /// A key is published without a look at the entry that it has.
    PublishOver,
    /// A removal does not mind that another has taken the entry.
    RemoveBlindly,
    /// What was removed cannot be told from what was closed.
    RemoveAsHole,
    /// A move does not mind that the old entry has been popped.
    MoveBlindly,
    /// The head goes past an entry that is being moved.
    PassMoved,
    /// The head is loaded before the number.
    HeadFirst,
    /// A segment that has gone leaves nothing behind.
    ForgetSegment,
    /// A snapshot leaves out what is moved to where it will not come.
    LeaveOutTheMoved,
    /// .. and does not mind that the head has overtaken it.
    BeOvertaken,
    /// A pop goes past a push that is almost done.
    PassWritten,
    /// A row takes whatever name comes last.
    NameTwice,
    /// A pane takes whatever threshold comes last.
    BeginTwice,
    /// Only the add that makes a count as great as the threshold marks its row.
    MarkOnce,
    /// A mark is relied on that may not be there yet.
    RelaxedNote,
    /// Thresholds count as lowered while calls under way may go by the old ones.
    LowerAtOnce,
    /// A list is shown in the place of one that was begun later.
    ShowBlindly,
    /// A count is added to whatever key has the slot by now.
    CreditBlindly,
    /// A key takes the first slot whose key has less, not the least.
    AnyLesser,
    /// A key goes before what it was seen is in the sketch.
    DisplaceFirst,
    /// What is carried over takes the first empty slot, without a look at the others.
    CarryBlindly,
    /// Whoever adds to the sketch takes no turn, and does not look for the key once more.
    NoTurn,
    /// Cells are loaded and exchanged with Relaxed.
    RelaxedCells,
    /// What time has given back already is given back once more.
    GiveAllBack,
    /// A call of a set leaves what it was charged before it was refused.
    KeepTheCharge,
    /// Half of the calls of a set charge its limits in the other order.
    OtherOrder,
    /// What others gave back since is not counted.
    IgnoreOthers,
    /// What is given back is counted when it has been.
    CountAfterwards,
    /// What is given back is by the time that was known before the state was loaded.
    TimeBefore,
    /// A hold is settled without another look at whether it has been.
    SettleBlindly,
    /// A call goes by the pace of one quota and by the permits of another.
    MixQuotas,
    /// A quota of a client's own is there before what has been used is charged to it.
    ChargeLater,
    /// A snapshot reads the sketch before the slots.
    SketchFirst,
    /// A snapshot reads a bucket's bar before its slots.
    BarFirst,
    /// Of a key that a snapshot has read twice both count.
    KeepBoth,
    /// A snapshot of a set reads holds before charges.
    HoldsFirst,
    /// .. and finds out which holds were made meanwhile when it has read the charges.
    NumberAfterwards,
    /// A snapshot of logs does not look at the horizon once more when it has read the rings.
    HorizonBeforeRings,
}

thread_local! {
    // loom runs all threads of a model on the thread of its test.
    static PLANTED: Cell<Option<Twin>> = const { Cell::new(None) };
}

/// Plants `twin` for all models run by `f`.
pub fn with<R>(twin: Twin, f: impl FnOnce() -> R) -> R {
    struct Uproot;
    impl Drop for Uproot {
        fn drop(&mut self) {
            PLANTED.set(None);
        }
    }
    PLANTED.set(Some(twin));
    let _uproot = Uproot;
    f()
}

pub(crate) fn planted(twin: Twin) -> bool {
    PLANTED.get() == Some(twin)
}
