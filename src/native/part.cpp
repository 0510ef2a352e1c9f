// Entries move to the segments of the next level.
//
// Slots ascend, so that what follows a node is written after all that follows the nodes before it. Of two branches the
// first is written in place and the second beside, from where it is copied; each entry is written to both and only one
// of them moves on, because which one cannot be foreseen.
#include "levels.h"
#include "tiles.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr uint64_t most_instances = uint64_t{1} << 31;

template <class T>
class Parter {
public:
    Parter(const Segments& from, const Parting& parting, uint32_t* entries, int64_t* starts)
        : from_(from), parting_(parting), branch_(reinterpret_cast<const T*>(parting.branch.data)), out_(entries),
          starts_(starts), room_(room()), side_(room_), widest_(widest()), count_(widest_), run_(widest_) {}

    int64_t part() {
        for (size_t k = 0; k < from_.count; ++k) {
            const size_t branches = branches_of(k);
            if (branches == 0) continue;
            if (!known(k)) return no_instance;
            const int64_t bad = branches == 2 ? in_two(k) : in_many(k, branches);
            if (bad) return bad;
        }
        open(parting_.n_next);
        return static_cast<int64_t>(size_);
    }

private:
    static constexpr uint32_t every = static_cast<T>(~T{0});
    static constexpr int64_t no_instance = -1, no_branch = -2, no_copies = -3, too_many = -4;

    COUNTWISE_INLINE size_t branches_of(size_t k) const {
        return static_cast<size_t>(parting_.first[k + 1] - parting_.first[k]);
    }
    COUNTWISE_INLINE std::int32_t slot(size_t k, size_t b) const {
        return parting_.slots[parting_.first[k] + static_cast<int64_t>(b)];
    }
    COUNTWISE_INLINE size_t start_of(size_t k) const { return static_cast<size_t>(from_.starts[k]); }

    // Room for the second of two branches.
    size_t room() const {
        size_t most = 0;
        for (size_t k = 0; k < from_.count; ++k)
            if (branches_of(k) == 2) most = larger(most, start_of(k + 1) - start_of(k));
        return most + 1;
    }
    size_t widest() const {
        size_t most = 0;
        for (size_t k = 0; k < from_.count; ++k) most = larger(most, branches_of(k));
        return most;
    }

    bool known(size_t k) const {
        uint32_t most = 0;
        const size_t start = start_of(k), stop = start_of(k + 1);
        for (size_t i = start; i < stop; ++i) most = larger(most, from_.entries[i]);
        return start == stop || most >> 1 < parting_.instances;
    }

    // Segment s, and those before it that have no entries, start here.
    COUNTWISE_INLINE void open(size_t s) {
        for (; next_ <= s; ++next_) starts_[next_] = static_cast<int64_t>(size_);
    }

    int64_t in_two(size_t k) {
        const std::int32_t left = slot(k, 0), right = slot(k, 1);
        const size_t stop = start_of(k + 1);
        Two two{out_ + size_, side_.get(), 0, 0, 1, 1};
        uint32_t most = 0;
        for (size_t i = start_of(k); i < stop; ++i) {
            const uint32_t entry = from_.entries[i], b = branch_[entry >> 1];
            if (parting_.copies && b == every) {
                const uint64_t first = parting_.copies[entry >> 1];
                if (first + 2 > most_instances) return too_many;
                two.both(entry, static_cast<uint32_t>(first));
                continue;
            }
            most = larger(most, b);
            two.move(entry, b);
        }
        if (most > 1) return most == every ? no_copies : no_branch;
        if (left >= 0) {
            open(static_cast<size_t>(left));
            size_ += two.n_left;
        }
        if (right >= 0) {
            open(static_cast<size_t>(right));
            std::memcpy(out_ + size_, side_.get(), two.n_right * sizeof *out_);
            size_ += two.n_right;
        }
        return 0;
    }

    // Both sides as they are written, and whether a value is new since their last entries.
    struct Two {
        uint32_t *left, *right;
        size_t n_left, n_right;
        uint32_t new_left, new_right;

        COUNTWISE_INLINE void move(uint32_t entry, uint32_t b) {
            const uint32_t fresh = entry & 1, same = entry & ~uint32_t{1}, to_left = b == 0, to_right = b == 1;
            new_left |= fresh, new_right |= fresh;
            left[n_left] = same | new_left, right[n_right] = same | new_right;
            n_left += to_left, n_right += to_right;
            new_left &= ~to_left, new_right &= ~to_right;
        }
        void both(uint32_t entry, uint32_t first) {
            const uint32_t fresh = entry & 1;
            left[n_left++] = 2 * first | new_left | fresh, right[n_right++] = 2 * (first + 1) | new_right | fresh;
            new_left = new_right = 0;
        }
    };

    // Any number of branches: counted first.
    int64_t in_many(size_t k, size_t branches) {
        for (size_t b = 0; b < branches; ++b) count_[b] = 0, run_[b] = 0;
        const size_t start = start_of(k), stop = start_of(k + 1);
        size_t gaps = 0;
        for (size_t i = start; i < stop; ++i) {
            const uint32_t b = branch_[from_.entries[i] >> 1];
            if (b == every) ++gaps;
            else if (b >= branches) return no_branch;
            else ++count_[b];
        }
        if (gaps && !parting_.copies) return no_copies;
        for (size_t b = 0; b < branches; ++b) {
            const size_t count = count_[b] + gaps;
            count_[b] = dropped;
            const std::int32_t to = slot(k, b);
            if (to < 0) continue;
            open(static_cast<size_t>(to));
            count_[b] = size_;
            size_ += count;
        }
        uint64_t run = 1;  // a value is new to a branch if its run is not that of its last entry
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
    const size_t room_;
    Scratch<uint32_t> side_;
    const size_t widest_;
    Scratch<size_t> count_;  // of entries, then where the next one goes
    Scratch<uint64_t> run_;
    size_t size_ = 0, next_ = 0;
};

template <class T>
int64_t room_for(const Segments& from, const Parting& parting) {
    const T* branch = reinterpret_cast<const T*>(parting.branch.data);
    int64_t room = 0;
    for (size_t k = 0; k < from.count; ++k) {
        const int64_t branches = parting.first[k + 1] - parting.first[k];
        if (branches == 0) continue;
        room += from.starts[k + 1] - from.starts[k];
        if (!parting.copies) continue;
        for (int64_t i = from.starts[k]; i < from.starts[k + 1]; ++i) {
            if (from.entries[i] >> 1 >= parting.instances) return -1;
            if (branch[from.entries[i] >> 1] == static_cast<T>(~T{0})) room += branches - 1;
        }
    }
    return room;
}

}  // namespace

int64_t part_room(const Segments& from, const Parting& parting) {
    switch (parting.branch.type) {
        case Type::u8: return room_for<std::uint8_t>(from, parting);
        case Type::u16: return room_for<std::uint16_t>(from, parting);
        default: return room_for<uint32_t>(from, parting);
    }
}

int64_t part_segments(const Segments& from, const Parting& parting, uint32_t* entries, int64_t* starts) {
    switch (parting.branch.type) {
        case Type::u8: return Parter<std::uint8_t>(from, parting, entries, starts).part();
        case Type::u16: return Parter<std::uint16_t>(from, parting, entries, starts).part();
        default: return Parter<uint32_t>(from, parting, entries, starts).part();
    }
}

}  // namespace countwise::COUNTWISE_LEVEL
