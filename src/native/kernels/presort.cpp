// Sorts the rows of a column by value.
//
// Values are mapped to integers of the same order, the keys. A row is one 64-bit word: as many differing key bits as
// fit, with the row number below them. The words are sorted by their upper bits, digit by digit (radix sort). Rows with
// equal upper bits are few, or mostly have equal keys. They are sorted in a last step; if they are many, by the same
// method.
#include <type_traits>

#include "support/tiles.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr size_t few = 40;  // maximum number of rows with equal upper bits that are sorted by insertion
constexpr uint64_t sign_64 = uint64_t{1} << 63;
constexpr uint32_t sign_32 = uint32_t{1} << 31;

COUNTWISE_INLINE uint64_t key_of(double x) {
    x += 0.0;  // -0 becomes 0
    uint64_t bits_of_x;
    std::memcpy(&bits_of_x, &x, sizeof x);
    const uint64_t negative = ~(bits_of_x >> 63) + 1;  // all bits or none
    return bits_of_x ^ (negative | sign_64);
}
COUNTWISE_INLINE uint64_t key_of(float x) {
    x += 0.0f;
    uint32_t bits_of_x;
    std::memcpy(&bits_of_x, &x, sizeof x);
    const uint32_t negative = ~(bits_of_x >> 31) + 1;
    return bits_of_x ^ (negative | sign_32);
}
// float64 represents integers of up to 32 bits exactly, so that they can be compared directly.
COUNTWISE_INLINE uint64_t key_of(int64_t x) { return static_cast<uint64_t>(x) ^ sign_64; }

template <class T>
COUNTWISE_INLINE bool is_nan(T x) {
    return x != x;
}

int bits_of(uint64_t x) {
    int bits = 0;
    while (bits < 64 && x >> bits) ++bits;
    return bits;
}

// Rows to be sorted: words, scratch memory of the same size, and the output entries.
struct SortRange {
    uint64_t *words, *other;
    uint32_t* entries;
    size_t n;

    COUNTWISE_INLINE SortRange part(size_t start, size_t count) const {
        return {words + start, other + start, entries + start, count};
    }
    void swap() {
        uint64_t* const swapped = words;
        words = other, other = swapped;
    }
};

class Sorter {
public:
    // The keys of all rows.
    Sorter(const uint64_t* keys, size_t n)
        : keys_(keys), row_bits_(bits_of(n)), row_mask_((uint64_t{1} << row_bits_) - 1) {}

    // Sorts rows by key, keeping the order of equal keys, and writes the entries. The words need not contain keys yet.
    void sort(SortRange rows, uint64_t low, uint64_t high) const {
        const int key_bits = bits_of(high - low), lost = larger(key_bits - (64 - row_bits_), 0);
        const int kept = key_bits - lost, sorted = smaller(kept, digits * digit_bits);
        const int from = row_bits_ + kept - sorted;
        uint32_t counts[digits][digit_values] = {};
        in_parts(rows.n, 1, [&](size_t start, size_t stop) {
            for (size_t i = start; i < stop; ++i) {
                const uint64_t row = rows.words[i] & row_mask_, word = (keys_[row] - low) >> lost << row_bits_ | row;
                rows.words[i] = word;
                for (int d = 0; d < digits; ++d) ++counts[d][digit(word, from, d)];
            }
        });
        for (int d = 0; d * digit_bits < sorted; ++d) by_digit(rows, from, d, counts[d]);
        finish(rows, from, lost > 0);
    }

private:
    static constexpr int digits = 4, digit_bits = 8;
    static constexpr size_t digit_values = size_t{1} << digit_bits;

    static COUNTWISE_INLINE size_t digit(uint64_t word, int from, int d) {
        return (word >> from) >> (d * digit_bits) & (digit_values - 1);
    }
    COUNTWISE_INLINE uint64_t key_of_word(uint64_t word) const { return keys_[word & row_mask_]; }

    // Whether the key of one row is above that of another; the words contain as many key bits as fit.
    COUNTWISE_INLINE bool above(uint64_t a, uint64_t b, bool lost) const {
        if (!lost || a >> row_bits_ != b >> row_bits_) return a > b;
        return key_of_word(a) > key_of_word(b);
    }
    COUNTWISE_INLINE bool differ(uint64_t a, uint64_t b, bool lost) const {
        return a >> row_bits_ != b >> row_bits_ || (lost && key_of_word(a) != key_of_word(b));
    }
    COUNTWISE_INLINE uint32_t entry(uint64_t word, bool fresh) const {
        return static_cast<uint32_t>((word & row_mask_) << 1 | static_cast<uint64_t>(fresh));
    }

    // One step of the radix sort; skipped if all rows have the same digit.
    static void by_digit(SortRange& rows, int from, int d, uint32_t* at) {
        if (at[digit(rows.words[0], from, d)] == rows.n) return;
        uint32_t sum = 0;
        for (size_t v = 0; v < digit_values; ++v) {
            const uint32_t count = at[v];
            at[v] = sum;
            sum += count;
        }
        in_parts(rows.n, 1, [&](size_t start, size_t stop) {
            for (size_t i = start; i < stop; ++i) {
                const uint64_t word = rows.words[i];
                rows.other[at[digit(word, from, d)]++] = word;
            }
        });
        rows.swap();
    }

    // Sorts runs of equal upper bits, and writes all entries.
    void finish(const SortRange& rows, int from, bool lost) const {
        Checkpoint checkpoint;
        for (size_t i = 0; i < rows.n;) {
            size_t stop = i + 1;
            checkpoint.after(1);
            while (stop < rows.n && rows.words[stop] >> from == rows.words[i] >> from) ++stop;
            if (stop - i == 1) rows.entries[i] = entry(rows.words[i], true);
            else if (stop - i <= few) finish_few(rows.part(i, stop - i), lost);
            else finish_many(rows.part(i, stop - i), lost || from > row_bits_);
            i = stop;
        }
    }

    void finish_few(const SortRange& rows, bool lost) const {
        uint64_t* const words = rows.words;
        for (size_t i = 1; i < rows.n; ++i) {
            const uint64_t word = words[i];
            size_t at = i;
            for (; at > 0 && above(words[at - 1], word, lost); --at) words[at] = words[at - 1];
            words[at] = word;
        }
        rows.entries[0] = entry(words[0], true);
        for (size_t i = 1; i < rows.n; ++i) rows.entries[i] = entry(words[i], differ(words[i - 1], words[i], lost));
    }

    void finish_many(const SortRange& rows, bool any_differ) const {
        uint64_t low = UINT64_MAX, high = 0;
        for (size_t i = 0; any_differ && i < rows.n; ++i) {
            const uint64_t key = key_of_word(rows.words[i]);
            low = smaller(low, key), high = larger(high, key);
        }
        if (low < high) return sort(rows, low, high);
        for (size_t i = 0; i < rows.n; ++i) rows.entries[i] = entry(rows.words[i], i == 0);
    }

    const uint64_t* const keys_;
    const int row_bits_;
    const uint64_t row_mask_;
};

// Values of type T, compared as `As`.
template <class T, class As>
size_t sort_cells(Column column, size_t rows, uint32_t* entries) {
    Scratch<uint64_t> keys(rows), words(rows), other(rows);
    const char* from = column.data;
    uint64_t low = UINT64_MAX, high = 0;
    size_t n = 0;
    in_parts(rows, 1, [&](size_t start, size_t stop) {
        for (size_t i = start; i < stop; ++i, from += column.stride) {
            const As x = static_cast<As>(cell<T>(from));
            const uint64_t key = key_of(x), observed = !is_nan(x);
            keys[i] = key;
            words[n] = i;
            n += observed;
            low = smaller(low, key | (observed - 1)), high = larger(high, key & (~observed + 1));
        }
    });
    if (n) Sorter(keys.get(), rows).sort({words.get(), other.get(), entries, n}, low, high);
    return n;
}

}  // namespace

size_t presort(Column column, size_t rows, uint32_t* entries) {
    return with_type(column.type, [&](auto zero) {
        using T = decltype(zero);
        using Narrow = std::conditional_t<std::is_same_v<T, float>, float, int64_t>;
        return sort_cells<T, std::conditional_t<sizeof(T) == 8, double, Narrow>>(column, rows, entries);
    });
}

}  // namespace countwise::COUNTWISE_LEVEL
