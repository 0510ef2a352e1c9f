// Columns of whole numbers: their range, their distinct values, their codes.
#include "levels.h"
#include "tiles.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr size_t part_rows = 512;
constexpr double exact_limit = 9007199254740992.0;     // 2**53
constexpr double int64_limit = 9223372036854775808.0;  // 2**63

// The whole numbers of a part of a column, and which of its cells are missing.
// A u64 above int64 wraps around; floats must be whole.
struct Part {
    int64_t value[part_rows];
    bool missing[part_rows];
    bool gaps;
};

void read_part(Column column, size_t start, size_t n, Part& part) {
    part.gaps = is_float(column.type);
    if (!part.gaps) return convert(column, start, n, part.value);
    double x[part_rows];
    convert(column, start, n, x);
    for (size_t i = 0; i < n; ++i) {
        part.missing[i] = x[i] != x[i];
        part.value[i] = part.missing[i] ? 0 : static_cast<int64_t>(x[i]);
    }
}

}  // namespace

bool is_integral(Column column, size_t rows) {
    if (!is_float(column.type)) return true;
    double x[part_rows];
    for (size_t start = 0; start < rows; start += part_rows) {
        const size_t n = smaller(part_rows, rows - start);
        convert(column, start, n, x);
        int bad = 0;
        for (size_t i = 0; i < n; ++i)
            bad |= (x[i] == x[i]) & !((std::fabs(x[i]) < exact_limit) & (std::floor(x[i]) == x[i]));
        if (bad) return false;
    }
    return true;
}

bool integer_range(Column column, size_t rows, int64_t* low, int64_t* high) {
    // Unsigned 64-bit numbers are ordered as signed ones once their first bit is turned.
    const uint64_t turn = column.type == Type::u64 ? uint64_t{1} << 63 : 0;
    int64_t least = INT64_MAX, most = INT64_MIN;
    bool found = false;
    Part part;
    for (size_t start = 0; start < rows; start += part_rows) {
        const size_t n = smaller(part_rows, rows - start);
        read_part(column, start, n, part);
        if (part.gaps) {
            for (size_t i = 0; i < n; ++i) {
                if (part.missing[i]) continue;
                found = true;
                least = smaller(least, part.value[i]), most = larger(most, part.value[i]);
            }
        } else {
            found = true;
            for (size_t i = 0; i < n; ++i) {
                const int64_t value = static_cast<int64_t>(static_cast<uint64_t>(part.value[i]) ^ turn);
                least = smaller(least, value), most = larger(most, value);
            }
        }
    }
    *low = static_cast<int64_t>(static_cast<uint64_t>(least) ^ turn);
    *high = static_cast<int64_t>(static_cast<uint64_t>(most) ^ turn);
    return found;
}

void integer_marks(Column column, size_t rows, int64_t low, std::uint8_t* marks) {
    Part part;
    for (size_t start = 0; start < rows; start += part_rows) {
        const size_t n = smaller(part_rows, rows - start);
        read_part(column, start, n, part);
        for (size_t i = 0; i < n; ++i)
            if (!part.gaps || !part.missing[i]) marks[part.value[i] - low] = 1;
    }
}

size_t integer_values(Column column, size_t rows, int64_t* values) {
    Part part;
    size_t count = 0;
    for (size_t start = 0; start < rows; start += part_rows) {
        const size_t n = smaller(part_rows, rows - start);
        read_part(column, start, n, part);
        for (size_t i = 0; i < n; ++i)
            if (!part.gaps || !part.missing[i]) values[count++] = part.value[i];
    }
    return count;
}

namespace {

template <class Code>
struct Encoder {
    const Code* lookup;
    uint64_t n;
    int64_t low;
    Code missing, other;
    bool is_unsigned;

    COUNTWISE_INLINE Code of(int64_t x) const {
        const uint64_t index = static_cast<uint64_t>(x) - static_cast<uint64_t>(low);
        // The test against low too, because the difference wraps around. Beyond int64 only a low of 0 or
        // more can be near.
        const bool above = is_unsigned && x < 0 ? low >= 0 : x >= low;
        return above && index < n ? lookup[index] : other;
    }
    COUNTWISE_INLINE Code of(double x) const {
        if (x != x) return missing;
        const bool whole = std::fabs(x) < int64_limit && std::floor(x) == x;
        return whole ? of(static_cast<int64_t>(x)) : other;
    }
};

template <class Code>
void encode(Column column, size_t rows, const Encoder<Code>& encoder, Code* codes) {
    double x[part_rows];
    int64_t whole[part_rows];
    for (size_t start = 0; start < rows; start += part_rows) {
        const size_t n = smaller(part_rows, rows - start);
        if (is_float(column.type)) {
            convert(column, start, n, x);
            for (size_t i = 0; i < n; ++i) codes[start + i] = encoder.of(x[i]);
        } else {
            convert(column, start, n, whole);
            for (size_t i = 0; i < n; ++i) codes[start + i] = encoder.of(whole[i]);
        }
    }
}

template <class Code>
void encode(Column column, size_t rows, int64_t low, const void* lookup, size_t n_lookup, uint32_t missing,
            uint32_t other, void* codes) {
    const Encoder<Code> encoder{static_cast<const Code*>(lookup), n_lookup, low, static_cast<Code>(missing),
                                static_cast<Code>(other), column.type == Type::u64};
    encode(column, rows, encoder, static_cast<Code*>(codes));
}

}  // namespace

void encode_integers(Column column, size_t rows, int64_t low, const void* lookup, size_t n_lookup, Type type,
                     uint32_t missing, uint32_t other, void* codes) {
    switch (type) {
        case Type::u8:
            return encode<std::uint8_t>(column, rows, low, lookup, n_lookup, missing, other, codes);
        case Type::u16:
            return encode<std::uint16_t>(column, rows, low, lookup, n_lookup, missing, other, codes);
        default: return encode<uint32_t>(column, rows, low, lookup, n_lookup, missing, other, codes);
    }
}

}  // namespace countwise::COUNTWISE_LEVEL
