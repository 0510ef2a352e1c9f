// Levenshtein distances by bit-parallel computation (Myers, 1999, in the form of Hyyrö): a column of the distance table
// is stored as one bit per letter for where it increases and one for where it decreases. Short strings are processed in
// parallel in the lanes of a vector; long strings take several words.
#include <type_traits>

#include "support/simd.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr size_t tile = 16;                     // strings whose results are buffered together
constexpr size_t most_table = size_t{1} << 26;  // bytes of the positions of the letters of a long string

// Assigns a number to each letter of some strings; 0 is for all other letters.
class Alphabet {
public:
    explicit Alphabet(size_t most) : size_(size_for(most)), slots_(size_) {
        for (size_t i = 0; i < size_; ++i) slots_[i] = {0, 0};
    }
    void add(uint32_t letter) {
        Slot& slot = find(letter);
        if (slot.number == 0) slot = {letter, ++count_};
    }
    uint32_t of(uint32_t letter) const { return find(letter).number; }
    size_t count() const { return count_ + size_t{1}; }

private:
    struct Slot {
        uint32_t letter, number;
    };
    Slot& find(uint32_t letter) const {
        size_t at = (letter * uint32_t{2654435761}) & (size_ - 1);
        while (slots_[at].number != 0 && slots_[at].letter != letter) at = (at + 1) & (size_ - 1);
        return slots_[at];
    }
    static size_t size_for(size_t most) {
        size_t size = 16;
        while (size < 2 * most + 2) size *= 2;
        return size;
    }
    const size_t size_;
    const Scratch<Slot> slots_;
    uint32_t count_ = 0;
};

// Strings with letters replaced by their numbers.
struct Numbered {
    const uint32_t* letters;
    const int64_t* starts;
    size_t n;
    const uint32_t* of(size_t i) const { return letters + starts[i]; }
    size_t size(size_t i) const { return static_cast<size_t>(starts[i + 1] - starts[i]); }
};

COUNTWISE_INLINE uint32_t ones(uint64_t x) { return static_cast<uint32_t>(__builtin_popcountll(x)); }

template <class T>
struct Lane {
    typedef T vector __attribute__((vector_size(32)));
    using difference = std::make_signed_t<T>;
};

// The number of set bits in each lane.
template <class V, class T>
COUNTWISE_INLINE V ones_of(V x) {
    constexpr T all = static_cast<T>(~T{0});
    x = x - (x >> 1 & static_cast<T>(all / 3));
    x = (x & static_cast<T>(all / 5)) + (x >> 2 & static_cast<T>(all / 5));
    x = (x + (x >> 4)) & static_cast<T>(all / 17);
    if (sizeof(T) > 1) x = x + (x >> (sizeof(T) > 1 ? 8 : 0));
    if (sizeof(T) > 2) x = x + (x >> (sizeof(T) > 2 ? 16 : 0));
    if (sizeof(T) > 4) x = x + (x >> (sizeof(T) > 4 ? 32 : 0));
    return x & static_cast<T>(127);
}

template <class V>
COUNTWISE_INLINE void step(V same, V& rises, V& falls) {
    const V flat = (((same & rises) + rises) ^ rises) | same | falls;
    V up = falls | ~(flat | rises), down = flat & rises;
    up = (up + up) | 1, down = down + down;
    rises = down | ~(flat | up);
    falls = up & flat;
}

// Two vectors of strings that are no longer than the bits of a lane, compared with all other strings.
template <class T>
void in_lanes(const Numbered& a, const size_t* which, size_t n, const Numbered& b, uint32_t* out, size_t letters) {
    using V = typename Lane<T>::vector;
    constexpr size_t width = 32 / sizeof(T);
    Scratch<V> places(2 * letters);
    for (size_t c = 0; c < 2 * letters; ++c) places[c] = V{};
    Checkpoint checkpoint;
    for (size_t first = 0; first < n; first += 2 * width) {
        const size_t count = smaller(2 * width, n - first);
        for (size_t k = 0; k < count; ++k) {
            const uint32_t* string = a.of(which[first + k]);
            for (size_t i = 0; i < a.size(which[first + k]); ++i)
                places[2 * string[i] + k / width][k % width] |= static_cast<T>(T{1} << i);
        }
        V all[2] = {V{}, V{}};  // the bits of each string
        for (size_t k = 0; k < count; ++k)
            all[k / width][k % width] =
                static_cast<T>(static_cast<T>(~T{0}) >> (8 * sizeof(T) - a.size(which[first + k])));
        for (size_t j = 0; j < b.n; j += tile) {
            // Buffer the results of some strings until they fill cache lines.
            const size_t texts = smaller(tile, b.n - j);
            V found[tile][2];
            for (size_t t = 0; t < texts; ++t) {
                V rises = ~V{}, falls = V{}, other_rises = rises, other_falls = falls;
                const uint32_t* text = b.of(j + t);
                const size_t size = b.size(j + t);
                checkpoint.after(4 * size + 16);
                for (size_t i = 0; i < size; ++i) {
                    step(places[2 * text[i]], rises, falls);
                    step(places[2 * text[i] + 1], other_rises, other_falls);
                }
                found[t][0] = ones_of<V, T>(rises & all[0]) - ones_of<V, T>(falls & all[0]);
                found[t][1] = ones_of<V, T>(other_rises & all[1]) - ones_of<V, T>(other_falls & all[1]);
            }
            for (size_t k = 0; k < count; ++k) {
                uint32_t* to = out + which[first + k] * b.n + j;
                const T* from = reinterpret_cast<const T*>(&found[0][0]) + k;
                for (size_t t = 0; t < texts; ++t) {
                    const auto more = static_cast<typename Lane<T>::difference>(from[t * 2 * width]);
                    to[t] = static_cast<uint32_t>(static_cast<int64_t>(b.size(j + t)) + more);
                }
            }
        }
        for (size_t k = 0; k < count; ++k) {
            const uint32_t* string = a.of(which[first + k]);
            for (size_t i = 0; i < a.size(which[first + k]); ++i)
                places[2 * string[i]] = places[2 * string[i] + 1] = V{};
        }
    }
}

// A string of any length, in words of 64 letters.
void in_words(const Numbered& a, size_t which, const Numbered& b, uint32_t* out, size_t letters) {
    const uint32_t* string = a.of(which);
    const size_t n = a.size(which), words = (n + 63) / 64;
    Scratch<uint64_t> places(letters * words), rises(words), falls(words);
    for (size_t i = 0; i < letters * words; ++i) places[i] = 0;
    for (size_t i = 0; i < n; ++i) places[string[i] * words + i / 64] |= uint64_t{1} << (i % 64);
    Checkpoint checkpoint;
    const uint64_t last = n % 64 == 0 ? ~uint64_t{0} : (uint64_t{1} << (n % 64)) - 1;
    for (size_t j = 0; j < b.n; ++j) {
        for (size_t w = 0; w < words; ++w) rises[w] = ~uint64_t{0}, falls[w] = 0;
        const uint32_t* text = b.of(j);
        const size_t size = b.size(j);
        for (size_t i = 0; i < size; ++i) {
            checkpoint.after(words);
            const uint64_t* same_at = places.get() + text[i] * words;
            uint64_t rise = 1, fall = 0;  // carried from the previous word
            for (size_t w = 0; w < words; ++w) {
                const uint64_t same = same_at[w], across = same | falls[w], low = same | fall;
                const uint64_t flat = (((low & rises[w]) + rises[w]) ^ rises[w]) | low;
                const uint64_t up = falls[w] | ~(flat | rises[w]), down = flat & rises[w];
                const uint64_t up_in = up << 1 | rise, down_in = down << 1 | fall;
                rise = up >> 63, fall = down >> 63;
                rises[w] = down_in | ~(across | up_in);
                falls[w] = up_in & across;
            }
        }
        uint32_t distance = static_cast<uint32_t>(size);
        for (size_t w = 0; w < words; ++w) {
            const uint64_t all = w + 1 == words ? last : ~uint64_t{0};
            distance += ones(rises[w] & all);
            distance -= ones(falls[w] & all);
        }
        out[which * b.n + j] = distance;
    }
}

// Row by row, for long strings with very many different letters.
void line_by_line(const Numbered& a, size_t which, const Numbered& b, uint32_t* out) {
    const uint32_t* string = a.of(which);
    const size_t n = a.size(which);
    Scratch<uint32_t> line(n + 1);
    Checkpoint checkpoint;
    for (size_t j = 0; j < b.n; ++j) {
        for (size_t i = 0; i <= n; ++i) line[i] = static_cast<uint32_t>(i);
        for (size_t k = 0; k < b.size(j); ++k) {
            checkpoint.after(n);
            uint32_t corner = line[0];
            line[0] = static_cast<uint32_t>(k + 1);
            for (size_t i = 0; i < n; ++i) {
                const uint32_t across = corner + (string[i] != b.of(j)[k]);
                corner = line[i + 1];
                line[i + 1] = smaller(across, smaller(line[i + 1], line[i]) + 1);
            }
        }
        out[which * b.n + j] = line[n];
    }
}

void numbered(const Alphabet& alphabet, const uint32_t* letters, const int64_t* starts, size_t n, uint32_t* to) {
    for (int64_t i = starts[0]; i < starts[n]; ++i) to[i - starts[0]] = alphabet.of(letters[i]);
}

}  // namespace

void edit_distances(const uint32_t* letters, const int64_t* starts, size_t n, const uint32_t* other_letters,
                    const int64_t* other_starts, size_t n_others, uint32_t* out) {
    const size_t size = static_cast<size_t>(starts[n] - starts[0]),
                 other_size = static_cast<size_t>(other_starts[n_others] - other_starts[0]);
    Alphabet alphabet(size);
    for (int64_t i = starts[0]; i < starts[n]; ++i) alphabet.add(letters[i]);
    Scratch<uint32_t> mine(size + 1), theirs(other_size + 1);
    numbered(alphabet, letters, starts, n, mine.get());
    numbered(alphabet, other_letters, other_starts, n_others, theirs.get());
    const Numbered a = {mine.get() - starts[0], starts, n},
                   b = {theirs.get() - other_starts[0], other_starts, n_others};
    Scratch<size_t> which(n + 1);
    const size_t limits[5] = {0, 8, 16, 32, 64};
    for (size_t c = 0; c < 4; ++c) {
        size_t count = 0;
        for (size_t i = 0; i < n; ++i)
            if (a.size(i) > limits[c] && a.size(i) <= limits[c + 1]) which[count++] = i;
        if (count == 0) continue;
        if (c == 0) in_lanes<uint8_t>(a, which.get(), count, b, out, alphabet.count());
        else if (c == 1) in_lanes<uint16_t>(a, which.get(), count, b, out, alphabet.count());
        else if (c == 2) in_lanes<uint32_t>(a, which.get(), count, b, out, alphabet.count());
        else in_lanes<uint64_t>(a, which.get(), count, b, out, alphabet.count());
    }
    for (size_t i = 0; i < n; ++i) {
        if (a.size(i) == 0)
            for (size_t j = 0; j < n_others; ++j) out[i * n_others + j] = static_cast<uint32_t>(b.size(j));
        else if (a.size(i) > 64 && alphabet.count() * ((a.size(i) + 63) / 64) * 8 <= most_table)
            in_words(a, i, b, out, alphabet.count());
        else if (a.size(i) > 64) line_by_line(a, i, b, out);
    }
}

}  // namespace countwise::COUNTWISE_LEVEL
