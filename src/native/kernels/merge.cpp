// Merges several ascending sequences, one for each class, into one sequence with codes.
#include "support/tiles.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

COUNTWISE_INLINE uint64_t bits_of(double x) { return load_as<uint64_t>(&x); }
COUNTWISE_INLINE double cell_of(uint64_t bits) { return load_as<double>(&bits); }

// Selects one of two values by an unpredictable condition; bit operations keep compilers from using a branch.
template <class T>
COUNTWISE_INLINE T choose(bool second, T a, T b) {
    return static_cast<T>(a ^ ((a ^ b) & (T{0} - static_cast<T>(second))));
}
COUNTWISE_INLINE double choose(bool second, double a, double b) {
    return cell_of(choose(second, bits_of(a), bits_of(b)));
}

template <class Code>
struct Run {
    const double* value;
    const Code* code;
    size_t n;
};

// Merges two runs; of equal values those of the first run come first. It works from both ends at once, because each end
// alone would wait for its last comparison.
template <class Code>
void merge_two(Run<Code> a, Run<Code> b, double* to, Code* to_code) {
    Checkpoint checkpoint;
    const double *x = a.value, *y = b.value, *x_end = x + a.n, *y_end = y + b.n;
    const Code *c = a.code, *d = b.code, *c_end = c + a.n, *d_end = d + b.n;
    double* end = to + a.n + b.n;
    Code* end_code = to_code + a.n + b.n;
    for (;;) {
        // This many steps from both ends cannot reach the end of either run.
        const size_t steps = smaller<size_t>(static_cast<size_t>(smaller(x_end - x, y_end - y)) / 2, size_t{1} << 18);
        if (steps < 16) break;
        checkpoint.after(steps);
        for (size_t i = 0; i < steps; ++i) {
            const bool second = *y < *x;
            *to++ = choose(second, *x, *y);
            *to_code++ = choose(second, *c, *d);
            y += second, d += second, x += !second, c += !second;
            const bool first = y_end[-1] < x_end[-1];
            *--end = choose(first, y_end[-1], x_end[-1]);
            *--end_code = choose(first, d_end[-1], c_end[-1]);
            x_end -= first, c_end -= first, y_end -= !first, d_end -= !first;
        }
    }
    while (x < x_end && y < y_end) {
        if (*y < *x) *to++ = *y++, *to_code++ = *d++;
        else *to++ = *x++, *to_code++ = *c++;
    }
    const size_t left = static_cast<size_t>(x_end - x), right = static_cast<size_t>(y_end - y);
    if (left) std::memcpy(to, x, left * sizeof(double)), std::memcpy(to_code, c, left * sizeof(Code));
    if (right) std::memcpy(to, y, right * sizeof(double)), std::memcpy(to_code, d, right * sizeof(Code));
}

template <class Code>
void merge_runs(const double* const* values, const size_t* sizes, size_t n_classes, double* merged, Code* codes) {
    size_t total = 0, levels = 0;
    for (size_t c = 0; c < n_classes; ++c) total += sizes[c];
    while ((size_t{1} << levels) < n_classes) ++levels;
    if (total == 0) return;
    if (levels == 0) {
        std::memcpy(merged, values[0], total * sizeof(double));
        std::memset(static_cast<void*>(codes), 0, total * sizeof(Code));
        return;
    }
    // Levels alternate between scratch memory and the result, so that the last one writes to the result.
    Scratch<double> spare(levels > 1 ? total : 0);
    Scratch<Code> spare_codes(total);
    Scratch<Run<Code>> runs(n_classes);
    Code* at = levels % 2 ? spare_codes.get() : codes;
    for (size_t c = 0; c < n_classes; at += sizes[c++]) {
        runs[c] = {values[c], at, sizes[c]};
        for (size_t i = 0; i < sizes[c]; ++i) at[i] = static_cast<Code>(c);
    }
    size_t count = n_classes;
    for (size_t level = levels; level-- > 0;) {
        double* to = level % 2 ? spare.get() : merged;
        Code* to_code = level % 2 ? spare_codes.get() : codes;
        size_t made = 0;
        for (size_t r = 0; r < count; r += 2) {
            const Run<Code> a = runs[r], b = r + 1 < count ? runs[r + 1] : Run<Code>{nullptr, nullptr, 0};
            merge_two(a, b, to, to_code);
            runs[made++] = {to, to_code, a.n + b.n};
            to += a.n + b.n, to_code += a.n + b.n;
        }
        count = made;
    }
}

template <class T>
void put_weights(Column codes, size_t n, const Column* weights, const size_t* sizes, size_t n_classes, Type type,
                 T* merged) {
    constexpr size_t part = 1024;
    size_t capacity = 0;
    for (size_t c = 0; c < n_classes; ++c) capacity += weights[c].type == type ? 0 : sizes[c];
    Scratch<T> converted(capacity);
    Scratch<Column> next(n_classes);
    T* to = converted.get();
    for (size_t c = 0; c < n_classes; ++c) {
        next[c] = weights[c];
        if (weights[c].type == type) continue;
        convert(weights[c], 0, sizes[c], to);
        next[c] = {reinterpret_cast<const char*>(to), sizeof(T), type};
        to += sizes[c];
    }
    uint32_t code[part];
    Checkpoint checkpoint;
    for (size_t start = 0; start < n; start += part) {
        const size_t rows = smaller(part, n - start);
        checkpoint.after(rows);
        convert_codes(codes, start, rows, code);
        for (size_t i = 0; i < rows; ++i) {
            Column& from = next[code[i]];
            merged[start + i] = cell<T>(from.data);
            from.data += from.stride;
        }
    }
}

}  // namespace

void merge_sets(const double* const* values, const size_t* sizes, size_t n_classes, Type type, double* merged,
                void* codes) {
    with_code_type(
        type, [&](auto zero) { merge_runs(values, sizes, n_classes, merged, static_cast<decltype(zero)*>(codes)); });
}

void merge_weights(Column codes, size_t n, const Column* weights, const size_t* sizes, size_t n_classes, bool whole,
                   void* merged) {
    if (whole) put_weights(codes, n, weights, sizes, n_classes, Type::i64, static_cast<int64_t*>(merged));
    else put_weights(codes, n, weights, sizes, n_classes, Type::f64, static_cast<double*>(merged));
}

}  // namespace countwise::COUNTWISE_LEVEL
