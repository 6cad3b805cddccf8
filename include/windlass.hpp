// windlass for C++17 and later: owners and value types over windlass.h, which says what every call does, what it returns, and when it fails.
// Header only. docs/cpp.md has examples. Licence: MIT OR Apache-2.0.
//
// Keys         are bytes (std::string_view, std::string, literals, std::span or std::vector of bytes), a std::uint64_t, or a
//              windlass::Hash: three kinds, none the same as one of another kind. Bring each key in one form.
// Time         is Ticks: a number, or a std::chrono::duration, which counts in nanoseconds.
// Errors       Calls do not throw: they return what tells by failed() and status(). What makes something either throws
//              (constructors; not with -fno-exceptions) or returns an Expected (make). What grows a container of the caller's
//              may throw std::bad_alloc, and is not noexcept.
// Owners       can be moved and not copied. One that was moved from, or made by default, holds nothing: its calls return
//              WINDLASS_E_NULL.
// Snapshots    go to a std::string, a stream or a function, and come from bytes, a stream or a function.
// Threads      All member functions may be called by any number of threads at once, but for those that move, assign or destroy, and
//              what changes an Aggregator or truncates an Export.
// Arrays       View takes whatever has data() and size(): std::vector, std::array, std::span, or a pointer and a length. An
//              array for answers that does not have the batch's length is refused with WINDLASS_E_RANGE; one that is empty is
//              not wanted, where that is said.

#ifndef WINDLASS_HPP
#define WINDLASS_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "windlass.h"

#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#define WINDLASS_HAS_EXCEPTIONS 1
#include <exception>
#include <stdexcept>
#else
#define WINDLASS_HAS_EXCEPTIONS 0
#endif

namespace windlass {

using Hash = windlass_hash;
using Ticket = windlass_ticket;
using Tally = windlass_tally;
using Reservation = windlass_reservation;

// The version of the library, such as "0.1.0"; of the header there are macros.
inline const char *version() noexcept { return windlass_version(); }

// What a WINDLASS_E_ code means, in a few words.
inline const char *text(windlass_status status) noexcept { return windlass_status_text(status); }

// A time or a span of it: a number of ticks, or a duration, in nanoseconds. What is below 0 is 0, and what does not fit is the
// largest that does.
class Ticks {
public:
    template <class N, std::enable_if_t<std::is_integral_v<N>, int> = 0>
    constexpr Ticks(N ticks) noexcept : count_(ticks < N{} ? 0 : static_cast<std::uint64_t>(ticks)) {}

    template <class R, class P>
    constexpr Ticks(std::chrono::duration<R, P> span) noexcept : count_(0) {
        using Seconds = std::chrono::duration<long double>;
        constexpr std::chrono::nanoseconds most = std::chrono::nanoseconds::max();
        if (Seconds(span) >= Seconds(most)) {
            count_ = static_cast<std::uint64_t>(most.count());
        } else if (span > span.zero()) {
            count_ = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(span).count());
        }
    }

    constexpr std::uint64_t count() const noexcept { return count_; }

private:
    std::uint64_t count_;
};

// Where it means a number of ticks, or of bytes: no limit.
inline constexpr std::uint64_t no_limit = WINDLASS_NO_LIMIT;

// Nanoseconds of a clock that never goes back.
inline std::uint64_t now() noexcept { return windlass_now_ns(); }

// Nanoseconds since 1970 by the system's clock, which may be set: the wall time of snapshots. (A time_point of
// std::chrono::system_clock has them as time_since_epoch().)
inline std::uint64_t wall_now() noexcept { return windlass_wall_ns(); }

// An array of somebody else's.
template <class T>
class View {
public:
    constexpr View() noexcept = default;
    constexpr View(T *data, std::size_t size) noexcept : data_(data), size_(size) {}

    template <std::size_t N>
    constexpr View(T (&array)[N]) noexcept : data_(array), size_(N) {}

    // (The arrays are of T, or of what differs by const alone.)
    template <class A, class E = std::remove_pointer_t<decltype(std::declval<A &>().data())>,
              std::enable_if_t<std::is_convertible_v<E (*)[], T (*)[]>, int> = 0>
    constexpr View(A &&array) noexcept : data_(array.data()), size_(array.size()) {}

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

// The bytes of a key, a value or a name, of somebody else's.
class Bytes {
public:
    constexpr Bytes() noexcept = default;
    Bytes(const void *data, std::size_t size) noexcept : data_(static_cast<const std::uint8_t *>(data)), size_(size) {}

    template <class S, std::enable_if_t<std::is_convertible_v<const S &, std::string_view>, int> = 0>
    Bytes(const S &text) noexcept : Bytes(std::string_view(text)) {}
    Bytes(std::string_view text) noexcept : Bytes(text.data(), text.size()) {}

    // Arrays of std::uint8_t, std::byte and the like.
    template <class A, class E = std::remove_pointer_t<decltype(std::declval<const A &>().data())>,
              std::enable_if_t<sizeof(E) == 1 && !std::is_convertible_v<const A &, std::string_view>, int> = 0>
    Bytes(const A &array) noexcept : Bytes(array.data(), array.size()) {}

    const std::uint8_t *data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }

private:
    const std::uint8_t *data_ = nullptr;
    std::size_t size_ = 0;
};

// Hashes of keys under a seed, the same in every language.
inline Hash hash(Bytes key, std::uint64_t seed) noexcept {
    Hash hash{};
    (void)windlass_hash_bytes(key.data(), key.size(), seed, &hash); // it cannot fail: bytes are there
    return hash;
}
inline Hash hash(std::uint64_t key, std::uint64_t seed) noexcept {
    Hash hash{};
    (void)windlass_hash_u64(key, seed, &hash);
    return hash;
}

// A seed that nobody else knows.
inline std::uint64_t random_seed() noexcept {
    std::uint64_t seed = 0;
    (void)windlass_seed_random(&seed);
    return seed;
}

// The seed of a namespace, for the keys of one of several sources.
inline std::uint64_t namespace_seed(std::uint64_t seed, Bytes name) noexcept {
    std::uint64_t of_it = 0;
    (void)windlass_seed_namespace(seed, name.data(), name.size(), &of_it);
    return of_it;
}

// --- what calls return ---

// Why something could not be made: a code, and a text that names the setting, its value and what is allowed.
class Error {
public:
    explicit Error(windlass_status status, const char *detail = "") noexcept : status_(status) {
        const std::size_t length = std::strlen(detail);
        const std::size_t kept = length < sizeof detail_ ? length : sizeof detail_ - 1;
        std::memcpy(detail_, detail, kept);
    }
    windlass_status status() const noexcept { return status_; }
    // In words: the detail, or where there is none what the code means.
    const char *what() const noexcept { return detail_[0] ? detail_ : windlass_status_text(status_); }

private:
    windlass_status status_;
    char detail_[sizeof(windlass_error::detail)] = {};
};

#if WINDLASS_HAS_EXCEPTIONS
// What constructors throw.
class Exception : public std::runtime_error {
public:
    explicit Exception(const Error &error) : std::runtime_error(error.what()), status_(error.status()) {}
    windlass_status status() const noexcept { return status_; }

private:
    windlass_status status_;
};
#endif

// What was made, or why it was not.
template <class T>
class Expected {
public:
    Expected(T value) noexcept : holds_(std::in_place_index<0>, std::move(value)) {}
    Expected(Error error) noexcept : holds_(std::in_place_index<1>, error) {}

    bool has_value() const noexcept { return holds_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }

    // What was made. If there is none: throws an Exception, or ends the program where there are none.
    T &value() & {
        if (!has_value()) refuse();
        return *std::get_if<0>(&holds_);
    }
    T &&value() && {
        if (!has_value()) refuse();
        return std::move(*std::get_if<0>(&holds_));
    }
    const T &value() const & {
        if (!has_value()) refuse();
        return *std::get_if<0>(&holds_);
    }
    T &operator*() & { return value(); }
    const T &operator*() const & { return value(); }
    T &&operator*() && { return std::move(*this).value(); }
    T *operator->() { return &value(); }
    const T *operator->() const { return &value(); }

    // Why not. If it was made: WINDLASS_OK.
    const Error &error() const noexcept {
        static const Error none(WINDLASS_OK);
        const Error *error = std::get_if<1>(&holds_);
        return error ? *error : none;
    }

private:
    [[noreturn]] void refuse() const {
#if WINDLASS_HAS_EXCEPTIONS
        throw Exception(error());
#else
        std::abort();
#endif
    }
    std::variant<T, Error> holds_;
};

// A value, or a WINDLASS_E_ code; with a code the value is what it is by default.
template <class T>
class Result {
public:
    constexpr Result(windlass_status status, T value) noexcept : value_(status < 0 ? T{} : value), status_(status) {}
    constexpr bool failed() const noexcept { return status_ < 0; }
    constexpr explicit operator bool() const noexcept { return !failed(); }
    constexpr windlass_status status() const noexcept { return status_ < 0 ? status_ : WINDLASS_OK; }
    constexpr T value() const noexcept { return value_; }
    constexpr T value_or(T other) const noexcept { return failed() ? other : value_; }

private:
    T value_;
    windlass_status status_;
};

// A number that calls return, of which those below 0 are errors.
class Answer {
public:
    constexpr explicit Answer(std::int32_t code) noexcept : code_(code) {}
    constexpr std::int32_t code() const noexcept { return code_; }
    constexpr bool failed() const noexcept { return code_ < 0; }
    constexpr windlass_status status() const noexcept { return code_ < 0 ? code_ : WINDLASS_OK; }

private:
    std::int32_t code_;
};

// Yes or no, or an error, which is neither.
class YesNo : public Answer {
public:
    using Answer::Answer;
    constexpr bool yes() const noexcept { return code() > 0; }
    constexpr bool no() const noexcept { return code() == 0; }
};

// Of an observation or a claim.
class Verdict : public Answer {
public:
    using Answer::Answer;
    constexpr bool fresh() const noexcept { return code() == WINDLASS_FRESH; }
    constexpr bool duplicate() const noexcept { return code() == WINDLASS_DUPLICATE; }
    // Only claims are told this.
    constexpr bool in_progress() const noexcept { return code() == WINDLASS_IN_PROGRESS; }
};

// Of a claim. The ticket is one if the verdict is fresh; when tells since or until when it is another's if it is not.
class Claim : public Verdict {
public:
    constexpr Claim(std::int32_t code, Ticket ticket, std::uint64_t when) noexcept : Verdict(code), ticket_(ticket), when_(when) {}
    constexpr const Ticket &ticket() const noexcept { return ticket_; }
    constexpr std::uint64_t when() const noexcept { return when_; }

private:
    Ticket ticket_;
    std::uint64_t when_;
};

// Of counting a key.
class Added : public Answer {
public:
    using Answer::Answer;
    constexpr bool counted() const noexcept { return code() == WINDLASS_COUNTED; }
    constexpr bool no_room() const noexcept { return code() == WINDLASS_NO_ROOM; }
    constexpr bool late() const noexcept { return code() == WINDLASS_LATE; }
    constexpr bool too_long() const noexcept { return code() == WINDLASS_TOO_LONG; }
};

// Of a push, with the number of the key's entry.
class Pushed : public Answer {
public:
    constexpr Pushed(std::int32_t code, std::uint64_t seq) noexcept : Answer(code), seq_(seq) {}
    constexpr bool is_new() const noexcept { return code() == WINDLASS_PUSHED_NEW; }
    constexpr bool present() const noexcept { return code() == WINDLASS_PUSHED_PRESENT; }
    constexpr bool moved() const noexcept { return code() == WINDLASS_PUSHED_MOVED; }
    constexpr std::uint64_t seq() const noexcept { return seq_; }

private:
    std::uint64_t seq_;
};

namespace detail {
constexpr std::chrono::nanoseconds span(std::uint64_t ns) noexcept {
    constexpr std::chrono::nanoseconds most = std::chrono::nanoseconds::max();
    const bool fits = ns <= static_cast<std::uint64_t>(most.count());
    return fits ? std::chrono::nanoseconds(static_cast<std::chrono::nanoseconds::rep>(ns)) : most;
}
} // namespace detail

// Of a rate limiter.
class Admission : public Answer {
public:
    constexpr Admission(std::int32_t code, const windlass_admission &all) noexcept : Answer(code), all_(all) {}
    constexpr bool allowed() const noexcept { return code() == WINDLASS_ALLOWED; }
    constexpr bool denied() const noexcept { return code() == WINDLASS_DENIED; }
    constexpr bool never() const noexcept { return code() == WINDLASS_NEVER; }
    constexpr std::uint64_t remaining() const noexcept { return all_.remaining; }
    constexpr std::chrono::nanoseconds reset_after() const noexcept { return detail::span(all_.reset_after_ns); }
    constexpr std::chrono::nanoseconds retry_after() const noexcept { return detail::span(all_.retry_after_ns); }
    constexpr std::chrono::nanoseconds delay() const noexcept { return detail::span(all_.delay_ns); }

private:
    windlass_admission all_;
};

// Of a set of limits.
class SetAdmission : public Answer {
public:
    constexpr SetAdmission(std::int32_t code, const windlass_set_admission &all) noexcept : Answer(code), all_(all) {}
    constexpr bool allowed() const noexcept { return code() == WINDLASS_ALLOWED; }
    constexpr bool denied() const noexcept { return code() == WINDLASS_DENIED; }
    constexpr bool never() const noexcept { return code() == WINDLASS_NEVER; }
    // The number of a limit: if allowed, that has the least left; else the first that refuses.
    constexpr std::size_t limit() const noexcept { return all_.limit; }
    constexpr std::uint64_t remaining() const noexcept { return all_.remaining; }
    constexpr std::chrono::nanoseconds reset_after() const noexcept { return detail::span(all_.reset_after_ns); }
    constexpr std::chrono::nanoseconds retry_after() const noexcept { return detail::span(all_.retry_after_ns); }

private:
    windlass_set_admission all_;
};

// Of a reservation. The ticket is one if it is allowed, which says no more then.
class Reserved : public SetAdmission {
public:
    Reserved(std::int32_t code, const windlass_set_admission &all, const Reservation &ticket) noexcept
        : SetAdmission(code, all), ticket_(ticket) {}
    const Reservation &ticket() const noexcept { return ticket_; }

private:
    Reservation ticket_;
};

// Of what became of a reservation.
class Settled : public Answer {
public:
    constexpr Settled(std::int32_t code, std::uint64_t uncharged) noexcept : Answer(code), uncharged_(uncharged) {}
    constexpr bool settled() const noexcept { return code() == WINDLASS_SETTLED; }
    // It had been settled or cancelled.
    constexpr bool before() const noexcept { return code() == WINDLASS_SETTLED_BEFORE; }
    constexpr bool expired() const noexcept { return code() == WINDLASS_EXPIRED; }
    // If settled: permits that could not be charged.
    constexpr std::uint64_t uncharged() const noexcept { return uncharged_; }

private:
    std::uint64_t uncharged_;
};

// --- keys of a batch ---

// Keys of one length, the next one stride bytes after the last: a field of an array of structs.
struct Fixed {
    const void *keys;
    std::size_t key_len, stride, count;

    const std::uint8_t *data() const noexcept { return static_cast<const std::uint8_t *>(keys); }
    std::size_t size() const noexcept { return count; }
};

// Keys of any lengths, copied one behind the other. Cleared and filled again it asks for no memory, once it is large enough.
class Packed {
public:
    Packed() : offsets_(1, 0) {}

    void clear() noexcept {
        bytes_.clear();
        offsets_.resize(1);
    }
    void reserve(std::size_t keys, std::size_t bytes) {
        offsets_.reserve(keys + 1);
        bytes_.reserve(bytes);
    }
    // False: all keys together would have 4 GiB or more; it was not added.
    bool add(Bytes key) {
        if (key.size() > std::numeric_limits<std::uint32_t>::max() - bytes_.size()) return false;
        bytes_.insert(bytes_.end(), key.data(), key.data() + key.size());
        offsets_.push_back(static_cast<std::uint32_t>(bytes_.size()));
        return true;
    }
    // The keys of a range instead of what it has, as far as they fit.
    template <class Range>
    Packed &assign(const Range &keys) {
        clear();
        for (const auto &key : keys)
            if (!add(key)) break;
        return *this;
    }
    std::size_t size() const noexcept { return offsets_.size() - 1; }
    bool empty() const noexcept { return size() == 0; }
    const std::uint8_t *bytes() const noexcept { return bytes_.data(); }
    std::size_t bytes_len() const noexcept { return bytes_.size(); }
    const std::uint32_t *offsets() const noexcept { return offsets_.data(); }

private:
    std::vector<std::uint8_t> bytes_;
    std::vector<std::uint32_t> offsets_;
};

// How many, as calls return it: or an error.
using Count = Result<std::uint64_t>;

namespace detail {

// Owns a handle.
template <class Handle, void (*Free)(Handle *)>
class Owner {
public:
    constexpr Owner() noexcept = default;
    explicit Owner(Handle *handle) noexcept : handle_(handle) {}
    Owner(Owner &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Owner &operator=(Owner &&other) noexcept {
        if (this != &other) {
            Free(handle_);
            handle_ = std::exchange(other.handle_, nullptr);
        }
        return *this;
    }
    Owner(const Owner &) = delete;
    Owner &operator=(const Owner &) = delete;
    ~Owner() { Free(handle_); }

    // For the functions of windlass.h. Still owned.
    Handle *handle() const noexcept { return handle_; }
    explicit operator bool() const noexcept { return handle_ != nullptr; }

protected:
    // (What is called with a pointer to const changes nothing that a caller could see: it may.)
    Handle *handle_ = nullptr;
};

template <class Made, class Config, class Handle>
Expected<Made> make(windlass_status (*from)(const Config *, Handle **, windlass_error *), const Config &config) noexcept {
    windlass_error error = WINDLASS_ERROR_INIT;
    Handle *handle = nullptr;
    const windlass_status status = from(&config, &handle, &error);
    if (status != WINDLASS_OK) return Error(status, error.detail);
    return Made(handle);
}

#if WINDLASS_HAS_EXCEPTIONS
template <class Config, class Handle>
Handle *made(windlass_status (*from)(const Config *, Handle **, windlass_error *), const Config &config) {
    windlass_error error = WINDLASS_ERROR_INIT;
    Handle *handle = nullptr;
    const windlass_status status = from(&config, &handle, &error);
    if (status != WINDLASS_OK) throw Exception(Error(status, error.detail));
    return handle;
}
#endif

// A call that explains what was wrong.
template <class... Parameters, class... Arguments>
Error explained(windlass_status (*call)(Parameters...), Arguments... arguments) noexcept {
    windlass_error error = WINDLASS_ERROR_INIT;
    const windlass_status status = call(arguments..., &error);
    return Error(status, status == WINDLASS_OK ? "" : error.detail);
}

inline Count count(std::int64_t number) noexcept {
    return number < 0 ? Count(static_cast<windlass_status>(number), 0) : Count(WINDLASS_OK, static_cast<std::uint64_t>(number));
}

// An optional array of a batch of n: none, or n long.
template <class T>
constexpr bool fits(View<T> array, std::size_t n) noexcept {
    return array.empty() || array.size() == n;
}

template <class Stats, class Handle>
Result<Stats> stats(windlass_status (*from)(const Handle *, Stats *, std::uint32_t), const Handle *handle) noexcept {
    Stats stats{};
    const windlass_status status = from(handle, &stats, sizeof stats);
    return Result<Stats>(status, stats);
}

// The three forms of a call with a key. (What is behind the key is the same for all.)
template <auto OfBytes, auto OfHash, auto OfNumber>
struct Single {
    template <class Handle, class... Rest>
    static auto call(Handle *handle, Bytes key, Rest... rest) noexcept {
        return OfBytes(handle, key.data(), key.size(), rest...);
    }
    template <class Handle, class... Rest>
    static auto call(Handle *handle, Hash key, Rest... rest) noexcept {
        return OfHash(handle, key, rest...);
    }
    template <class Handle, class... Rest>
    static auto call(Handle *handle, std::uint64_t key, Rest... rest) noexcept {
        return OfNumber(handle, key, rest...);
    }
};

// The four forms of a call with the keys of a batch.
template <auto OfPacked, auto OfFixed, auto OfHashes, auto OfNumbers>
struct Batch {
    template <class Handle, class... Rest>
    static auto call(Handle *handle, const Packed &keys, Rest... rest) noexcept {
        return OfPacked(handle, keys.bytes(), keys.bytes_len(), keys.offsets(), keys.size(), rest...);
    }
    template <class Handle, class... Rest>
    static auto call(Handle *handle, Fixed keys, Rest... rest) noexcept {
        return OfFixed(handle, keys.data(), keys.key_len, keys.stride, keys.count, rest...);
    }
    template <class Handle, class... Rest>
    static auto call(Handle *handle, View<const Hash> keys, Rest... rest) noexcept {
        return OfHashes(handle, keys.data(), keys.size(), rest...);
    }
    template <class Handle, class... Rest>
    static auto call(Handle *handle, View<const std::uint64_t> keys, Rest... rest) noexcept {
        return OfNumbers(handle, keys.data(), keys.size(), rest...);
    }
};

// Whether it has write(text, n), as a std::ostream, or read(text, n) and gcount(), as a std::istream.
template <class To, class = void>
struct IsOutput : std::false_type {};
template <class To>
struct IsOutput<To, std::void_t<decltype(std::declval<To &>().write(std::declval<const char *>(), 1))>> : std::true_type {};
template <class From, class = void>
struct IsInput : std::false_type {};
template <class From>
struct IsInput<From, std::void_t<decltype(std::declval<From &>().read(std::declval<char *>(), 1).gcount())>> : std::true_type {};

// Calls what is not to throw through the library. False: it has failed, or thrown, which comes again when the library has returned.
class Guarded {
public:
    template <class Call>
    bool call(Call call) noexcept {
#if WINDLASS_HAS_EXCEPTIONS
        try {
            return call();
        } catch (...) {
            thrown_ = std::current_exception();
            return false;
        }
#else
        return call();
#endif
    }
    void again() const {
#if WINDLASS_HAS_EXCEPTIONS
        if (thrown_) std::rethrow_exception(thrown_);
#endif
    }

#if WINDLASS_HAS_EXCEPTIONS
private:
    std::exception_ptr thrown_;
#endif
};

// Where a snapshot goes: behind what a std::string has, to a stream, or to a function bool(std::string_view).
template <class To>
class Output : public Guarded {
public:
    explicit Output(To &to) noexcept : to_(to) {}

    // A windlass_write_fn.
    static std::int32_t write(void *context, const std::uint8_t *bytes, std::size_t len) noexcept {
        Output &it = *static_cast<Output *>(context);
        const std::string_view text(reinterpret_cast<const char *>(bytes), len);
        return it.call([&]() -> bool {
            if constexpr (std::is_same_v<To, std::string>) {
                it.to_.append(text);
                return true;
            } else if constexpr (IsOutput<To>::value) {
                return static_cast<bool>(it.to_.write(text.data(), static_cast<std::ptrdiff_t>(text.size())));
            } else {
                return it.to_(text);
            }
        })
                   ? 0
                   : 1;
    }

private:
    To &to_;
};

// Where a snapshot comes from: bytes, a stream, or a function std::int64_t(char *, std::size_t) as windlass_read_fn.
template <class From>
class Input : public Guarded {
public:
    explicit Input(From &from) noexcept : from_(from) {
        if constexpr (of_bytes) rest_ = Bytes(from);
    }

    // A windlass_read_fn.
    static std::int64_t read(void *context, std::uint8_t *bytes, std::size_t capacity) noexcept {
        Input &it = *static_cast<Input *>(context);
        char *const text = reinterpret_cast<char *>(bytes);
        std::int64_t got = -1;
        const bool fine = it.call([&] {
            if constexpr (of_bytes) {
                const std::size_t len = it.rest_.size() < capacity ? it.rest_.size() : capacity;
                if (len > 0) std::memcpy(text, it.rest_.data(), len);
                it.rest_ = Bytes(it.rest_.data() + len, it.rest_.size() - len);
                got = static_cast<std::int64_t>(len);
            } else if constexpr (IsInput<From>::value) {
                it.from_.read(text, static_cast<std::ptrdiff_t>(capacity));
                got = it.from_.bad() ? -1 : static_cast<std::int64_t>(it.from_.gcount());
            } else {
                got = it.from_(text, capacity);
            }
            return true;
        });
        return fine ? got : -1;
    }

private:
    static constexpr bool of_bytes = std::is_convertible_v<const From &, Bytes>;

    From &from_;
    Bytes rest_;
};

// Writes a snapshot: ask does, of what it is given.
template <class To, class Ask>
Error written(To &to, Ask ask) {
    Output<To> output(to);
    windlass_error error = WINDLASS_ERROR_INIT;
    std::size_t before = 0;
    if constexpr (std::is_same_v<To, std::string>) before = to.size();
    const windlass_status status = ask(Output<To>::write, static_cast<void *>(&output), &error);
    if (status == WINDLASS_OK) return Error(status);
    if constexpr (std::is_same_v<To, std::string>) to.resize(before);
    output.again();
    return Error(status, error.detail);
}

} // namespace detail

// What was restored, and what it goes on from.
template <class Structure>
struct Restored {
    Structure structure;
    // The tick of now: that of the snapshot, and the time that has passed since by the system's clock. Ticks count from the same origin as
    // before: whoever has a clock that began anew adds what is missing.
    std::uint64_t resumed;
    // The time since the snapshot; 0 if the system's clock went back.
    std::chrono::nanoseconds elapsed;
    // Entries that were restored: all that the snapshot has.
    std::uint64_t entries;
};

namespace detail {

// Restores one: ask does, of what it is given.
template <class Made, class Handle, class From, class Ask>
Expected<Restored<Made>> restored_by(From &from, Ask ask) {
    Input<From> input(from);
    windlass_error error = WINDLASS_ERROR_INIT;
    windlass_restored restored{};
    restored.struct_size = sizeof restored;
    Handle *handle = nullptr;
    const windlass_status status = ask(Input<From>::read, static_cast<void *>(&input), &handle, &restored, &error);
    if (status == WINDLASS_OK) return Restored<Made>{Made(handle), restored.resumed, span(restored.elapsed_ns), restored.entries};
    input.again();
    return Error(status, error.detail);
}

template <class Made, class Config, class Handle, class From>
Expected<Restored<Made>> restored(windlass_status (*by)(const Config *, std::uint64_t, windlass_read_fn, void *, Handle **,
                                                        windlass_restored *, windlass_error *),
                                  const Config &config, From &from, Ticks wall) {
    return restored_by<Made, Handle>(from, [&](auto... input) { return by(&config, wall.count(), input...); });
}

} // namespace detail

// --- settings ---

enum class Unit : std::uint32_t { ns = WINDLASS_UNIT_NS, events = WINDLASS_UNIT_EVENTS };
enum class Refresh : std::uint32_t { never = WINDLASS_REFRESH_NEVER, on_duplicate = WINDLASS_REFRESH_ON_DUPLICATE };
enum class OnFull : std::uint32_t { reject = WINDLASS_ON_FULL_REJECT, evict_oldest = WINDLASS_ON_FULL_EVICT_OLDEST };
enum class Identity : std::uint32_t { hash = WINDLASS_IDENTITY_HASH, bytes = WINDLASS_IDENTITY_BYTES };
enum class Layout : std::uint32_t {
    automatic = WINDLASS_LAYOUT_AUTO,
    rows_1 = WINDLASS_LAYOUT_ROWS_1,
    rows_2 = WINDLASS_LAYOUT_ROWS_2,
    rows_3 = WINDLASS_LAYOUT_ROWS_3,
    rows_4 = WINDLASS_LAYOUT_ROWS_4,
    blocks_128 = WINDLASS_LAYOUT_BLOCKS_128,
    blocks_256 = WINDLASS_LAYOUT_BLOCKS_256,
    blocks_512 = WINDLASS_LAYOUT_BLOCKS_512,
    arrays = WINDLASS_LAYOUT_ARRAYS,
    seeded_arrays = WINDLASS_LAYOUT_SEEDED_ARRAYS
};
enum class Rotation : std::uint32_t {
    by_calls = WINDLASS_ROTATION_BY_CALLS,
    hybrid = WINDLASS_ROTATION_HYBRID,
    scheduled = WINDLASS_ROTATION_SCHEDULED
};
enum class Algorithm : std::uint32_t {
    gcra = WINDLASS_ALGORITHM_GCRA,
    token_bucket = WINDLASS_ALGORITHM_TOKEN_BUCKET,
    leaky_queue = WINDLASS_ALGORITHM_LEAKY_QUEUE,
    fixed_window = WINDLASS_ALGORITHM_FIXED_WINDOW,
    sliding_counter = WINDLASS_ALGORITHM_SLIDING_COUNTER,
    sliding_log = WINDLASS_ALGORITHM_SLIDING_LOG
};
enum class OnUnknown : std::uint32_t {
    deny = WINDLASS_ON_UNKNOWN_DENY,
    allow = WINDLASS_ON_UNKNOWN_ALLOW,
    share = WINDLASS_ON_UNKNOWN_SHARE
};
enum class Inherit : std::uint32_t { as_is = WINDLASS_INHERIT_AS_IS, proportional = WINDLASS_INHERIT_PROPORTIONAL };
enum class Keys : std::uint32_t { split = WINDLASS_KEYS_SPLIT, shared = WINDLASS_KEYS_SHARED };
enum class OnPresent : std::uint32_t { keep = WINDLASS_ON_PRESENT_KEEP, move = WINDLASS_ON_PRESENT_MOVE };

// Settings of a Dedup. Each setting returns the settings, to set the next; those of windlass_dedup_config say what they mean.
class DedupConfig {
public:
    DedupConfig() noexcept { (void)windlass_dedup_config_init(&raw, sizeof raw); }
    DedupConfig &window(Ticks value) noexcept {
        raw.window = value.count();
        return *this;
    }
    DedupConfig &lateness(Ticks value) noexcept {
        raw.lateness = value.count();
        return *this;
    }
    DedupConfig &max_jump(Ticks value) noexcept {
        raw.max_jump = value.count();
        return *this;
    }
    DedupConfig &capacity(std::uint64_t value) noexcept {
        raw.capacity = value;
        return *this;
    }
    DedupConfig &max_memory(std::uint64_t value) noexcept {
        raw.max_memory = value;
        return *this;
    }
    DedupConfig &seed(std::uint64_t value) noexcept {
        raw.seed = value;
        return *this;
    }
    DedupConfig &unit(Unit value) noexcept {
        raw.unit = static_cast<std::uint32_t>(value);
        return *this;
    }
    DedupConfig &refresh(Refresh value) noexcept {
        raw.refresh = static_cast<std::uint32_t>(value);
        return *this;
    }
    DedupConfig &on_full(OnFull value) noexcept {
        raw.on_full = static_cast<std::uint32_t>(value);
        return *this;
    }
    DedupConfig &identity(Identity value) noexcept {
        raw.identity = static_cast<std::uint32_t>(value);
        return *this;
    }
    // Bytes that it will take, before it is made; or what is wrong with the settings.
    Expected<std::uint64_t> memory_bytes() const noexcept {
        windlass_error error = WINDLASS_ERROR_INIT;
        const std::int64_t bytes = windlass_dedup_config_memory_bytes(&raw, &error);
        if (bytes < 0) return Error(static_cast<windlass_status>(bytes), error.detail);
        return static_cast<std::uint64_t>(bytes);
    }

    windlass_dedup_config raw;
};

// Settings of a Bloom. Each setting returns the settings, to set the next; those of windlass_bloom_config say what they mean.
class BloomConfig {
public:
    BloomConfig() noexcept { (void)windlass_bloom_config_init(&raw, sizeof raw); }
    BloomConfig &window(Ticks value) noexcept {
        raw.window = value.count();
        return *this;
    }
    BloomConfig &lateness(Ticks value) noexcept {
        raw.lateness = value.count();
        return *this;
    }
    BloomConfig &max_jump(Ticks value) noexcept {
        raw.max_jump = value.count();
        return *this;
    }
    BloomConfig &expected_ids(std::uint64_t value) noexcept {
        raw.expected_ids = value;
        return *this;
    }
    BloomConfig &error(double value) noexcept {
        raw.error = value;
        return *this;
    }
    BloomConfig &pane(Ticks value) noexcept {
        raw.pane = value.count();
        return *this;
    }
    BloomConfig &bits(std::uint64_t value) noexcept {
        raw.bits = value;
        return *this;
    }
    BloomConfig &seed(std::uint64_t value) noexcept {
        raw.seed = value;
        return *this;
    }
    BloomConfig &panes(std::uint32_t value) noexcept {
        raw.panes = value;
        return *this;
    }
    BloomConfig &layout(Layout value) noexcept {
        raw.layout = static_cast<std::uint32_t>(value);
        return *this;
    }
    BloomConfig &probes(std::uint32_t value) noexcept {
        raw.probes = value;
        return *this;
    }
    BloomConfig &rotation(Rotation value) noexcept {
        raw.rotation = static_cast<std::uint32_t>(value);
        return *this;
    }
    BloomConfig &unit(Unit value) noexcept {
        raw.unit = static_cast<std::uint32_t>(value);
        return *this;
    }
    // What it would be built as; or what is wrong with the settings.
    Expected<windlass_bloom_plan> plan() const noexcept {
        windlass_error error = WINDLASS_ERROR_INIT;
        windlass_bloom_plan plan{};
        const windlass_status status = windlass_bloom_config_plan(&raw, &plan, sizeof plan, &error);
        if (status != WINDLASS_OK) return Error(status, error.detail);
        return plan;
    }

    windlass_bloom_config raw;
};

// Settings of a Limiter or a GlobalLimiter. Each setting returns the settings, to set the next; those of windlass_limiter_config say what they mean.
class LimiterConfig {
public:
    LimiterConfig() noexcept { (void)windlass_limiter_config_init(&raw, sizeof raw); }
    LimiterConfig &permits(std::uint64_t value) noexcept {
        raw.permits = value;
        return *this;
    }
    LimiterConfig &per(Ticks value) noexcept {
        raw.per_ns = value.count();
        return *this;
    }
    LimiterConfig &burst(std::uint64_t value) noexcept {
        raw.burst = value;
        return *this;
    }
    LimiterConfig &lateness(Ticks value) noexcept {
        raw.lateness_ns = value.count();
        return *this;
    }
    LimiterConfig &max_jump(Ticks value) noexcept {
        raw.max_jump_ns = value.count();
        return *this;
    }
    LimiterConfig &clients(std::uint64_t value) noexcept {
        raw.clients = value;
        return *this;
    }
    LimiterConfig &max_memory(std::uint64_t value) noexcept {
        raw.max_memory = value;
        return *this;
    }
    LimiterConfig &seed(std::uint64_t value) noexcept {
        raw.seed = value;
        return *this;
    }
    LimiterConfig &algorithm(Algorithm value) noexcept {
        raw.algorithm = static_cast<std::uint32_t>(value);
        return *this;
    }
    LimiterConfig &on_unknown(OnUnknown value) noexcept {
        raw.on_unknown = static_cast<std::uint32_t>(value);
        return *this;
    }
    // With OnUnknown::share: how many cells such clients share.
    LimiterConfig &shared_cells(std::uint64_t value) noexcept {
        raw.shared_cells = value;
        return *this;
    }
    // Permits, time and burst by a text: "10/s burst 20". What is wrong with it: WINDLASS_OK if nothing is.
    Error quota(std::string_view text) noexcept {
        windlass_error error = WINDLASS_ERROR_INIT;
        const windlass_status status = windlass_limiter_config_quota(&raw, text.data(), text.size(), &error);
        return Error(status, status == WINDLASS_OK ? "" : error.detail);
    }
    // Bytes that it will take, before it is made; or what is wrong with the settings.
    Expected<std::uint64_t> memory_bytes() const noexcept {
        windlass_error error = WINDLASS_ERROR_INIT;
        const std::int64_t bytes = windlass_limiter_config_memory_bytes(&raw, &error);
        if (bytes < 0) return Error(static_cast<windlass_status>(bytes), error.detail);
        return static_cast<std::uint64_t>(bytes);
    }

    windlass_limiter_config raw;
};

// So many permits in so long, and how many at once after a rest: without that as many as permits.
class Quota {
public:
    constexpr Quota(std::uint64_t permits, Ticks per, std::uint64_t burst = 0) noexcept : raw{permits, per.count(), burst} {}

    windlass_quota raw;
};

// One limit of a LimitSet: so many permits in so long. windlass_limit_rule says what the settings mean.
class LimitRule {
public:
    LimitRule(std::string name, std::uint64_t permits, Ticks per) : name_(std::move(name)) {
        raw.permits = permits;
        raw.per_ns = per.count();
    }
    LimitRule &burst(std::uint64_t value) noexcept {
        raw.burst = value;
        return *this;
    }
    // For each client, of which so many are known at a time. Without it: for all.
    LimitRule &clients(std::uint64_t value) noexcept {
        raw.clients = value;
        return *this;
    }
    LimitRule &algorithm(Algorithm value) noexcept {
        raw.algorithm = static_cast<std::uint32_t>(value);
        return *this;
    }
    LimitRule &on_unknown(OnUnknown value) noexcept {
        raw.on_unknown = static_cast<std::uint32_t>(value);
        return *this;
    }
    const std::string &name() const noexcept { return name_; }

    // Without the name.
    windlass_limit_rule raw{};

private:
    std::string name_;
};

// Settings of a LimitSet. Each setting returns the settings, to set the next; those of windlass_limitset_config say what they mean.
class LimitSetConfig {
public:
    LimitSetConfig() noexcept { (void)windlass_limitset_config_init(&raw, sizeof raw); }
    // One more limit, in their order.
    LimitSetConfig &limit(LimitRule rule) {
        limits.push_back(std::move(rule));
        return *this;
    }
    LimitSetConfig &reservations(std::uint64_t value) noexcept {
        raw.reservations = value;
        return *this;
    }
    LimitSetConfig &lateness(Ticks value) noexcept {
        raw.lateness_ns = value.count();
        return *this;
    }
    LimitSetConfig &seed(std::uint64_t value) noexcept {
        raw.seed = value;
        return *this;
    }
    // The hash of a client's key, as the set's calls take it.
    template <class Key>
    Hash hash(const Key &key) const noexcept {
        return windlass::hash(key, raw.seed);
    }

    windlass_limitset_config raw;
    std::vector<LimitRule> limits;
};

// Settings of a Counter. Each setting returns the settings, to set the next; those of windlass_counter_config say what they mean.
class CounterConfig {
public:
    CounterConfig() noexcept { (void)windlass_counter_config_init(&raw, sizeof raw); }
    CounterConfig &window(Ticks value) noexcept {
        raw.window = value.count();
        return *this;
    }
    CounterConfig &pane(Ticks value) noexcept {
        raw.pane = value.count();
        return *this;
    }
    CounterConfig &lateness(Ticks value) noexcept {
        raw.lateness = value.count();
        return *this;
    }
    CounterConfig &max_jump(Ticks value) noexcept {
        raw.max_jump = value.count();
        return *this;
    }
    CounterConfig &capacity(std::uint64_t value) noexcept {
        raw.capacity = value;
        return *this;
    }
    CounterConfig &max_memory(std::uint64_t value) noexcept {
        raw.max_memory = value;
        return *this;
    }
    CounterConfig &seed(std::uint64_t value) noexcept {
        raw.seed = value;
        return *this;
    }
    CounterConfig &unit(Unit value) noexcept {
        raw.unit = static_cast<std::uint32_t>(value);
        return *this;
    }
    // Bytes that it will take, before it is made; or what is wrong with the settings.
    Expected<std::uint64_t> memory_bytes() const noexcept {
        windlass_error error = WINDLASS_ERROR_INIT;
        const std::int64_t bytes = windlass_counter_config_memory_bytes(&raw, &error);
        if (bytes < 0) return Error(static_cast<windlass_status>(bytes), error.detail);
        return static_cast<std::uint64_t>(bytes);
    }

    windlass_counter_config raw;
};

// Settings of a TopK. Each setting returns the settings, to set the next; those of windlass_topk_config say what they mean.
class TopKConfig {
public:
    TopKConfig() noexcept { (void)windlass_topk_config_init(&raw, sizeof raw); }
    TopKConfig &window(Ticks value) noexcept {
        raw.window = value.count();
        return *this;
    }
    TopKConfig &pane(Ticks value) noexcept {
        raw.pane = value.count();
        return *this;
    }
    TopKConfig &lateness(Ticks value) noexcept {
        raw.lateness = value.count();
        return *this;
    }
    TopKConfig &k(std::uint64_t value) noexcept {
        raw.k = value;
        return *this;
    }
    TopKConfig &max_jump(Ticks value) noexcept {
        raw.max_jump = value.count();
        return *this;
    }
    TopKConfig &capacity(std::uint64_t value) noexcept {
        raw.capacity = value;
        return *this;
    }
    TopKConfig &max_memory(std::uint64_t value) noexcept {
        raw.max_memory = value;
        return *this;
    }
    TopKConfig &refresh_every(Ticks value) noexcept {
        raw.refresh_every = value.count();
        return *this;
    }
    TopKConfig &seed(std::uint64_t value) noexcept {
        raw.seed = value;
        return *this;
    }
    TopKConfig &unit(Unit value) noexcept {
        raw.unit = static_cast<std::uint32_t>(value);
        return *this;
    }
    // Bytes that it will take, before it is made; or what is wrong with the settings.
    Expected<std::uint64_t> memory_bytes() const noexcept {
        windlass_error error = WINDLASS_ERROR_INIT;
        const std::int64_t bytes = windlass_topk_config_memory_bytes(&raw, &error);
        if (bytes < 0) return Error(static_cast<windlass_status>(bytes), error.detail);
        return static_cast<std::uint64_t>(bytes);
    }

    windlass_topk_config raw;
};

// Settings of a BoundedTopK. Each setting returns the settings, to set the next; those of windlass_bounded_topk_config say what they mean.
class BoundedTopKConfig {
public:
    BoundedTopKConfig() noexcept { (void)windlass_bounded_topk_config_init(&raw, sizeof raw); }
    BoundedTopKConfig &window(Ticks value) noexcept {
        raw.window = value.count();
        return *this;
    }
    BoundedTopKConfig &pane(Ticks value) noexcept {
        raw.pane = value.count();
        return *this;
    }
    BoundedTopKConfig &lateness(Ticks value) noexcept {
        raw.lateness = value.count();
        return *this;
    }
    BoundedTopKConfig &k(std::uint64_t value) noexcept {
        raw.k = value;
        return *this;
    }
    BoundedTopKConfig &max_jump(Ticks value) noexcept {
        raw.max_jump = value.count();
        return *this;
    }
    BoundedTopKConfig &memory(std::uint64_t value) noexcept {
        raw.memory = value;
        return *this;
    }
    BoundedTopKConfig &key_bytes(std::uint64_t value) noexcept {
        raw.key_bytes = value;
        return *this;
    }
    BoundedTopKConfig &refresh_every(Ticks value) noexcept {
        raw.refresh_every = value.count();
        return *this;
    }
    BoundedTopKConfig &seed(std::uint64_t value) noexcept {
        raw.seed = value;
        return *this;
    }
    BoundedTopKConfig &unit(Unit value) noexcept {
        raw.unit = static_cast<std::uint32_t>(value);
        return *this;
    }

    windlass_bounded_topk_config raw;
};

// Settings of a Fifo. Each setting returns the settings, to set the next; those of windlass_fifo_config say what they mean.
class FifoConfig {
public:
    FifoConfig() noexcept { (void)windlass_fifo_config_init(&raw, sizeof raw); }
    FifoConfig &capacity(std::uint64_t value) noexcept {
        raw.capacity = value;
        return *this;
    }
    FifoConfig &max_memory(std::uint64_t value) noexcept {
        raw.max_memory = value;
        return *this;
    }
    FifoConfig &seed(std::uint64_t value) noexcept {
        raw.seed = value;
        return *this;
    }
    FifoConfig &on_present(OnPresent value) noexcept {
        raw.on_present = static_cast<std::uint32_t>(value);
        return *this;
    }
    // Bytes that it will take, before it is made; or what is wrong with the settings.
    Expected<std::uint64_t> memory_bytes() const noexcept {
        windlass_error error = WINDLASS_ERROR_INIT;
        const std::int64_t bytes = windlass_fifo_config_memory_bytes(&raw, &error);
        if (bytes < 0) return Error(static_cast<windlass_status>(bytes), error.detail);
        return static_cast<std::uint64_t>(bytes);
    }

    windlass_fifo_config raw;
};

// Settings of a Ring. Each setting returns the settings, to set the next; those of windlass_ring_config say what they mean.
class RingConfig {
public:
    RingConfig() noexcept { (void)windlass_ring_config_init(&raw, sizeof raw); }
    RingConfig &seed(std::uint64_t value) noexcept {
        raw.seed = value;
        return *this;
    }
    RingConfig &vnodes(std::uint32_t value) noexcept {
        raw.vnodes = value;
        return *this;
    }

    windlass_ring_config raw;
};

// --- structures ---

// Admits each id once per window, exactly.
class Dedup : public detail::Owner<windlass_dedup, windlass_dedup_free> {
public:
    using Owner::Owner;
#if WINDLASS_HAS_EXCEPTIONS
    // Throws an Exception if the settings are wrong, or the memory cannot be had.
    explicit Dedup(const DedupConfig &config) : Owner(detail::made(windlass_dedup_new, config.raw)) {}
#endif
    static Expected<Dedup> make(const DedupConfig &config) noexcept { return detail::make<Dedup>(windlass_dedup_new, config.raw); }

    // Is the id new within the window?
    template <class Key>
    Verdict observe(const Key &key, Ticks now) noexcept {
        return Verdict(detail::Single<windlass_dedup_observe, windlass_dedup_observe_hash, windlass_dedup_observe_u64>::call(handle_, key,
                                                                                                                             now.count()));
    }

    // Would an observation find a duplicate?
    template <class Key>
    YesNo contains(const Key &key, Ticks now) const noexcept {
        return YesNo(detail::Single<windlass_dedup_contains, windlass_dedup_contains_hash, windlass_dedup_contains_u64>::call(handle_, key,
                                                                                                                              now.count()));
    }

    // Yes: it was there.
    template <class Key>
    YesNo forget(const Key &key, Ticks now) noexcept {
        return YesNo(
            detail::Single<windlass_dedup_forget, windlass_dedup_forget_hash, windlass_dedup_forget_u64>::call(handle_, key, now.count()));
    }

    // Observes the ids of a batch, at the times ticks, or all at now if there are none. How many are fresh. verdicts, if there is room, gets
    // what observe would return for each.
    template <class Many>
    Count observe_all(const Many &keys, Ticks now, View<std::int8_t> verdicts = {}, View<const std::uint64_t> ticks = {}) noexcept {
        if (!detail::fits(verdicts, std::size(keys)) || !detail::fits(ticks, std::size(keys))) return Count(WINDLASS_E_RANGE, 0);
        return detail::count(detail::Batch<windlass_dedup_observe_packed, windlass_dedup_observe_fixed, windlass_dedup_observe_hashes,
                                           windlass_dedup_observe_u64s>::call(handle_, keys, now.count(), ticks.data(), verdicts.data()));
    }

    // Claims an id for lease ticks; then commit or abort the ticket.
    template <class Key>
    Claim claim(const Key &key, Ticks now, Ticks lease) noexcept {
        Ticket ticket{};
        std::uint64_t when = 0;
        const std::int32_t code = detail::Single<windlass_dedup_claim, windlass_dedup_claim_hash, windlass_dedup_claim_u64>::call(
            handle_, key, now.count(), lease.count(), &ticket, &when);
        return Claim(code, ticket, when);
    }

    // Yes: the id is admitted by this ticket. No: the claim had been lost.
    YesNo commit(const Ticket &ticket) noexcept { return YesNo(windlass_dedup_commit(handle_, &ticket)); }
    // Yes: given up. No: the claim had been lost or committed.
    YesNo abort(const Ticket &ticket) noexcept { return YesNo(windlass_dedup_abort(handle_, &ticket)); }
    // Forgets all ids.
    windlass_status reset() noexcept { return windlass_dedup_reset(handle_); }

    Result<windlass_dedup_stats> stats() const noexcept { return detail::stats(windlass_dedup_get_stats, handle_); }

    Count memory_bytes() const noexcept { return detail::count(windlass_dedup_memory_bytes(handle_)); }

    Result<std::uint64_t> seed() const noexcept {
        std::uint64_t seed = 0;
        const windlass_status status = windlass_dedup_seed(handle_, &seed);
        return Result<std::uint64_t>(status, seed);
    }

    // Upkeep. Yes: there is more that can be done now.
    YesNo maintain(Ticks now, std::size_t budget) noexcept { return YesNo(windlass_dedup_maintain(handle_, now.count(), budget)); }

    // Writes a snapshot of all ids and claims, for restore: to a std::string (behind what it has), a stream with write as a std::ostream, or a function
    // bool(std::string_view) that is called with the next bytes until it returns false. What it throws comes through. What was wrong:
    // WINDLASS_OK if nothing was.
    template <class To>
    Error snapshot(To &&to, Ticks now, Ticks wall = wall_now()) const {
        return detail::written(to, [&](auto... output) { return windlass_dedup_snapshot(handle_, now.count(), wall.count(), output...); });
    }

    // Makes one of what snapshot has written: from its bytes, a stream with read and gcount as a std::istream, or a function
    // std::int64_t(char *, std::size_t) as windlass_read_fn. What it throws comes through.
    template <class From>
    static Expected<Restored<Dedup>> restore(const DedupConfig &config, From &&from, Ticks wall = wall_now()) {
        return detail::restored<Dedup>(windlass_dedup_restore, config.raw, from, wall);
    }
};

// Remembers the ids of a window in fixed memory: misses none, and takes a stated share of new ones for seen.
class Bloom : public detail::Owner<windlass_bloom, windlass_bloom_free> {
public:
    using Owner::Owner;
#if WINDLASS_HAS_EXCEPTIONS
    // Throws an Exception if the settings are wrong, or the memory cannot be had.
    explicit Bloom(const BloomConfig &config) : Owner(detail::made(windlass_bloom_new, config.raw)) {}
#endif
    static Expected<Bloom> make(const BloomConfig &config) noexcept { return detail::make<Bloom>(windlass_bloom_new, config.raw); }

    // Puts an id in; any arrival starts its window anew. Yes: it was seen before.
    template <class Key>
    YesNo insert(const Key &key, Ticks now) noexcept {
        return YesNo(
            detail::Single<windlass_bloom_insert, windlass_bloom_insert_hash, windlass_bloom_insert_u64>::call(handle_, key, now.count()));
    }

    // Puts an id in if it was not seen.
    template <class Key>
    Verdict observe(const Key &key, Ticks now) noexcept {
        return Verdict(detail::Single<windlass_bloom_observe, windlass_bloom_observe_hash, windlass_bloom_observe_u64>::call(handle_, key,
                                                                                                                             now.count()));
    }

    // Yes: it was seen.
    template <class Key>
    YesNo contains(const Key &key, Ticks now) const noexcept {
        return YesNo(detail::Single<windlass_bloom_contains, windlass_bloom_contains_hash, windlass_bloom_contains_u64>::call(handle_, key,
                                                                                                                              now.count()));
    }

    // The same as insert for a batch, at the times ticks, or all at now if there are none. How many were not seen before. answers, if there
    // is room, gets the answer for each: 0 or 1.
    template <class Many>
    Count insert_all(const Many &keys, Ticks now, View<std::int8_t> answers = {}, View<const std::uint64_t> ticks = {}) noexcept {
        if (!detail::fits(answers, std::size(keys)) || !detail::fits(ticks, std::size(keys))) return Count(WINDLASS_E_RANGE, 0);
        return detail::count(detail::Batch<windlass_bloom_insert_packed, windlass_bloom_insert_fixed, windlass_bloom_insert_hashes,
                                           windlass_bloom_insert_u64s>::call(handle_, keys, now.count(), ticks.data(), answers.data()));
    }

    // The same as observe for a batch, at the times ticks, or all at now if there are none. How many were not seen before. answers, if there
    // is room, gets the answer for each: 0 or 1.
    template <class Many>
    Count observe_all(const Many &keys, Ticks now, View<std::int8_t> answers = {}, View<const std::uint64_t> ticks = {}) noexcept {
        if (!detail::fits(answers, std::size(keys)) || !detail::fits(ticks, std::size(keys))) return Count(WINDLASS_E_RANGE, 0);
        return detail::count(detail::Batch<windlass_bloom_observe_packed, windlass_bloom_observe_fixed, windlass_bloom_observe_hashes,
                                           windlass_bloom_observe_u64s>::call(handle_, keys, now.count(), ticks.data(), answers.data()));
    }

    // The same as contains for a batch, at the times ticks, or all at now if there are none. How many were not seen before. answers, if there
    // is room, gets the answer for each: 0 or 1.
    template <class Many>
    Count contains_all(const Many &keys, Ticks now, View<std::int8_t> answers = {}, View<const std::uint64_t> ticks = {}) const noexcept {
        if (!detail::fits(answers, std::size(keys)) || !detail::fits(ticks, std::size(keys))) return Count(WINDLASS_E_RANGE, 0);
        return detail::count(detail::Batch<windlass_bloom_contains_packed, windlass_bloom_contains_fixed, windlass_bloom_contains_hashes,
                                           windlass_bloom_contains_u64s>::call(handle_, keys, now.count(), ticks.data(), answers.data()));
    }

    Result<windlass_bloom_plan> plan() const noexcept { return detail::stats(windlass_bloom_get_plan, handle_); }

    // The figures, and the live panes as far as panes has room (live_panes tells how many there are).
    Result<windlass_bloom_stats> stats(View<windlass_bloom_pane> panes = {}) const noexcept {
        windlass_bloom_stats stats{};
        const windlass_status status = windlass_bloom_get_stats(handle_, &stats, sizeof stats, panes.data(), panes.size());
        return Result<windlass_bloom_stats>(status, stats);
    }

    Count memory_bytes() const noexcept { return detail::count(windlass_bloom_memory_bytes(handle_)); }

    Result<std::uint64_t> seed() const noexcept {
        std::uint64_t seed = 0;
        const windlass_status status = windlass_bloom_seed(handle_, &seed);
        return Result<std::uint64_t>(status, seed);
    }

    // About how many different ids are in the live panes. error, if it is not NULL, gets the standard error.
    Result<double> distinct(Ticks now, double *error = nullptr) const noexcept {
        double ids = 0;
        const windlass_status status = windlass_bloom_distinct_at(handle_, now.count(), &ids, error);
        return Result<double>(status, ids);
    }

    // Puts in what another one holds, which was made with the same settings.
    Error merge(const Bloom &other) noexcept {
        windlass_error error = WINDLASS_ERROR_INIT;
        const windlass_status status = windlass_bloom_union(handle_, other.handle_, &error);
        return Error(status, status == WINDLASS_OK ? "" : error.detail);
    }

    // The times of the panes that have an id, as far as spans has room. How many there are.
    template <class Key>
    Count panes(const Key &key, Ticks now, View<windlass_pane_span> spans) const noexcept {
        return detail::count(detail::Single<windlass_bloom_panes_at, windlass_bloom_panes_at_hash, windlass_bloom_panes_at_u64>::call(
            handle_, key, now.count(), spans.data(), spans.size()));
    }

    // Upkeep. Yes: there is more that can be done now.
    YesNo maintain(Ticks now, std::size_t budget) noexcept { return YesNo(windlass_bloom_maintain_at(handle_, now.count(), budget)); }

    // Moves the panes on to now, with all the clearing that takes.
    windlass_status advance(Ticks now) noexcept { return windlass_bloom_advance_to(handle_, now.count()); }

    // Writes a snapshot of what was put in, for restore: to a std::string (behind what it has), a stream with write as a std::ostream, or a function
    // bool(std::string_view) that is called with the next bytes until it returns false. What it throws comes through. What was wrong:
    // WINDLASS_OK if nothing was.
    template <class To>
    Error snapshot(To &&to, Ticks now, Ticks wall = wall_now()) const {
        return detail::written(to, [&](auto... output) { return windlass_bloom_snapshot(handle_, now.count(), wall.count(), output...); });
    }

    // Makes one of what snapshot has written: from its bytes, a stream with read and gcount as a std::istream, or a function
    // std::int64_t(char *, std::size_t) as windlass_read_fn. What it throws comes through.
    template <class From>
    static Expected<Restored<Bloom>> restore(const BloomConfig &config, From &&from, Ticks wall = wall_now()) {
        return detail::restored<Bloom>(windlass_bloom_restore, config.raw, from, wall);
    }
};

// So many permits in so long for each of many clients.
class Limiter : public detail::Owner<windlass_limiter, windlass_limiter_free> {
public:
    using Owner::Owner;
#if WINDLASS_HAS_EXCEPTIONS
    // Throws an Exception if the settings are wrong, or the memory cannot be had.
    explicit Limiter(const LimiterConfig &config) : Owner(detail::made(windlass_limiter_new, config.raw)) {}
#endif
    static Expected<Limiter> make(const LimiterConfig &config) noexcept { return detail::make<Limiter>(windlass_limiter_new, config.raw); }

    // Takes cost permits for a client, or none.
    template <class Key>
    Admission check(const Key &key, Ticks now, std::uint64_t cost = 1) noexcept {
        windlass_admission all{};
        const std::int32_t code = detail::Single<windlass_limiter_check, windlass_limiter_check_hash, windlass_limiter_check_u64>::call(
            handle_, key, cost, now.count(), &all);
        return Admission(code, all);
    }

    // What check would answer; takes nothing.
    template <class Key>
    Admission peek(const Key &key, Ticks now, std::uint64_t cost = 1) const noexcept {
        windlass_admission all{};
        const std::int32_t code = detail::Single<windlass_limiter_peek, windlass_limiter_peek_hash, windlass_limiter_peek_u64>::call(
            handle_, key, cost, now.count(), &all);
        return Admission(code, all);
    }

    // Gives a client back all that it has taken. Yes: there was something.
    template <class Key>
    YesNo forget(const Key &key, Ticks now) noexcept {
        return YesNo(detail::Single<windlass_limiter_forget, windlass_limiter_forget_hash, windlass_limiter_forget_u64>::call(handle_, key,
                                                                                                                              now.count()));
    }

    // Another quota from now on, of all clients that have none of their own. What is wrong with it: WINDLASS_OK if nothing is.
    Error set_quota(Quota quota, Inherit inherit, Ticks now) noexcept {
        return detail::explained(windlass_limiter_set_quota, handle_, quota.raw, static_cast<std::uint32_t>(inherit), now.count());
    }

    // A quota of its own for a client, or another one.
    template <class Key>
    Error set_quota_for(const Key &key, Quota quota, Inherit inherit, Ticks now) noexcept {
        using Set = detail::Single<windlass_limiter_set_quota_for, windlass_limiter_set_quota_for_hash, windlass_limiter_set_quota_for_u64>;
        windlass_error error = WINDLASS_ERROR_INIT;
        const windlass_status status = Set::call(handle_, key, quota.raw, static_cast<std::uint32_t>(inherit), now.count(), &error);
        return Error(status, status == WINDLASS_OK ? "" : error.detail);
    }

    // The quota of all counts for a client again. Yes: it had one of its own.
    template <class Key>
    YesNo clear_quota_for(const Key &key, Inherit inherit, Ticks now) noexcept {
        using Clear =
            detail::Single<windlass_limiter_clear_quota_for, windlass_limiter_clear_quota_for_hash, windlass_limiter_clear_quota_for_u64>;
        return YesNo(Clear::call(handle_, key, static_cast<std::uint32_t>(inherit), now.count()));
    }

    // Checks a batch, at the times ticks, or all at now, for costs, or 1 each, where there are none. How many are allowed. admissions, if there
    // is room, gets the answers.
    template <class Many>
    Count check_all(const Many &keys, Ticks now, View<windlass_admission> admissions = {}, View<const std::uint64_t> costs = {},
                    View<const std::uint64_t> ticks = {}) noexcept {
        if (!detail::fits(admissions, std::size(keys)) || !detail::fits(costs, std::size(keys)) || !detail::fits(ticks, std::size(keys)))
            return Count(WINDLASS_E_RANGE, 0);
        return detail::count(
            detail::Batch<windlass_limiter_check_packed, windlass_limiter_check_fixed, windlass_limiter_check_hashes,
                          windlass_limiter_check_u64s>::call(handle_, keys, costs.data(), now.count(), ticks.data(), admissions.data()));
    }

    Result<windlass_limiter_stats> stats() const noexcept { return detail::stats(windlass_limiter_get_stats, handle_); }

    Count memory_bytes() const noexcept { return detail::count(windlass_limiter_memory_bytes(handle_)); }

    Result<std::uint64_t> seed() const noexcept {
        std::uint64_t seed = 0;
        const windlass_status status = windlass_limiter_seed(handle_, &seed);
        return Result<std::uint64_t>(status, seed);
    }

    // Upkeep. Yes: there is more that can be done now.
    YesNo maintain(Ticks now, std::size_t budget) noexcept { return YesNo(windlass_limiter_maintain_at(handle_, now.count(), budget)); }

    // Writes a snapshot of what was taken and of quotas that were changed, for restore: to a std::string (behind what it has), a stream
    // with write as a std::ostream, or a function bool(std::string_view) that is called with the next bytes until it returns false. What it
    // throws comes through. What was wrong: WINDLASS_OK if nothing was.
    template <class To>
    Error snapshot(To &&to, Ticks now, Ticks wall = wall_now()) const {
        return detail::written(to,
                               [&](auto... output) { return windlass_limiter_snapshot(handle_, now.count(), wall.count(), output...); });
    }

    // Makes one of what snapshot has written: from its bytes, a stream with read and gcount as a std::istream, or a function
    // std::int64_t(char *, std::size_t) as windlass_read_fn. What it throws comes through.
    template <class From>
    static Expected<Restored<Limiter>> restore(const LimiterConfig &config, From &&from, Ticks wall = wall_now()) {
        return detail::restored<Limiter>(windlass_limiter_restore, config.raw, from, wall);
    }
};

// So many permits in so long for whoever asks.
class GlobalLimiter : public detail::Owner<windlass_global_limiter, windlass_global_limiter_free> {
public:
    using Owner::Owner;
#if WINDLASS_HAS_EXCEPTIONS
    // Throws an Exception if the settings are wrong, or the memory cannot be had.
    explicit GlobalLimiter(const LimiterConfig &config) : Owner(detail::made(windlass_global_limiter_new, config.raw)) {}
#endif
    static Expected<GlobalLimiter> make(const LimiterConfig &config) noexcept {
        return detail::make<GlobalLimiter>(windlass_global_limiter_new, config.raw);
    }

    // Takes cost permits, or none.
    Admission check(Ticks now, std::uint64_t cost = 1) noexcept {
        windlass_admission all{};
        const std::int32_t code = windlass_global_limiter_check(handle_, cost, now.count(), &all);
        return Admission(code, all);
    }

    // What check would answer; takes nothing.
    Admission peek(Ticks now, std::uint64_t cost = 1) const noexcept {
        windlass_admission all{};
        const std::int32_t code = windlass_global_limiter_peek(handle_, cost, now.count(), &all);
        return Admission(code, all);
    }

    // Gives back all that was taken. Yes: there was something.
    YesNo forget(Ticks now) noexcept { return YesNo(windlass_global_limiter_forget(handle_, now.count())); }

    // Another quota from now on. What is wrong with it: WINDLASS_OK if nothing is.
    Error set_quota(Quota quota, Inherit inherit, Ticks now) noexcept {
        return detail::explained(windlass_global_limiter_set_quota, handle_, quota.raw, static_cast<std::uint32_t>(inherit), now.count());
    }

    // Writes a snapshot of what was taken and of a quota that was changed, for restore: to a std::string (behind what it has), a stream with
    // write as a std::ostream, or a function bool(std::string_view) that is called with the next bytes until it returns false. What it throws
    // comes through. What was wrong: WINDLASS_OK if nothing was.
    template <class To>
    Error snapshot(To &&to, Ticks now, Ticks wall = wall_now()) const {
        return detail::written(
            to, [&](auto... output) { return windlass_global_limiter_snapshot(handle_, now.count(), wall.count(), output...); });
    }

    // Makes one of what snapshot has written: from its bytes, a stream with read and gcount as a std::istream, or a function
    // std::int64_t(char *, std::size_t) as windlass_read_fn. What it throws comes through.
    template <class From>
    static Expected<Restored<GlobalLimiter>> restore(const LimiterConfig &config, From &&from, Ticks wall = wall_now()) {
        return detail::restored<GlobalLimiter>(windlass_global_limiter_restore, config.raw, from, wall);
    }
};

// Several limits in one decision: by all of them, or by none.
class LimitSet : public detail::Owner<windlass_limitset, windlass_limitset_free> {
public:
    using Owner::Owner;
#if WINDLASS_HAS_EXCEPTIONS
    // Throws an Exception if the settings are wrong, or the memory cannot be had.
    explicit LimitSet(const LimitSetConfig &config) : LimitSet(make(config).value()) {}
#endif
    static Expected<LimitSet> make(const LimitSetConfig &config) {
        if (has_nul(config)) return Error(WINDLASS_E_ARG, "name: has a NUL");
        const std::vector<windlass_limit_rule> limits = rules(config);
        windlass_error error = WINDLASS_ERROR_INIT;
        windlass_limitset *handle = nullptr;
        const windlass_status status = windlass_limitset_new(&config.raw, limits.data(), limits.size(), &handle, &error);
        if (status != WINDLASS_OK) return Error(status, error.detail);
        return LimitSet(handle);
    }

    // Takes cost permits of each limit, or none at all. keys has one for each limit that is for each client, in their order.
    SetAdmission check(View<const Hash> keys, Ticks now, std::uint64_t cost = 1) noexcept {
        windlass_set_admission all{};
        const std::int32_t code = windlass_limitset_check(handle_, keys.data(), keys.size(), cost, now.count(), &all);
        return SetAdmission(code, all);
    }

    // The same for a cost that is not known yet, until the ticket is settled or cancelled, within lease.
    Reserved reserve(View<const Hash> keys, Ticks now, std::uint64_t estimate, Ticks lease) noexcept {
        windlass_set_admission all{};
        Reservation ticket{};
        const std::int32_t code =
            windlass_limitset_reserve(handle_, keys.data(), keys.size(), estimate, lease.count(), now.count(), &ticket, &all);
        return Reserved(code, all, ticket);
    }

    // Says what it was for.
    Settled settle(const Reservation &ticket, Ticks now, std::uint64_t actual) noexcept {
        std::uint64_t uncharged = 0;
        const std::int32_t code = windlass_limitset_settle(handle_, &ticket, actual, now.count(), &uncharged);
        return Settled(code, uncharged);
    }
    // Gives all of it back.
    Settled cancel(const Reservation &ticket, Ticks now) noexcept {
        return Settled(windlass_limitset_cancel(handle_, &ticket, now.count()), 0);
    }

    // Another quota from now on for the limit of this name; what was used stays used. What is wrong with it: WINDLASS_OK if nothing is.
    Error set_quota(const std::string &name, Quota quota, Ticks now) noexcept {
        if (name.find('\0') != std::string::npos) return Error(WINDLASS_E_ARG, "name: has a NUL");
        return detail::explained(windlass_limitset_set_quota, handle_, name.c_str(), quota.raw, now.count());
    }

    Result<windlass_limitset_stats> stats() const noexcept { return detail::stats(windlass_limitset_get_stats, handle_); }

    // Upkeep. Yes: there is more that can be done now.
    YesNo maintain(Ticks now, std::size_t budget) noexcept { return YesNo(windlass_limitset_maintain(handle_, now.count(), budget)); }

    // Writes a snapshot of what was taken and held, and of quotas that were changed, for restore: to a std::string (behind what it has), a stream
    // with write as a std::ostream, or a function bool(std::string_view) that is called with the next bytes until it returns false. What it
    // throws comes through. What was wrong: WINDLASS_OK if nothing was.
    template <class To>
    Error snapshot(To &&to, Ticks now, Ticks wall = wall_now()) const {
        return detail::written(to,
                               [&](auto... output) { return windlass_limitset_snapshot(handle_, now.count(), wall.count(), output...); });
    }

    // Makes one of what snapshot has written: from its bytes, a stream with read and gcount as a std::istream, or a function
    // std::int64_t(char *, std::size_t) as windlass_read_fn. What it throws comes through. The seed of config must be that of before. Tickets of
    // holds that were made before the snapshot are good for it.
    template <class From>
    static Expected<Restored<LimitSet>> restore(const LimitSetConfig &config, From &&from, Ticks wall = wall_now()) {
        if (has_nul(config)) return Error(WINDLASS_E_ARG, "name: has a NUL");
        const std::vector<windlass_limit_rule> limits = rules(config);
        return detail::restored_by<LimitSet, windlass_limitset>(from, [&](auto... input) {
            return windlass_limitset_restore(&config.raw, limits.data(), limits.size(), wall.count(), input...);
        });
    }

private:
    // C would take what stands before it for the name, and perhaps for that of another limit.
    static bool has_nul(const LimitSetConfig &config) noexcept {
        for (const LimitRule &rule : config.limits)
            if (rule.name().find('\0') != std::string::npos) return true;
        return false;
    }
    // As C has them: their names are those of config.
    static std::vector<windlass_limit_rule> rules(const LimitSetConfig &config) {
        std::vector<windlass_limit_rule> limits;
        for (const LimitRule &rule : config.limits) {
            limits.push_back(rule.raw);
            limits.back().name = rule.name().c_str();
        }
        return limits;
    }
};

namespace detail {

// What counters and lists of the hottest keys have in common. Functions are those of windlass.h.
template <class Functions>
class Adds : public Owner<typename Functions::Handle, Functions::free> {
public:
    using Owner<typename Functions::Handle, Functions::free>::Owner;

    // Counts a key so many times.
    template <class Key>
    Added add(const Key &key, Ticks now, std::uint64_t times = 1) noexcept {
        return Added(Functions::Add::call(this->handle_, key, times, now.count()));
    }

    // How often all keys were seen in the window.
    Count total(Ticks now) const noexcept {
        std::uint64_t total = 0;
        const windlass_status status = Functions::total(this->handle_, now.count(), &total);
        return Count(status, total);
    }

    // Counts a batch, at the times ticks, or all at now, each so many times, or once, where there are none. What became of them.
    template <class Many>
    Result<Tally> add_all(const Many &keys, Ticks now, View<const std::uint64_t> times = {},
                          View<const std::uint64_t> ticks = {}) noexcept {
        if (!fits(times, std::size(keys)) || !fits(ticks, std::size(keys))) return Result<Tally>(WINDLASS_E_RANGE, Tally{});
        Tally tally{};
        const windlass_status status = Functions::AddAll::call(this->handle_, keys, times.data(), now.count(), ticks.data(), &tally);
        return Result<Tally>(status, tally);
    }

    Result<typename Functions::Stats> stats() const noexcept { return detail::stats(Functions::get_stats, this->handle_); }

    // Upkeep. Yes: there is more that can be done now.
    YesNo maintain(Ticks now, std::size_t budget) noexcept { return YesNo(Functions::maintain_at(this->handle_, now.count(), budget)); }
};

struct CounterFunctions {
    using Handle = windlass_counter;
    using Stats = windlass_counter_stats;
    using Add = Single<windlass_counter_add, windlass_counter_add_hash, windlass_counter_add_u64>;
    using AddAll = Batch<windlass_counter_add_packed, windlass_counter_add_fixed, windlass_counter_add_hashes, windlass_counter_add_u64s>;
    static constexpr auto free = windlass_counter_free;
    static constexpr auto total = windlass_counter_total;
    static constexpr auto get_stats = windlass_counter_get_stats;
    static constexpr auto maintain_at = windlass_counter_maintain_at;
};

} // namespace detail

// How often each key was seen in the window, exactly.
class Counter : public detail::Adds<detail::CounterFunctions> {
public:
    using Adds::Adds;
#if WINDLASS_HAS_EXCEPTIONS
    // Throws an Exception if the settings are wrong, or the memory cannot be had.
    explicit Counter(const CounterConfig &config) : Adds(detail::made(windlass_counter_new, config.raw)) {}
#endif
    static Expected<Counter> make(const CounterConfig &config) noexcept { return detail::make<Counter>(windlass_counter_new, config.raw); }

    // How often a key was seen in the window.
    template <class Key>
    Count count(const Key &key, Ticks now) const noexcept {
        std::uint64_t count = 0;
        const windlass_status status =
            detail::Single<windlass_counter_count, windlass_counter_count_hash, windlass_counter_count_u64>::call(handle_, key, now.count(),
                                                                                                                  &count);
        return Count(status, count);
    }

    // In the complete window: without the pane that has begun.
    Count count_complete(Bytes key, Ticks now) const noexcept {
        std::uint64_t count = 0;
        const windlass_status status = windlass_counter_count_complete(handle_, key.data(), key.size(), now.count(), &count);
        return Count(status, count);
    }
    Count total_complete(Ticks now) const noexcept {
        std::uint64_t total = 0;
        const windlass_status status = windlass_counter_total_complete(handle_, now.count(), &total);
        return Count(status, total);
    }

    // The counts of many keys; counts has room for as many.
    windlass_status count_all(View<const Hash> keys, Ticks now, View<std::uint64_t> counts) const noexcept {
        if (counts.size() != keys.size()) return WINDLASS_E_RANGE;
        return windlass_counter_count_hashes(handle_, keys.data(), keys.size(), now.count(), counts.data());
    }

    // Writes a snapshot of all counts, for restore: to a std::string (behind what it has), a stream with write as a std::ostream, or a function
    // bool(std::string_view) that is called with the next bytes until it returns false. What it throws comes through. What was wrong:
    // WINDLASS_OK if nothing was.
    template <class To>
    Error snapshot(To &&to, Ticks now, Ticks wall = wall_now()) const {
        return detail::written(to,
                               [&](auto... output) { return windlass_counter_snapshot(handle_, now.count(), wall.count(), output...); });
    }

    // Makes one of what snapshot has written: from its bytes, a stream with read and gcount as a std::istream, or a function
    // std::int64_t(char *, std::size_t) as windlass_read_fn. What it throws comes through.
    template <class From>
    static Expected<Restored<Counter>> restore(const CounterConfig &config, From &&from, Ticks wall = wall_now()) {
        return detail::restored<Counter>(windlass_counter_restore, config.raw, from, wall);
    }
};

namespace detail {
struct Lists;
}

// A list of the hottest keys. Used again it asks for no memory, once it is large enough.
class TopList {
public:
    // What it says beside its rows: certified, times, total, tail.
    windlass_top_list info{};
    std::vector<windlass_top_row> rows;

    // The bytes of a row's key, as they lie here.
    std::string_view key(const windlass_top_row &row) const noexcept {
        return std::string_view(reinterpret_cast<const char *>(keys_.data()) + row.key_at, row.key_len);
    }
    // Of a row of the kind WINDLASS_KEY_U64; of others 0.
    std::uint64_t number(const windlass_top_row &row) const noexcept {
        std::uint64_t number = 0;
        if (row.kind == WINDLASS_KEY_U64 && row.key_len == sizeof number) std::memcpy(&number, keys_.data() + row.key_at, sizeof number);
        return number;
    }

private:
    friend struct detail::Lists;
    std::vector<std::uint8_t> keys_;

    // Asks until it fits: first once, then for what again gives.
    template <class First, class Again>
    windlass_status fill(First first, Again again) {
        rows.resize(rows.capacity());
        keys_.resize(keys_.capacity());
        windlass_status status = first(info, rows, keys_);
        while (status == WINDLASS_E_TOO_SMALL) {
            // (A list that comes meanwhile may be larger.)
            rows.resize(info.rows + info.rows / 4 + 8);
            keys_.resize(info.key_bytes + info.key_bytes / 4 + 64);
            status = again(info, rows, keys_);
        }
        if (status != WINDLASS_OK) info = windlass_top_list{};
        rows.resize(info.rows);
        return status;
    }
};

namespace detail {

struct Lists {
    // Fills a list with what a function of windlass.h gives; what did not fit, with what another gives.
    template <class Ask, class Again>
    static windlass_status fill(TopList &list, Ask ask, Again again) {
        const auto with = [](auto from) {
            return [from](windlass_top_list &info, std::vector<windlass_top_row> &rows, std::vector<std::uint8_t> &keys) {
                return from(&info, std::uint32_t{sizeof info}, rows.data(), rows.size(), keys.data(), keys.size());
            };
        };
        return list.fill(with(ask), with(again));
    }
    template <class Ask>
    static windlass_status fill(TopList &list, Ask ask) {
        return fill(list, ask, ask);
    }
};

struct TopKFunctions {
    using Handle = windlass_topk;
    using Stats = windlass_topk_stats;
    using Add = Single<windlass_topk_add, windlass_topk_add_hash, windlass_topk_add_u64>;
    using AddAll = Batch<windlass_topk_add_packed, windlass_topk_add_fixed, windlass_topk_add_hashes, windlass_topk_add_u64s>;
    static constexpr auto free = windlass_topk_free;
    static constexpr auto total = windlass_topk_total;
    static constexpr auto get_stats = windlass_topk_get_stats;
    static constexpr auto maintain_at = windlass_topk_maintain_at;
    static constexpr auto snapshot = windlass_topk_snapshot;
    static constexpr auto refresh = windlass_topk_refresh;
    static constexpr auto top = windlass_topk_top;
    static constexpr auto top_complete = windlass_topk_top_complete;
    static constexpr auto export_complete = windlass_topk_export_complete;
    static constexpr auto export_now = windlass_topk_export;
};

struct BoundedTopKFunctions {
    using Handle = windlass_bounded_topk;
    using Stats = windlass_bounded_topk_stats;
    using Add = Single<windlass_bounded_topk_add, windlass_bounded_topk_add_hash, windlass_bounded_topk_add_u64>;
    using AddAll = Batch<windlass_bounded_topk_add_packed, windlass_bounded_topk_add_fixed, windlass_bounded_topk_add_hashes,
                         windlass_bounded_topk_add_u64s>;
    static constexpr auto free = windlass_bounded_topk_free;
    static constexpr auto total = windlass_bounded_topk_total;
    static constexpr auto get_stats = windlass_bounded_topk_get_stats;
    static constexpr auto maintain_at = windlass_bounded_topk_maintain_at;
    static constexpr auto snapshot = windlass_bounded_topk_snapshot;
    static constexpr auto refresh = windlass_bounded_topk_refresh;
    static constexpr auto top = windlass_bounded_topk_top;
    static constexpr auto top_complete = windlass_bounded_topk_top_complete;
    static constexpr auto export_complete = windlass_bounded_topk_export_complete;
    static constexpr auto export_now = windlass_bounded_topk_export;
};

} // namespace detail

// What one structure knows of the hottest keys of a window, to be merged with what others know: of one thread while it is truncated.
class Export : public detail::Owner<windlass_export, windlass_export_free> {
public:
    using Owner::Owner;

    // From bytes that to_bytes has written, on any machine. What is none is refused.
    static Expected<Export> from_bytes(Bytes bytes) noexcept {
        windlass_error error = WINDLASS_ERROR_INIT;
        windlass_export *handle = nullptr;
        const windlass_status status = windlass_export_from_bytes(bytes.data(), bytes.size(), &handle, &error);
        if (status != WINDLASS_OK) return Error(status, error.detail);
        return Export(handle);
    }

    // As bytes, instead of what is there.
    windlass_status to_bytes(std::vector<std::uint8_t> &bytes) const {
        bytes.resize(bytes.capacity());
        std::size_t length = 0;
        windlass_status status;
        while ((status = windlass_export_to_bytes(handle_, bytes.data(), bytes.size(), &length)) == WINDLASS_E_TOO_SMALL)
            bytes.resize(length);
        bytes.resize(status == WINDLASS_OK ? length : 0);
        return status;
    }

    // All its rows.
    windlass_status list(TopList &list) const {
        return detail::Lists::fill(list, [&](auto... room) { return windlass_export_list(handle_, room...); });
    }

    Result<windlass_export_info> info() const noexcept { return detail::stats(windlass_export_get_info, handle_); }

    // Cuts it to so many rows, the hottest. No other call may be under way.
    windlass_status truncate(std::size_t rows) noexcept { return windlass_export_truncate(handle_, rows); }
};

namespace detail {

// What lists of the hottest keys have in common.
template <class Functions>
class Hot : public Adds<Functions> {
public:
    using Adds<Functions>::Adds;

    // The last list that maintain or refresh has made.
    windlass_status snapshot(TopList &list) const {
        return Lists::fill(list, [&](auto... room) { return Functions::snapshot(this->handle_, room...); });
    }

    // Makes the list anew for all to read, and gives it.
    windlass_status refresh(Ticks now, TopList &list) {
        const auto ask = [&](auto... room) { return Functions::refresh(this->handle_, now.count(), room...); };
        // It has been made: what did not fit is read.
        return Lists::fill(list, ask, [&](auto... room) { return Functions::snapshot(this->handle_, room...); });
    }

    // The list at the time now, which nobody else gets.
    windlass_status top(Ticks now, TopList &list) const {
        return Lists::fill(list, [&](auto... room) { return Functions::top(this->handle_, now.count(), room...); });
    }

    // The same of the complete window: without the pane that has begun.
    windlass_status top_complete(Ticks now, TopList &list) const {
        return Lists::fill(list, [&](auto... room) { return Functions::top_complete(this->handle_, now.count(), room...); });
    }

    // What it knows of the window, to be merged with what others know.
    Expected<Export> export_at(Ticks now) const noexcept { return exported(Functions::export_now, now); }
    // The same of the complete window.
    Expected<Export> export_complete(Ticks now) const noexcept { return exported(Functions::export_complete, now); }

private:
    template <class From>
    Expected<Export> exported(From from, Ticks now) const noexcept {
        windlass_export *handle = nullptr;
        const windlass_status status = from(this->handle_, now.count(), &handle);
        if (status != WINDLASS_OK) return Error(status);
        return Export(handle);
    }
};

} // namespace detail

// The hottest keys of the window, with their counts.
class TopK : public detail::Hot<detail::TopKFunctions> {
public:
    using Hot::Hot;
#if WINDLASS_HAS_EXCEPTIONS
    // Throws an Exception if the settings are wrong, or the memory cannot be had.
    explicit TopK(const TopKConfig &config) : Hot(detail::made(windlass_topk_new, config.raw)) {}
#endif
    static Expected<TopK> make(const TopKConfig &config) noexcept { return detail::make<TopK>(windlass_topk_new, config.raw); }

    // How often a key was seen in the window.
    template <class Key>
    Count count(const Key &key, Ticks now) const noexcept {
        std::uint64_t count = 0;
        const windlass_status status =
            detail::Single<windlass_topk_count, windlass_topk_count_hash, windlass_topk_count_u64>::call(handle_, key, now.count(), &count);
        return Count(status, count);
    }

    // Writes a snapshot of all keys and counts, for restore: to a std::string (behind what it has), a stream with write as a std::ostream, or a function
    // bool(std::string_view) that is called with the next bytes until it returns false. What it throws comes through. What was wrong:
    // WINDLASS_OK if nothing was.
    template <class To>
    Error save(To &&to, Ticks now, Ticks wall = wall_now()) const {
        return detail::written(to, [&](auto... output) { return windlass_topk_save(handle_, now.count(), wall.count(), output...); });
    }

    // Makes one of what save has written: from its bytes, a stream with read and gcount as a std::istream, or a function
    // std::int64_t(char *, std::size_t) as windlass_read_fn. What it throws comes through.
    template <class From>
    static Expected<Restored<TopK>> restore(const TopKConfig &config, From &&from, Ticks wall = wall_now()) {
        return detail::restored<TopK>(windlass_topk_restore, config.raw, from, wall);
    }
};

// The hottest keys of the window in memory that is given, with counts between bounds.
class BoundedTopK : public detail::Hot<detail::BoundedTopKFunctions> {
public:
    using Hot::Hot;
#if WINDLASS_HAS_EXCEPTIONS
    // Throws an Exception if the settings are wrong, or the memory cannot be had.
    explicit BoundedTopK(const BoundedTopKConfig &config) : Hot(detail::made(windlass_bounded_topk_new, config.raw)) {}
#endif
    static Expected<BoundedTopK> make(const BoundedTopKConfig &config) noexcept {
        return detail::make<BoundedTopK>(windlass_bounded_topk_new, config.raw);
    }

    // Whether the next pane finds tables to count in, which is so as soon as nobody reads those of the panes that have left. A pane that begins before has a sum
    // alone. A replay, whose panes may be over in microseconds, best waits for it before each of them.
    YesNo is_ready() const noexcept { return YesNo(windlass_bounded_topk_is_ready(handle_)); }

    // How often a key was seen in the window, at least and at most.
    struct Bounds {
        std::uint64_t lower = 0, upper = 0;
    };
    template <class Key>
    Result<Bounds> bounds(const Key &key, Ticks now) const noexcept {
        Bounds bounds;
        const windlass_status status =
            detail::Single<windlass_bounded_topk_bounds, windlass_bounded_topk_bounds_hash, windlass_bounded_topk_bounds_u64>::call(
                handle_, key, now.count(), &bounds.lower, &bounds.upper);
        return Result<Bounds>(status, bounds);
    }

    // Writes a snapshot of all keys and counts, for restore: to a std::string (behind what it has), a stream with write as a std::ostream, or a function
    // bool(std::string_view) that is called with the next bytes until it returns false. What it throws comes through. What was wrong:
    // WINDLASS_OK if nothing was.
    template <class To>
    Error save(To &&to, Ticks now, Ticks wall = wall_now()) const {
        return detail::written(to,
                               [&](auto... output) { return windlass_bounded_topk_save(handle_, now.count(), wall.count(), output...); });
    }

    // Makes one of what save has written: from its bytes, a stream with read and gcount as a std::istream, or a function
    // std::int64_t(char *, std::size_t) as windlass_read_fn. What it throws comes through.
    template <class From>
    static Expected<Restored<BoundedTopK>> restore(const BoundedTopKConfig &config, From &&from, Ticks wall = wall_now()) {
        return detail::restored<BoundedTopK>(windlass_bounded_topk_restore, config.raw, from, wall);
    }
};

// Merges the exports of any number of structures into one list. What changes it is for one thread at a time.
class Aggregator : public detail::Owner<windlass_aggregator, windlass_aggregator_free> {
public:
    using Owner::Owner;

    // For lists of k keys.
#if WINDLASS_HAS_EXCEPTIONS
    Aggregator(std::uint64_t k, Keys keys) : Aggregator(make(k, keys).value()) {}
#endif
    static Expected<Aggregator> make(std::uint64_t k, Keys keys) noexcept {
        windlass_error error = WINDLASS_ERROR_INIT;
        windlass_aggregator *handle = nullptr;
        const windlass_status status = windlass_aggregator_new(k, static_cast<std::uint32_t>(keys), &handle, &error);
        if (status != WINDLASS_OK) return Error(status, error.detail);
        return Aggregator(handle);
    }

    // Adds what a structure tells, each once. What is wrong with it: WINDLASS_OK if nothing is; else it has not been added.
    Error add(const Export &exported) noexcept {
        windlass_error error = WINDLASS_ERROR_INIT;
        const windlass_status status = windlass_aggregator_add(handle_, exported.handle(), &error);
        return Error(status, status == WINDLASS_OK ? "" : error.detail);
    }
    // Adds what another has been told, of other structures.
    Error add_all(const Aggregator &other) noexcept {
        windlass_error error = WINDLASS_ERROR_INIT;
        const windlass_status status = windlass_aggregator_add_all(handle_, other.handle(), &error);
        return Error(status, status == WINDLASS_OK ? "" : error.detail);
    }

    // How many exports were added.
    Count exports() const noexcept {
        std::uint64_t exports = 0;
        const windlass_status status = windlass_aggregator_exports(handle_, &exports);
        return Count(status, exports);
    }

    // The list over all that was added.
    windlass_status list(TopList &list) const {
        return detail::Lists::fill(list, [&](auto... room) { return windlass_aggregator_list(handle_, room...); });
    }
};

// An entry of a Fifo. Used again it asks for no memory, once it is large enough.
class Entry {
public:
    windlass_fifo_entry info{};

    std::string_view key() const noexcept { return std::string_view(key_.data(), info.key_len); }
    std::string_view value() const noexcept { return std::string_view(value_.data(), info.value_len); }
    // Of a key that is a number; of others 0.
    std::uint64_t number() const noexcept {
        std::uint64_t number = 0;
        for (std::size_t i = 0; info.key_kind == 1 && i < info.key_len && i < sizeof number; i++)
            number |= static_cast<std::uint64_t>(static_cast<unsigned char>(key_[i])) << (8 * i);
        return number;
    }

private:
    friend class Fifo;
    std::vector<char> key_ = std::vector<char>(32), value_ = std::vector<char>(64);

    template <class Ask>
    YesNo fill(Ask ask) {
        for (;;) {
            const std::int32_t code = ask(reinterpret_cast<std::uint8_t *>(key_.data()), key_.size(),
                                          reinterpret_cast<std::uint8_t *>(value_.data()), value_.size());
            if (code != WINDLASS_E_TOO_SMALL) {
                if (code != WINDLASS_FOUND) info = windlass_fifo_entry{};
                return YesNo(code);
            }
            if (info.key_len > key_.size()) key_.resize(info.key_len);
            if (info.value_len > value_.size()) value_.resize(info.value_len);
        }
    }
};

// A queue of keys with values that tells how many are before a key.
class Fifo : public detail::Owner<windlass_fifo, windlass_fifo_free> {
public:
    using Owner::Owner;
#if WINDLASS_HAS_EXCEPTIONS
    // Throws an Exception if the settings are wrong, or the memory cannot be had.
    explicit Fifo(const FifoConfig &config) : Owner(detail::made(windlass_fifo_new, config.raw)) {}
#endif
    static Expected<Fifo> make(const FifoConfig &config) noexcept { return detail::make<Fifo>(windlass_fifo_new, config.raw); }

    // Puts an entry at the tail.
    template <class Key>
    Pushed push(const Key &key, Bytes value, Ticks now) noexcept {
        std::uint64_t seq = 0;
        const std::int32_t code = detail::Single<windlass_fifo_push, windlass_fifo_push_hash, windlass_fifo_push_u64>::call(
            handle_, key, value.data(), value.size(), now.count(), &seq);
        return Pushed(code, seq);
    }

    // How many entries are before a key's. Yes: there is such an entry, and ahead has been written.
    template <class Key>
    YesNo rank(const Key &key, std::uint64_t &ahead) const noexcept {
        return YesNo(detail::Single<windlass_fifo_rank, windlass_fifo_rank_hash, windlass_fifo_rank_u64>::call(handle_, key, &ahead));
    }

    // Where a key stands. Yes: there is such an entry, and place has been written.
    template <class Key>
    YesNo find(const Key &key, windlass_fifo_place &place) const noexcept {
        return YesNo(
            detail::Single<windlass_fifo_find, windlass_fifo_find_hash, windlass_fifo_find_u64>::call(handle_, key, nullptr, 0, &place));
    }

    // The same, with a copy of its value.
    template <class Key>
    YesNo find(const Key &key, windlass_fifo_place &place, std::string &value) const {
        value.resize(value.capacity());
        std::int32_t code;
        // (Meanwhile it may have got a longer one.)
        while ((code = detail::Single<windlass_fifo_find, windlass_fifo_find_hash, windlass_fifo_find_u64>::call(
                    handle_, key, reinterpret_cast<std::uint8_t *>(value.data()), value.size(), &place)) == WINDLASS_E_TOO_SMALL)
            value.resize(place.value_len);
        value.resize(code == WINDLASS_FOUND ? place.value_len : 0);
        return YesNo(code);
    }

    // Takes the oldest entry out. Yes: there was one.
    YesNo pop(Entry &entry) {
        return entry.fill([&](std::uint8_t *key, std::size_t key_room, std::uint8_t *value, std::size_t value_room) {
            return windlass_fifo_pop(handle_, key, key_room, value, value_room, &entry.info);
        });
    }

    // The same if it was put in at the time until or before.
    YesNo pop_until(Ticks until, Entry &entry) {
        return entry.fill([&](std::uint8_t *key, std::size_t key_room, std::uint8_t *value, std::size_t value_room) {
            return windlass_fifo_pop_until(handle_, until.count(), key, key_room, value, value_room, &entry.info);
        });
    }

    // Takes the entry of a key out, wherever it is. Yes: there was one; entry has its value, and no key.
    template <class Key>
    YesNo remove(const Key &key, Entry &entry) {
        return entry.fill([&](std::uint8_t *, std::size_t, std::uint8_t *value, std::size_t value_room) {
            return detail::Single<windlass_fifo_remove, windlass_fifo_remove_hash, windlass_fifo_remove_u64>::call(handle_, key, value,
                                                                                                                   value_room, &entry.info);
        });
    }

    // The oldest entry, which stays.
    YesNo peek(Entry &entry) const {
        return entry.fill([&](std::uint8_t *key, std::size_t key_room, std::uint8_t *value, std::size_t value_room) {
            return windlass_fifo_peek(handle_, key, key_room, value, value_room, &entry.info);
        });
    }

    // The entry that has rank others before it.
    YesNo at_rank(std::uint64_t rank, Entry &entry) const {
        return entry.fill([&](std::uint8_t *key, std::size_t key_room, std::uint8_t *value, std::size_t value_room) {
            return windlass_fifo_at_rank(handle_, rank, key, key_room, value, value_room, &entry.info);
        });
    }

    // The first entry from the number seq on.
    YesNo next(std::uint64_t seq, Entry &entry) const {
        return entry.fill([&](std::uint8_t *key, std::size_t key_room, std::uint8_t *value, std::size_t value_room) {
            return windlass_fifo_next(handle_, seq, key, key_room, value, value_room, &entry.info);
        });
    }

    Count size() const noexcept { return detail::count(windlass_fifo_len(handle_)); }

    // How many entries were put in before a time.
    Count count_before(Ticks time) const noexcept {
        std::uint64_t count = 0;
        const windlass_status status = windlass_fifo_count_before(handle_, time.count(), &count);
        return Count(status, count);
    }

    // Puts a batch in, with as many values, or none: then all are empty. results has room for what push returns for each; seqs for
    // their numbers, or for none.
    windlass_status push_all(const Packed &keys, const Packed &values, Ticks now, View<std::int32_t> results,
                             View<std::uint64_t> seqs = {}) noexcept {
        if (results.size() != keys.size() || !detail::fits(seqs, keys.size()) || !(values.empty() || values.size() == keys.size()))
            return WINDLASS_E_RANGE;
        return windlass_fifo_push_packed(handle_, keys.bytes(), keys.bytes_len(), keys.offsets(), keys.size(), values.bytes(),
                                         values.bytes_len(), values.empty() ? nullptr : values.offsets(), now.count(), results.data(),
                                         seqs.data());
    }
    windlass_status push_all(View<const std::uint64_t> keys, const Packed &values, Ticks now, View<std::int32_t> results,
                             View<std::uint64_t> seqs = {}) noexcept {
        if (results.size() != keys.size() || !detail::fits(seqs, keys.size()) || !(values.empty() || values.size() == keys.size()))
            return WINDLASS_E_RANGE;
        return windlass_fifo_push_u64s(handle_, keys.data(), keys.size(), values.bytes(), values.bytes_len(),
                                       values.empty() ? nullptr : values.offsets(), now.count(), results.data(), seqs.data());
    }

    // The ranks of a batch; ranks has room for as many, -1 for what is not there.
    template <class Many>
    windlass_status rank_all(const Many &keys, View<std::int64_t> ranks) const noexcept {
        if (ranks.size() != std::size(keys)) return WINDLASS_E_RANGE;
        return detail::Batch<windlass_fifo_rank_packed, windlass_fifo_rank_fixed, windlass_fifo_rank_hashes, windlass_fifo_rank_u64s>::call(
            handle_, keys, ranks.data());
    }

    // Takes up to as many entries out as entries has room for, as long as their bytes fit into keys and values, one behind the other.
    Count pop_all(View<windlass_fifo_entry> entries, View<std::uint8_t> keys, View<std::uint8_t> values) noexcept {
        return detail::count(
            windlass_fifo_pop_packed(handle_, entries.size(), keys.data(), keys.size(), values.data(), values.size(), entries.data()));
    }

    Result<windlass_fifo_stats> stats() const noexcept { return detail::stats(windlass_fifo_get_stats, handle_); }

    // Upkeep. Yes: there is more that can be done now.
    YesNo maintain(std::size_t budget) noexcept { return YesNo(windlass_fifo_maintain(handle_, budget)); }

    // Writes a snapshot of all entries, for restore: to a std::string (behind what it has), a stream with write as a std::ostream, or a function
    // bool(std::string_view) that is called with the next bytes until it returns false. What it throws comes through. What was wrong:
    // WINDLASS_OK if nothing was.
    template <class To>
    Error snapshot(To &&to, Ticks now, Ticks wall = wall_now()) const {
        return detail::written(to, [&](auto... output) { return windlass_fifo_snapshot(handle_, now.count(), wall.count(), output...); });
    }

    // Makes one of what snapshot has written: from its bytes, a stream with read and gcount as a std::istream, or a function
    // std::int64_t(char *, std::size_t) as windlass_read_fn. What it throws comes through.
    template <class From>
    static Expected<Restored<Fifo>> restore(const FifoConfig &config, From &&from, Ticks wall = wall_now()) {
        return detail::restored<Fifo>(windlass_fifo_restore, config.raw, from, wall);
    }
};

// A consistent-hash ring with weighted virtual nodes.
class Ring : public detail::Owner<windlass_ring, windlass_ring_free> {
public:
    using Owner::Owner;
#if WINDLASS_HAS_EXCEPTIONS
    // Throws an Exception if the settings are wrong, or the memory cannot be had.
    explicit Ring(const RingConfig &config) : Owner(detail::made(windlass_ring_new, config.raw)) {}
#endif
    static Expected<Ring> make(const RingConfig &config) noexcept { return detail::make<Ring>(windlass_ring_new, config.raw); }

    // Changes. The share of all keys that have another owner now, 0 to 1.
    Expected<double> add(std::uint32_t id, Bytes name, std::uint32_t weight = 1) noexcept {
        windlass_error error = WINDLASS_ERROR_INIT;
        double moved = 0;
        const windlass_status status = windlass_ring_add(handle_, id, name.data(), name.size(), weight, &moved, &error);
        if (status != WINDLASS_OK) return Error(status, error.detail);
        return moved;
    }
    Expected<double> remove(std::uint32_t id) noexcept {
        windlass_error error = WINDLASS_ERROR_INIT;
        double moved = 0;
        const windlass_status status = windlass_ring_remove(handle_, id, &moved, &error);
        if (status != WINDLASS_OK) return Error(status, error.detail);
        return moved;
    }
    Expected<double> set_weight(std::uint32_t id, std::uint32_t weight) noexcept {
        windlass_error error = WINDLASS_ERROR_INIT;
        double moved = 0;
        const windlass_status status = windlass_ring_set_weight(handle_, id, weight, &moved, &error);
        if (status != WINDLASS_OK) return Error(status, error.detail);
        return moved;
    }

    // The id of the node that owns a key.
    template <class Key>
    Result<std::uint32_t> route(const Key &key) const noexcept {
        const std::int64_t owner =
            detail::Single<windlass_ring_route, windlass_ring_route_hash, windlass_ring_route_u64>::call(handle_, key);
        return owner < 0 ? Result<std::uint32_t>(static_cast<windlass_status>(owner), 0)
                         : Result<std::uint32_t>(WINDLASS_OK, static_cast<std::uint32_t>(owner));
    }

    // The first different nodes at and after a key, its owner first, as many as owners has room for. How many there are.
    Count route_n(Bytes key, View<std::uint32_t> owners) const noexcept {
        return detail::count(windlass_ring_route_n(handle_, key.data(), key.size(), owners.size(), owners.data()));
    }
    Count route_n(Hash key, View<std::uint32_t> owners) const noexcept {
        return detail::count(windlass_ring_route_n_hash(handle_, key, owners.size(), owners.data()));
    }

    // The owners of a batch; owners has room for as many.
    template <class Many>
    windlass_status route_all(const Many &keys, View<std::uint32_t> owners) const noexcept {
        if (owners.size() != std::size(keys)) return WINDLASS_E_RANGE;
        return detail::Batch<windlass_ring_route_packed, windlass_ring_route_fixed, windlass_ring_route_hashes,
                             windlass_ring_route_u64s>::call(handle_, keys, owners.data());
    }

    // The nodes by their ids, as far as nodes has room. How many there are.
    Count nodes(View<windlass_ring_node> nodes) const noexcept {
        return detail::count(windlass_ring_nodes(handle_, nodes.data(), nodes.size()));
    }

    Result<windlass_ring_stats> stats() const noexcept { return detail::stats(windlass_ring_get_stats, handle_); }

    // Writes a snapshot of the nodes, for restore: to a std::string (behind what it has), a stream with write as a std::ostream, or a function
    // bool(std::string_view) that is called with the next bytes until it returns false. What it throws comes through. What was wrong:
    // WINDLASS_OK if nothing was.
    template <class To>
    Error snapshot(To &&to, Ticks wall = wall_now()) const {
        return detail::written(to, [&](auto... output) { return windlass_ring_snapshot(handle_, wall.count(), output...); });
    }

    // Makes one of what snapshot has written: from its bytes, a stream with read and gcount as a std::istream, or a function
    // std::int64_t(char *, std::size_t) as windlass_read_fn. What it throws comes through.
    template <class From>
    static Expected<Restored<Ring>> restore(const RingConfig &config, From &&from, Ticks wall = wall_now()) {
        return detail::restored<Ring>(windlass_ring_restore, config.raw, from, wall);
    }
};

} // namespace windlass

#endif // WINDLASS_HPP
