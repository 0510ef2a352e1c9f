// Bit planes: one bit a row for every value of a column.
#pragma once
#if defined(__AVX2__) || defined(__SSE2__)
#include <immintrin.h>
#endif

#include "support/tiles.h"

namespace countwise::COUNTWISE_LEVEL {

constexpr size_t plane_words = 128;
constexpr size_t plane_rows = 64 * plane_words;  // planes of a hundred columns stay in the second-level cache
constexpr size_t most_values = 64;
constexpr uint8_t outside = UINT8_MAX;

#if defined(__AVX2__)

// a + b + c of each bit, as two bits.
COUNTWISE_INLINE void add_bits(vu a, vu b, vu c, vu& high, vu& low) {
    const vu odd = a ^ b;
    high = (a & b) | (odd & c);
    low = odd ^ c;
}

// The number of bits in each byte.
COUNTWISE_INLINE vu bits_in_bytes(vu x) {
    x = x - ((x >> 1) & 0x5555555555555555u);
    x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
    return (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
}

// Bytes added in twos.
COUNTWISE_INLINE vu in_twos(vu bytes) {
    constexpr uint64_t low = 0x00ff00ff00ff00ffu;
    return (bytes & low) + ((bytes >> 8) & low);
}

// How many bits two planes have in common. Sixteen vectors at a time are added up bit by bit (Harley and Seal), so
// that only few must be counted.
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

// A bit for each of 64 codes: whether it is this one.
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

// The planes of one column: of those of its values that are in the rows at hand.
struct Planes {
    uint64_t* words;
    size_t n, counted;  // the last one need not be counted if no row is outside the values
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
        with_code_type(column.type, [&](auto zero) { narrow<decltype(zero)>(column, start, n, cells); });
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

}  // namespace countwise::COUNTWISE_LEVEL
