// Columns of integers: range and distinct values.
#include "support/tiles.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr size_t part_rows = 512;
constexpr double exact_limit = 9007199254740992.0;  // 2**53

// Part of a column as integers, and which values are missing. A u64 above the int64 range wraps around; floats must be
// integers.
struct WholeNumbers {
    int64_t value[part_rows];
    bool missing[part_rows];
    bool may_miss;
};

void read_part(Column column, size_t start, size_t n, WholeNumbers& part) {
    part.may_miss = is_float(column.type);
    if (!part.may_miss) return convert(column, start, n, part.value);
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
    Checkpoint checkpoint;
    for (size_t start = 0; start < rows; start += part_rows) {
        const size_t n = smaller(part_rows, rows - start);
        checkpoint.after(n);
        convert(column, start, n, x);
        int bad = 0;
        for (size_t i = 0; i < n; ++i)
            bad |= (x[i] == x[i]) & !((std::fabs(x[i]) < exact_limit) & (std::floor(x[i]) == x[i]));
        if (bad) return false;
    }
    return true;
}

bool integer_range(Column column, size_t rows, int64_t* low, int64_t* high) {
    // Unsigned 64-bit numbers have the order of signed ones after the highest bit is flipped.
    const uint64_t turn = column.type == Type::u64 ? uint64_t{1} << 63 : 0;
    int64_t least = INT64_MAX, most = INT64_MIN;
    bool found = false;
    WholeNumbers part;
    Checkpoint checkpoint;
    for (size_t start = 0; start < rows; start += part_rows) {
        const size_t n = smaller(part_rows, rows - start);
        checkpoint.after(n);
        read_part(column, start, n, part);
        if (part.may_miss) {
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

void integer_marks(Column column, size_t rows, int64_t low, size_t span, uint8_t* marks) {
    WholeNumbers part;
    Checkpoint checkpoint;
    for (size_t start = 0; start < rows; start += part_rows) {
        const size_t n = smaller(part_rows, rows - start);
        checkpoint.after(n);
        read_part(column, start, n, part);
        for (size_t i = 0; i < n; ++i)
            if (!part.may_miss || !part.missing[i]) marks[part.value[i] - low] = 1;
        // Stop if all numbers of the range have been seen, which takes few rows if the range is small.
        if (span <= part_rows && std::memchr(marks, 0, span) == nullptr) return;
    }
}

size_t integer_values(Column column, size_t rows, int64_t* values) {
    WholeNumbers part;
    size_t count = 0;
    Checkpoint checkpoint;
    for (size_t start = 0; start < rows; start += part_rows) {
        const size_t n = smaller(part_rows, rows - start);
        checkpoint.after(n);
        read_part(column, start, n, part);
        for (size_t i = 0; i < n; ++i)
            if (!part.may_miss || !part.missing[i]) values[count++] = part.value[i];
    }
    return count;
}

}  // namespace countwise::COUNTWISE_LEVEL
