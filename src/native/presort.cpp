// The rows of a column in ascending order of its cells.
//
// Cells become whole numbers in the same order, their keys. A radix sort of the upper 32 bits of what differs in the
// keys carries each row's number along in one 64-bit word; it needs half the passes over half the memory that whole
// keys would. Rows whose upper bits are equal are few, or mostly have equal keys: they are put right in a second step,
// which is the same sort again where they are many.
#include "levels.h"
#include "tiles.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr size_t digits = 4, digit_values = 256, few = 40;
constexpr uint64_t sign_64 = uint64_t{1} << 63;
constexpr uint32_t sign_32 = uint32_t{1} << 31;

COUNTWISE_INLINE uint64_t key_of(double x) {
    x += 0.0;  // -0 becomes 0
    uint64_t bits_of_x;
    std::memcpy(&bits_of_x, &x, sizeof x);
    const uint64_t negative = ~(bits_of_x >> 63) + 1;  // all bits or none
    return bits_of_x ^ (negative | sign_64);
}
COUNTWISE_INLINE uint32_t key_of(float x) {
    x += 0.0f;
    uint32_t bits_of_x;
    std::memcpy(&bits_of_x, &x, sizeof x);
    const uint32_t negative = ~(bits_of_x >> 31) + 1;
    return bits_of_x ^ (negative | sign_32);
}
// float64 holds all of these exactly, so that they may be compared as they are.
COUNTWISE_INLINE uint32_t key_of(std::int32_t x) { return static_cast<uint32_t>(x) ^ sign_32; }
COUNTWISE_INLINE uint32_t key_of(uint32_t x) { return x; }

template <class T>
COUNTWISE_INLINE bool is_nan(T x) {
    return x != x;
}

// Words of upper bits (above) and place in the column (below).
COUNTWISE_INLINE uint64_t word_of(uint64_t upper, size_t row) { return upper << 32 | row; }
COUNTWISE_INLINE uint32_t row_of(uint64_t word) { return static_cast<uint32_t>(word); }

int shift_for(uint64_t span) {
    int shift = 0;
    while (span >> shift > UINT32_MAX) ++shift;
    return shift;
}

class Sorter {
public:
    Sorter(const uint64_t* keys, size_t most) : keys_(keys), other_(most) {}

    // By the keys of their rows, equal ones as they were.
    void sort(uint64_t* words, size_t n) {
        uint64_t low = UINT64_MAX, high = 0;
        for (size_t i = 0; i < n; ++i) {
            const uint64_t key = keys_[row_of(words[i])];
            low = smaller(low, key), high = larger(high, key);
        }
        sort(words, n, low, high);
    }

    void sort(uint64_t* words, size_t n, uint64_t low, uint64_t high) {
        const int shift = shift_for(high - low);
        for (size_t i = 0; i < n; ++i) {
            const uint32_t row = row_of(words[i]);
            words[i] = word_of((keys_[row] - low) >> shift, row);
        }
        by_upper(words, n);
        if (shift) by_lower(words, n);
    }

    // By their upper bits alone, from the lowest digit to the highest; one that all share is passed over.
    void by_upper(uint64_t* words, size_t n) {
        size_t counts[digits][digit_values] = {};
        for (size_t i = 0; i < n; ++i)
            for (size_t d = 0; d < digits; ++d) ++counts[d][digit(words[i], d)];
        uint64_t *from = words, *to = other_.get();
        for (size_t d = 0; d < digits; ++d) {
            if (n == 0 || counts[d][digit(from[0], d)] == n) continue;
            size_t at = 0;
            for (size_t v = 0; v < digit_values; ++v) {
                const size_t count = counts[d][v];
                counts[d][v] = at;
                at += count;
            }
            for (size_t i = 0; i < n; ++i) to[counts[d][digit(from[i], d)]++] = from[i];
            uint64_t* const swapped = from;
            from = to, to = swapped;
        }
        if (from != words) std::memcpy(words, from, n * sizeof *words);
    }

private:
    static COUNTWISE_INLINE size_t digit(uint64_t word, size_t d) { return word >> (32 + 8 * d) & (digit_values - 1); }

    // Puts runs of equal upper bits in order.
    void by_lower(uint64_t* words, size_t n) {
        for (size_t start = 0; start < n;) {
            size_t stop = start + 1;
            while (stop < n && words[stop] >> 32 == words[start] >> 32) ++stop;
            if (stop - start > few) run(words + start, stop - start);
            else if (stop - start > 1) insert(words + start, stop - start);
            start = stop;
        }
    }

    // The upper bits of a run are overwritten, but nothing asks for them any more.
    void run(uint64_t* words, size_t n) {
        bool sorted = true;
        for (size_t i = 1; i < n; ++i) sorted &= keys_[row_of(words[i - 1])] <= keys_[row_of(words[i])];
        if (!sorted) sort(words, n);
    }

    void insert(uint64_t* words, size_t n) {
        uint64_t key[few];
        for (size_t i = 0; i < n; ++i) {
            const uint64_t word = words[i], mine = keys_[row_of(word)];
            size_t at = i;
            for (; at > 0 && key[at - 1] > mine; --at) key[at] = key[at - 1], words[at] = words[at - 1];
            key[at] = mine, words[at] = word;
        }
    }

    const uint64_t* keys_;
    Scratch<uint64_t> other_;
};

// Cells whose keys have 32 bits.
template <class T, class As>
size_t presort_narrow(Column column, size_t rows, uint32_t* entries) {
    Scratch<uint64_t> words(rows);
    const char* from = column.data;
    size_t n = 0;
    for (size_t i = 0; i < rows; ++i, from += column.stride) {
        const T x = cell<T>(from);
        words[n] = word_of(key_of(static_cast<As>(x)), i);
        n += !is_nan(x);
    }
    Sorter(nullptr, n).by_upper(words.get(), n);
    uint64_t before = ~uint64_t{0};
    for (size_t i = 0; i < n; ++i) {
        const bool fresh = i == 0 || words[i] >> 32 != before;
        before = words[i] >> 32;
        entries[i] = row_of(words[i]) << 1 | static_cast<uint32_t>(fresh);
    }
    return n;
}

// Cells of 64 bits, which are compared as float64.
template <class T>
size_t presort_wide(Column column, size_t rows, uint32_t* entries) {
    Scratch<uint64_t> keys(rows), words(rows);
    const char* from = column.data;
    uint64_t low = UINT64_MAX, high = 0;
    size_t n = 0;
    for (size_t i = 0; i < rows; ++i, from += column.stride) {
        const double x = static_cast<double>(cell<T>(from));
        const uint64_t key = key_of(x), there = !is_nan(x);
        keys[i] = key;
        words[n] = i;
        n += there;
        low = smaller(low, key | (there - 1)), high = larger(high, key & (~there + 1));
    }
    if (n == 0) return 0;
    Sorter(keys.get(), n).sort(words.get(), n, low, high);
    uint64_t before = 0;
    for (size_t i = 0; i < n; ++i) {
        const uint64_t key = keys[row_of(words[i])];
        const bool fresh = i == 0 || key != before;
        before = key;
        entries[i] = row_of(words[i]) << 1 | static_cast<uint32_t>(fresh);
    }
    return n;
}

}  // namespace

size_t presort(Column column, size_t rows, uint32_t* entries) {
    switch (column.type) {
        case Type::f64: return presort_wide<double>(column, rows, entries);
        case Type::i64: return presort_wide<int64_t>(column, rows, entries);
        case Type::u64: return presort_wide<uint64_t>(column, rows, entries);
        case Type::f32: return presort_narrow<float, float>(column, rows, entries);
        case Type::i32: return presort_narrow<std::int32_t, std::int32_t>(column, rows, entries);
        case Type::i16: return presort_narrow<std::int16_t, std::int32_t>(column, rows, entries);
        case Type::i8: return presort_narrow<std::int8_t, std::int32_t>(column, rows, entries);
        case Type::u32: return presort_narrow<uint32_t, uint32_t>(column, rows, entries);
        case Type::u16: return presort_narrow<std::uint16_t, uint32_t>(column, rows, entries);
        case Type::u8:
        case Type::boolean: return presort_narrow<std::uint8_t, uint32_t>(column, rows, entries);
    }
    return 0;
}

}  // namespace countwise::COUNTWISE_LEVEL
