// Contingency tables of many families of columns in one pass.
//
// Small tables are counted by bit planes: for every value of a column, one bit per row. The planes of all columns of a
// family but the last are combined, and each combination is compared with the planes of the last column. Consecutive
// families that begin with the same columns share the combinations. Large tables are counted row by row, with one key
// for each combination of values.
#if defined(__AVX2__) || defined(__SSE2__)
#include <immintrin.h>
#endif

#include "support/tiles.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr size_t plane_words = 128;
constexpr size_t plane_rows = 64 * plane_words;  // planes of a hundred columns fit in the L2 cache
constexpr size_t most_values = 64;
constexpr uint8_t outside = UINT8_MAX;

#if defined(__AVX2__)

// The sum a + b + c of each bit, as two bits.
COUNTWISE_INLINE void add_bits(vu a, vu b, vu c, vu& high, vu& low) {
    const vu odd = a ^ b;
    high = (a & b) | (odd & c);
    low = odd ^ c;
}

// The number of set bits in each byte.
COUNTWISE_INLINE vu bits_in_bytes(vu x) {
    x = x - ((x >> 1) & 0x5555555555555555u);
    x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
    return (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
}

// Sums of pairs of bytes.
COUNTWISE_INLINE vu in_twos(vu bytes) {
    constexpr uint64_t low = 0x00ff00ff00ff00ffu;
    return (bytes & low) + ((bytes >> 8) & low);
}

// The number of common bits of two planes. Sixteen vectors at a time are added bit by bit (Harley-Seal), so that few
// vectors must be counted.
inline uint32_t common(const uint64_t* a, const uint64_t* b) {
    constexpr size_t step = 16 * lanes;
    const auto both = [&](size_t i) { return load_as<vu>(a + i * lanes) & load_as<vu>(b + i * lanes); };
    vu ones{}, twos{}, fours{}, eights{}, sixteens{};
    for (size_t at = 0; at < plane_words; at += step, a += step, b += step) {
        vu two[2], four[2], eight[2], sixteen;
        for (size_t i = 0; i < 2; ++i) {
            for (size_t j = 0; j < 2; ++j) {
                const size_t k = 8 * i + 4 * j;
                add_bits(ones, both(k), both(k + 1), two[0], ones);
                add_bits(ones, both(k + 2), both(k + 3), two[1], ones);
                add_bits(twos, two[0], two[1], four[j], twos);
            }
            add_bits(fours, four[0], four[1], eight[i], fours);
        }
        add_bits(eights, eight[0], eight[1], sixteen, eights);
        sixteens += bits_in_bytes(sixteen);
    }
    const vu low = bits_in_bytes(ones) + (bits_in_bytes(twos) << 1), high = bits_in_bytes(eights) + (sixteens << 1);
    vu sum = in_twos(low) + (in_twos(bits_in_bytes(fours)) << 2) + (in_twos(high) << 3);
    sum = (sum & 0x0000ffff0000ffffu) + ((sum >> 16) & 0x0000ffff0000ffffu);
    uint64_t total = 0;
    for (size_t i = 0; i < lanes; ++i) total += sum[i];
    return static_cast<uint32_t>(total) + static_cast<uint32_t>(total >> 32);
}

#else

inline uint32_t common(const uint64_t* a, const uint64_t* b) {
    uint32_t sum[4] = {};
    for (size_t i = 0; i < plane_words; i += 4)
        for (size_t k = 0; k < 4; ++k) sum[k] += static_cast<uint32_t>(__builtin_popcountll(a[i + k] & b[i + k]));
    return sum[0] + sum[1] + sum[2] + sum[3];
}

#endif

// One bit for each of 64 codes: whether it equals `code`.
COUNTWISE_INLINE uint64_t equal_bits(const uint8_t* codes, uint8_t code) {
#if defined(__AVX2__)
    const __m256i wanted = _mm256_set1_epi8(static_cast<char>(code));
    const auto half = [&](const uint8_t* at) {
        const __m256i cells = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
        return static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(cells, wanted)));
    };
    return half(codes) | uint64_t{half(codes + 32)} << 32;
#elif defined(__SSE2__)
    const __m128i wanted = _mm_set1_epi8(static_cast<char>(code));
    uint64_t word = 0;
    for (int i = 0; i < 4; ++i) {
        const __m128i cells = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + 16 * i));
        word |= static_cast<uint64_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(cells, wanted))) << (16 * i);
    }
    return word;
#else
    uint64_t word = 0;
    for (int i = 0; i < 64; ++i) word |= static_cast<uint64_t>(codes[i] == code) << i;
    return word;
#endif
}

// The planes of one column, for the values that occur in the current rows.
struct Planes {
    uint64_t* words;
    size_t n, counted;  // the last plane need not be counted if every row has a valid value
    uint8_t value[most_values];
    uint32_t rows[most_values];

    const uint64_t* plane(size_t i) const { return words + i * plane_words; }
};

template <class Code>
void narrow(Column column, size_t start, size_t n, uint8_t* to) {
    const char* at = column.data + static_cast<ptrdiff_t>(start) * column.stride;
    for (size_t i = 0; i < n; ++i, at += column.stride)
        to[i] = static_cast<uint8_t>(smaller<Code>(cell<Code>(at), outside));
}

inline void make_planes(Column column, size_t start, size_t n, size_t n_values, uint8_t* cells, Planes& planes) {
    const uint8_t* codes = cells;
    if (column.type == Type::u8 && column.stride == 1 && n == plane_rows) {
        codes = reinterpret_cast<const uint8_t*>(column.data) + start;
    } else {
        with_code_type(column.type, [=](auto zero) { narrow<decltype(zero)>(column, start, n, cells); });
        std::memset(cells + n, outside, plane_rows - n);
    }
    size_t inside = 0;
    planes.n = 0;
    for (size_t v = 0; v < n_values; ++v) {
        uint64_t* to = planes.words + planes.n * plane_words;
        for (size_t i = 0; i < plane_words; ++i) to[i] = equal_bits(codes + 64 * i, static_cast<uint8_t>(v));
        const uint32_t rows = common(to, to);
        planes.value[planes.n] = static_cast<uint8_t>(v);
        planes.rows[planes.n] = rows;
        planes.n += rows > 0;
        inside += rows;
    }
    planes.counted = planes.n - (planes.n > 0 && inside == n);
}

constexpr size_t most_crossed = 128, most_depth = 8;
// Number of plane comparisons above which counting row by row is faster: measured for v3, estimated for the others.
constexpr size_t most_compared = lanes > 4 ? 300 : 200, most_of_pair = lanes > 4 ? 180 : 110;
constexpr size_t key_rows = 512;
constexpr uint32_t nowhere = UINT32_MAX;

// Planes of the combinations of values of a family's first columns that occur in the current rows.
struct Crossed {
    const uint64_t* words;
    size_t n, counted;  // the last plane need not be counted if every row has a valid value
    uint32_t place[most_crossed], rows[most_crossed];

    const uint64_t* plane(size_t i) const { return words + i * plane_words; }
};

void start_crossed(const Planes& column, Crossed& to) {
    to.words = column.words;
    to.n = column.n, to.counted = column.counted;
    for (size_t i = 0; i < column.n; ++i) to.place[i] = column.value[i], to.rows[i] = column.rows[i];
}

void cross(const Crossed& from, const Planes& column, size_t size, uint64_t* words, Crossed& to) {
    to.words = words;
    to.n = 0;
    for (size_t i = 0; i < from.n; ++i) {
        uint32_t left = from.rows[i];
        for (size_t j = 0; j < column.n && left; ++j) {
            uint64_t* both = words + to.n * plane_words;
            const uint64_t *a = from.plane(i), *b = column.plane(j);
            for (size_t w = 0; w < plane_words; ++w) both[w] = a[w] & b[w];
            const uint32_t rows = common(both, both);
            to.place[to.n] = from.place[i] * static_cast<uint32_t>(size) + column.value[j];
            to.rows[to.n] = rows;
            to.n += rows > 0;
            left -= rows;
        }
    }
    to.counted = to.n - (from.counted < from.n && column.counted < column.n);
}

void count_crossed(const Crossed& from, const Planes& last, size_t size, int64_t* table) {
    uint32_t rest[most_values];  // rows of the last column that have not been counted yet
    for (size_t j = 0; j < last.n; ++j) rest[j] = last.rows[j];
    for (size_t i = 0; i < from.counted; ++i) {
        int64_t* to = table + from.place[i] * size;
        uint32_t left = from.rows[i];
        for (size_t j = 0; j < last.counted && left; ++j) {
            const uint32_t rows = common(from.plane(i), last.plane(j));
            to[last.value[j]] += rows;
            rest[j] -= rows, left -= rows;
        }
        if (last.counted < last.n) to[last.value[last.counted]] += left, rest[last.counted] -= left;
    }
    if (from.counted < from.n)
        for (size_t j = 0; j < last.n; ++j) table[from.place[from.counted] * size + last.value[j]] += rest[j];
}

bool by_planes(const Family& family, const size_t* sizes) {
    size_t crossed = 1;
    if (family.n > most_depth) return false;
    for (size_t k = 0; k < family.n; ++k) {
        const size_t size = sizes[family.columns[k]];
        if (size == 0 || size > most_values || crossed > most_crossed) return false;
        if (k + 1 < family.n) crossed *= size;
    }
    const size_t last = sizes[family.columns[family.n - 1]];
    if (family.n == 2) return (crossed - 1) * (last - 1) <= most_of_pair;
    return crossed <= most_crossed && crossed * (last - 1) <= most_compared;
}

// State kept from one family to the next, within one block of rows.
class PlaneCounter {
public:
    PlaneCounter(const Column* columns, size_t n_columns, const size_t* sizes, const Family* families, size_t n)
        : columns_(columns), sizes_(sizes), n_columns_(n_columns), cells_(plane_rows), planes_(n_columns),
          made_(n_columns), words_(planes_needed(families, n) * plane_words), crossed_(most_depth),
          crossed_words_(most_depth * most_crossed * plane_words) {
        uint64_t* next = words_.get();
        for (size_t j = 0; j < n_columns; ++j) {
            planes_[j].words = next;
            next += made_[j] ? sizes[j] * plane_words : 0;
        }
    }

    void block(size_t start, size_t n) {
        start_ = start, n_ = n, depth_ = 0;
        for (size_t j = 0; j < n_columns_; ++j) made_[j] = false;
    }
    // Called when a family was counted by another method.
    void forget() { depth_ = 0; }

    void count(const Family& family) {
        const size_t last = family.columns[family.n - 1];
        int64_t* table = static_cast<int64_t*>(family.cells);
        if (family.n == 1) {
            const Planes& planes = planes_of(last);
            for (size_t i = 0; i < planes.n; ++i) table[planes.value[i]] += planes.rows[i];
            return forget();
        }
        for (size_t k = smaller(family.shared, depth_); k + 1 < family.n; ++k) {
            const size_t j = family.columns[k];
            uint64_t* words = crossed_words_.get() + k * most_crossed * plane_words;
            if (k == 0) start_crossed(planes_of(j), crossed_[0]);
            else cross(crossed_[k - 1], planes_of(j), sizes_[j], words, crossed_[k]);
        }
        depth_ = family.n - 1;
        count_crossed(crossed_[depth_ - 1], planes_of(last), sizes_[last], table);
    }

private:
    const Column* columns_;
    const size_t* sizes_;
    size_t n_columns_, start_ = 0, n_ = 0, depth_ = 0;
    Scratch<uint8_t> cells_;
    Scratch<Planes> planes_;
    Scratch<bool> made_;
    Scratch<uint64_t> words_;
    Scratch<Crossed> crossed_;
    Scratch<uint64_t> crossed_words_;

    // The number of planes of all columns that are needed.
    size_t planes_needed(const Family* families, size_t n) {
        for (size_t j = 0; j < n_columns_; ++j) made_[j] = false;
        size_t total = 0;
        for (size_t f = 0; f < n; ++f) {
            if (!by_planes(families[f], sizes_)) continue;
            for (size_t k = 0; k < families[f].n; ++k) {
                const size_t j = families[f].columns[k];
                total += made_[j] ? 0 : sizes_[j];
                made_[j] = true;
            }
        }
        return total;
    }

    const Planes& planes_of(size_t j) {
        if (!made_[j]) make_planes(columns_[j], start_, n_, sizes_[j], cells_.get(), planes_[j]);
        made_[j] = true;
        return planes_[j];
    }
};

// Computes one key for the values of a family's first columns in each row of a block.
class KeyCounter {
public:
    KeyCounter(const Column* columns, const size_t* sizes)
        : columns_(columns), sizes_(sizes), first_(plane_rows), codes_(key_rows) {}

    void block(size_t start, size_t n) { start_ = start, n_ = n, begun_ = false; }
    void forget() { begun_ = false; }

    template <class Total, class Weight>
    void count(const Family& family, const Weight& weight) {
        if (!begun_ || family.shared + 1 < family.n || depth_ + 1 != family.n) begin(family);
        const size_t last = family.columns[family.n - 1];
        Total* to = static_cast<Total*>(family.cells);
        uint32_t keys[key_rows];
        for (size_t at = 0; at < n_; at += key_rows) {
            const size_t n = smaller(key_rows, n_ - at);
            for (size_t i = 0; i < n; ++i) keys[i] = first_[at + i];
            extend(columns_[last], at, n, static_cast<uint32_t>(sizes_[last]), keys);
            for (size_t i = 0; i < n; ++i)
                if (keys[i] != nowhere) to[keys[i]] += weight[at + i];
        }
    }

private:
    const Column* columns_;
    const size_t* sizes_;
    size_t start_ = 0, n_ = 0, depth_ = 0;
    bool begun_ = false;
    Scratch<uint32_t> first_, codes_;

    void begin(const Family& family) {
        begun_ = true;
        depth_ = family.n - 1;
        for (size_t at = 0; at < n_; at += key_rows) {
            const size_t n = smaller(key_rows, n_ - at);
            for (size_t i = 0; i < n; ++i) first_[at + i] = 0;
            for (size_t k = 0; k < depth_; ++k) {
                const size_t j = family.columns[k];
                extend(columns_[j], at, n, static_cast<uint32_t>(sizes_[j]), first_.get() + at);
            }
        }
    }

    void extend(Column column, size_t at, size_t n, uint32_t size, uint32_t* keys) {
        uint32_t* codes = codes_.get();
        convert_codes(column, start_ + at, n, codes);
        for (size_t i = 0; i < n; ++i) {
            const bool inside = (codes[i] < size) & (keys[i] != nowhere);
            keys[i] = inside ? keys[i] * size + codes[i] : nowhere;
        }
    }
};

// The counting method of a family. Pairs of columns with large tables or with integer weights are counted separately,
// where consecutive equal values do not wait for each other. Fractional weights must be added in row order.
enum Way : uint8_t { by_plane, by_key, alone };

Way way_of(const Family& family, const size_t* sizes, Column weights) {
    if (!weights.data && by_planes(family, sizes)) return by_plane;
    return family.n == 2 && !(weights.data && is_float(weights.type)) ? alone : by_key;
}

struct One {
    uint64_t operator[](size_t) const { return 1; }
};

}  // namespace

void count_codes(Column column, Column given, Column weights, size_t rows, size_t n_values, size_t n_given,
                 void* counts);

void count_families(const Column* columns, size_t n_columns, size_t rows, const size_t* sizes, const Family* families,
                    size_t n, Column weights) {
    const bool weighted = weights.data != nullptr, floats = weighted && is_float(weights.type);
    PlaneCounter planes(columns, n_columns, sizes, families, weighted ? 0 : n);
    KeyCounter keys(columns, sizes);
    Scratch<double> fractions(floats ? plane_rows : 0);
    Scratch<uint64_t> times(weighted && !floats ? plane_rows : 0);
    Scratch<Way> way(n);
    for (size_t f = 0; f < n; ++f) {
        way[f] = way_of(families[f], sizes, weights);
        const size_t first = families[f].columns[0], last = families[f].columns[families[f].n - 1];
        if (way[f] == alone)
            count_codes(columns[last], columns[first], weights, rows, sizes[last], sizes[first], families[f].cells);
    }
    Checkpoint checkpoint;
    for (size_t start = 0; start < rows; start += plane_rows) {
        const size_t in_block = smaller(plane_rows, rows - start);
        planes.block(start, in_block);
        keys.block(start, in_block);
        if (floats) convert(weights, start, in_block, fractions.get());
        else if (weighted) convert(weights, start, in_block, times.get());
        for (size_t f = 0; f < n; ++f) {
            checkpoint.after(in_block);
            if (way[f] != by_plane) planes.forget();
            if (way[f] != by_key) keys.forget();
            if (way[f] == by_plane) planes.count(families[f]);
            else if (way[f] == alone) continue;
            else if (floats) keys.count<double>(families[f], fractions.get());
            else if (weighted) keys.count<uint64_t>(families[f], times.get());  // a sum beyond the range wraps around
            else keys.count<uint64_t>(families[f], One{});
        }
    }
}

}  // namespace countwise::COUNTWISE_LEVEL
