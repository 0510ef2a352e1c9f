// Moves entries to the segments of the next level.
//
// Slots ascend, so that the segments of a node are written after those of the nodes before it. For two branches, the
// first is written in place and the second to scratch memory, from where it is copied. Each entry is written to both,
// and only one position advances, because the branch is unpredictable.
#include "segments.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr size_t window = 2048, piece = 256, small = 32;
constexpr uint64_t most_instances = uint64_t{1} << 31;
constexpr int64_t no_instance = -1, no_branch = -2, no_copies = -3, too_many = -4;

// Output positions of two branches, and whether a value is new since their last entries.
struct Two {
    uint32_t *left, *right;
    size_t n_left = 0, n_right = 0;
    uint32_t new_left = 1, new_right = 1;

    Two(uint32_t* to_left, uint32_t* to_right) : left(to_left), right(to_right) {}

    // All entries have new values.
    template <class T>
    void move_new(const uint32_t* entries, const T* branch, size_t n) {
        uint32_t *to_left = left + n_left, *to_right = right + n_right;
        size_t moved = 0;
        for (size_t i = 0; i < n; ++i) {
            to_left[moved] = to_right[i - moved] = entries[i];
            moved += branch[i] ^ 1u;
        }
        n_left += moved, n_right += n - moved;
        new_left = branch[n - 1], new_right = new_left ^ 1;
    }

    // Returns the largest branch. If it is above 1, the output is undefined but within its memory.
    template <class T>
    COUNTWISE_INLINE uint32_t move(const uint32_t* entries, const T* branch, size_t n) {
        uint32_t most = 0;
        Two to = *this;  // in registers
        for (size_t i = 0; i < n; ++i) {
            const uint32_t entry = entries[i], b = branch[i] & 1u;
            most = larger<uint32_t>(most, branch[i]);
            to.new_left |= entry & 1, to.new_right |= entry & 1;
            to.left[to.n_left] = entry | to.new_left, to.right[to.n_right] = entry | to.new_right;
            to.n_left += b ^ 1, to.n_right += b;
            to.new_left &= b, to.new_right &= b ^ 1;
        }
        *this = to;
        return most;
    }

    void both(uint32_t entry, uint32_t first) {
        const uint32_t fresh = entry & 1;
        left[n_left++] = 2 * first | new_left | fresh, right[n_right++] = 2 * (first + 1) | new_right | fresh;
        new_left = new_right = 0;
    }
};

template <class T>
class Parter {
public:
    Parter(const Segments& from, const Parting& parting, uint32_t* entries, int64_t* starts)
        : from_(from), parting_(parting), branch_(reinterpret_cast<const T*>(parting.branch.data)), out_(entries),
          starts_(starts), end_(static_cast<size_t>(from.starts[from.count])) {}

    // Returns the number of entries, or an error number.
    int64_t part() {
        measure();
        Scratch<uint32_t> side(capacity_);
        Scratch<size_t> count(widest_);
        Scratch<uint64_t> run(widest_);
        side_ = side.get(), count_ = count.get(), run_ = run.get();
        for (size_t k = 0; k < from_.count; ++k) {
            const size_t branches = branches_of(k);
            const int64_t bad = branches == 2 ? in_two(k) : branches ? in_many(k, branches) : 0;
            if (bad) return bad;
        }
        open(parting_.n_next);
        return static_cast<int64_t>(size_);
    }

private:
    static constexpr uint32_t every = static_cast<T>(~T{0});

    COUNTWISE_INLINE size_t branches_of(size_t k) const {
        return static_cast<size_t>(parting_.first[k + 1] - parting_.first[k]);
    }
    COUNTWISE_INLINE int32_t slot(size_t k, size_t b) const {
        return parting_.slots[parting_.first[k] + static_cast<int64_t>(b)];
    }
    COUNTWISE_INLINE size_t start_of(size_t k) const { return static_cast<size_t>(from_.starts[k]); }

    // The largest number of entries of a node with two branches, and the largest number of branches.
    void measure() {
        for (size_t k = 0; k < from_.count; ++k) {
            if (branches_of(k) == 2) capacity_ = larger(capacity_, start_of(k + 1) - start_of(k));
            widest_ = larger(widest_, branches_of(k));
        }
    }

    // Segment s, and empty segments before it, start here.
    COUNTWISE_INLINE void open(size_t s) {
        for (; next_ <= s; ++next_) starts_[next_] = static_cast<int64_t>(size_);
    }

    // Reads branches ahead of their use, so that little else waits for the memory.
    COUNTWISE_INLINE void read(size_t from) {
        const size_t n = smaller(window, end_ - from);
        read_from_ = from, read_to_ = from + n;
        gather(branch_, from_.entries + from, n, read_);
    }

    int64_t in_two(size_t k) {
        Two two(out_ + size_, side_);
        const size_t stop = start_of(k + 1);
        for (size_t i = start_of(k), n; i < stop; i += n) {
            if (i >= read_to_) read(i);
            n = smaller(smaller(stop, read_to_) - i, piece);
            checkpoint_.after(n);
            const T* const branch = read_ + (i - read_from_);
            const int64_t bad = n < small ? few_in_two(two, i, branch, n) : many_in_two(two, i, branch, n);
            if (bad) return bad;
        }
        if (slot(k, 0) >= 0) {
            open(static_cast<size_t>(slot(k, 0)));
            size_ += two.n_left;
        }
        if (slot(k, 1) >= 0) {
            open(static_cast<size_t>(slot(k, 1)));
            if (two.n_right < small)
                for (size_t i = 0; i < two.n_right; ++i) out_[size_ + i] = side_[i];
            else std::memcpy(out_ + size_, side_, two.n_right * sizeof *out_);
            size_ += two.n_right;
        }
        return 0;
    }

    COUNTWISE_INLINE int64_t few_in_two(Two& two, size_t start, const T* branch, size_t n) {
        if (parting_.copies) return with_copies(two, start, branch, n);
        return two.move(from_.entries + start, branch, n) > 1 ? unknown(branch, n) : 0;
    }

    int64_t many_in_two(Two& two, size_t start, const T* branch, size_t n) {
        const uint32_t* const entries = from_.entries + start;
        T most = 0;
        uint32_t fresh = 1;
        for (size_t i = 0; i < n; ++i) most = larger(most, branch[i]);
        for (size_t i = 0; i < n; ++i) fresh &= entries[i];
        if (most > 1) return parting_.copies ? with_copies(two, start, branch, n) : unknown(branch, n);
        if (fresh) two.move_new(entries, branch, n);
        else two.move(entries, branch, n);
        return 0;
    }

    int64_t with_copies(Two& two, size_t start, const T* branch, size_t n) const {
        for (size_t i = 0; i < n; ++i) {
            const uint32_t entry = from_.entries[start + i];
            if (branch[i] != every) {
                if (two.move(&entry, branch + i, 1) > 1) return no_branch;
                continue;
            }
            const uint64_t first = parting_.copies[entry >> 1];
            if (first + 2 > most_instances) return too_many;
            two.both(entry, static_cast<uint32_t>(first));
        }
        return 0;
    }

    static int64_t unknown(const T* branch, size_t n) {
        for (size_t i = 0; i < n; ++i)
            if (branch[i] > 1) return branch[i] == every ? no_copies : no_branch;
        return no_branch;
    }

    // Any number of branches; entries are counted first.
    int64_t in_many(size_t k, size_t branches) {
        for (size_t b = 0; b < branches; ++b) count_[b] = 0, run_[b] = 0;
        const size_t start = start_of(k), stop = start_of(k + 1);
        checkpoint_.after(stop - start);
        size_t in_all = 0;
        for (size_t i = start; i < stop; ++i) {
            const uint32_t b = branch_[from_.entries[i] >> 1];
            if (b == every) ++in_all;
            else if (b >= branches) return no_branch;
            else ++count_[b];
        }
        if (in_all && !parting_.copies) return no_copies;
        for (size_t b = 0; b < branches; ++b) {
            const size_t count = count_[b] + in_all;
            count_[b] = dropped;
            const int32_t to = slot(k, b);
            if (to < 0) continue;
            open(static_cast<size_t>(to));
            count_[b] = size_;
            size_ += count;
        }
        uint64_t run = 1;  // a value is new to a branch if its run differs from that of the last entry
        for (size_t i = start; i < stop; ++i) {
            const uint32_t entry = from_.entries[i], b = branch_[entry >> 1];
            run += entry & 1;
            if (b != every) {
                write(b, entry >> 1, run);
                continue;
            }
            const uint64_t first = parting_.copies[entry >> 1];
            if (first + branches > most_instances) return too_many;
            for (size_t to = 0; to < branches; ++to) write(to, static_cast<uint32_t>(first + to), run);
        }
        return 0;
    }

    COUNTWISE_INLINE void write(size_t b, uint32_t instance, uint64_t run) {
        if (count_[b] == dropped) return;
        out_[count_[b]++] = 2 * instance | static_cast<uint32_t>(run_[b] != run);
        run_[b] = run;
    }

    static constexpr size_t dropped = SIZE_MAX;
    const Segments& from_;
    const Parting& parting_;
    const T* const branch_;
    uint32_t* const out_;
    int64_t* const starts_;
    const size_t end_;
    size_t capacity_ = 1, widest_ = 0, size_ = 0, next_ = 0;
    T read_[window];
    size_t read_from_ = 0, read_to_ = 0;
    uint32_t* side_ = nullptr;
    size_t* count_ = nullptr;  // number of entries, then position of the next one
    uint64_t* run_ = nullptr;
    Checkpoint checkpoint_;
};

template <class T>
int64_t room_for(const Segments& from, const Parting& parting) {
    const T* branch = reinterpret_cast<const T*>(parting.branch.data);
    const size_t first = static_cast<size_t>(from.starts[0]), last = static_cast<size_t>(from.starts[from.count]);
    if (!are_known(from.entries + first, last - first, parting.instances)) return no_instance;
    int64_t capacity = 0;
    for (size_t k = 0; k < from.count; ++k) {
        const int64_t branches = parting.first[k + 1] - parting.first[k];
        if (branches == 0) continue;
        capacity += from.starts[k + 1] - from.starts[k];
        if (!parting.copies) continue;
        for (int64_t i = from.starts[k]; i < from.starts[k + 1]; ++i)
            if (branch[from.entries[i] >> 1] == static_cast<T>(~T{0})) capacity += branches - 1;
    }
    return capacity;
}

}  // namespace

int64_t partition_capacity(const Segments& from, const Parting& parting) {
    return with_code_type(parting.branch.type, [&](auto zero) { return room_for<decltype(zero)>(from, parting); });
}

int64_t partition_segments(const Segments& from, const Parting& parting, uint32_t* entries, int64_t* starts) {
    return with_code_type(parting.branch.type,
                          [&](auto zero) { return Parter<decltype(zero)>(from, parting, entries, starts).part(); });
}

}  // namespace countwise::COUNTWISE_LEVEL
