// Weight, mean and scatter matrix of each class.
//
// Every class has a list of its rows. When the list is full, their values are gathered by columns, centered on their
// mean and multiplied. The product is merged by Chan's formula, so that no raw sum of squares is ever formed. The lists
// are short enough for their rows to be still in the L2 cache when they are gathered.
//
// Products: vectors run over rows, and 4 x 3 pairs of columns are summed at a time, in registers. Only pairs on or
// above the diagonal are computed. The others are copied at the end, which makes the matrix exactly symmetric.
#include "complete.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr size_t left_columns = 4, right_columns = 3;
constexpr size_t cache_cells = 80 * 1024;  // 640 KB of an L2 cache of 1 MB

// The number of rows in a list: the gathered rows and the lists share the cache.
size_t list_rows(size_t columns, size_t n_classes) {
    const size_t fitting = cache_cells / (larger<size_t>(columns, 1) * (n_classes + 1));
    return larger<size_t>(smaller<size_t>(fitting, 512), 128) / 16 * 16;
}

// Products

// Adds the products of I columns with J columns to `to`, whose rows have `width` doubles.
template <size_t I, size_t J>
void multiply(const double* left, const double* right, size_t stride, size_t n, double* to, size_t width) {
    vd sum[I][J];
    for (size_t i = 0; i < I; ++i)
        for (size_t j = 0; j < J; ++j) sum[i][j] = splat(0.0);
    for (size_t r = 0; r < n; r += lanes) {
        vd b[J];
        for (size_t j = 0; j < J; ++j) b[j] = load(right + j * stride + r);
        for (size_t i = 0; i < I; ++i) {
            const vd a = load(left + i * stride + r);
            for (size_t j = 0; j < J; ++j) sum[i][j] += a * b[j];
        }
    }
    for (size_t i = 0; i < I; ++i)
        for (size_t j = 0; j < J; ++j) to[i * width + j] += sum_of(sum[i][j]);
}

// I columns with `count` columns.
template <size_t I>
void multiply_left(const double* left, const double* right, size_t count, size_t stride, size_t n, double* to,
                   size_t width) {
    size_t j = 0;
    for (; j + right_columns <= count; j += right_columns)
        multiply<I, right_columns>(left, right + j * stride, stride, n, to + j, width);
    if (count - j == 2) multiply<I, 2>(left, right + j * stride, stride, n, to + j, width);
    if (count - j == 1) multiply<I, 1>(left, right + j * stride, stride, n, to + j, width);
}

void multiply_left(size_t i, const double* left, const double* right, size_t count, size_t stride, size_t n, double* to,
                   size_t width) {
    switch (i) {
        case 1: return multiply_left<1>(left, right, count, stride, n, to, width);
        case 2: return multiply_left<2>(left, right, count, stride, n, to, width);
        case 3: return multiply_left<3>(left, right, count, stride, n, to, width);
        default: return multiply_left<left_columns>(left, right, count, stride, n, to, width);
    }
}

// Gathering

// Four or more adjacent columns of a row-major matrix, in squares of 4 x 4; the last square may overlap the previous
// one.
template <class T>
void gather_run(const Column& first, size_t count, const size_t* rows, size_t n, double* to, size_t stride) {
    size_t k = 0;
    for (; k + 4 <= n; k += 4) {
        const T* from[4];
        for (size_t i = 0; i < 4; ++i)
            from[i] = reinterpret_cast<const T*>(first.data + static_cast<ptrdiff_t>(rows[k + i]) * first.stride);
        for (size_t next = 0; next < count; next += 4) {
            const size_t j = smaller(next, count - 4);
            vd4 a = load4(from[0] + j), b = load4(from[1] + j), c = load4(from[2] + j), d = load4(from[3] + j);
            transpose(a, b, c, d);
            double* at = to + j * stride + k;
            store(at, a), store(at + stride, b), store(at + 2 * stride, c), store(at + 3 * stride, d);
        }
    }
    for (; k < n; ++k)
        for (size_t j = 0; j < count; ++j)
            to[j * stride + k] = cell<T>(first.data + static_cast<ptrdiff_t>(rows[k]) * first.stride + j * sizeof(T));
}

template <class T>
void gather_cells(const Column& column, const size_t* rows, size_t n, double* to) {
    if (column.stride == sizeof(T)) {  // saves a multiplication
        for (size_t k = 0; k < n; ++k) to[k] = static_cast<double>(cell<T>(column.data + rows[k] * sizeof(T)));
    } else {
        for (size_t k = 0; k < n; ++k)
            to[k] = static_cast<double>(cell<T>(column.data + static_cast<ptrdiff_t>(rows[k]) * column.stride));
    }
}

void gather_column(const Column& column, const size_t* rows, size_t n, double* to) {
    with_type(column.type, [&](auto zero) { gather_cells<decltype(zero)>(column, rows, n, to); });
}

void gather(const Column* columns, size_t count, const size_t* rows, size_t n, double* to, size_t stride) {
    const bool in_a_row = rows[n - 1] - rows[0] == n - 1;  // a single class, or a table sorted by class
    for (size_t j = 0; j < count;) {
        const size_t run = is_float(columns[j].type) ? neighbors(columns + j, count - j) : 1;
        if (run >= 4) {
            if (columns[j].type == Type::f64) gather_run<double>(columns[j], run, rows, n, to + j * stride, stride);
            else gather_run<float>(columns[j], run, rows, n, to + j * stride, stride);
            j += run;
        } else {
            if (in_a_row) convert(columns[j], rows[0], n, to + j * stride);
            else gather_column(columns[j], rows, n, to + j * stride);
            ++j;
        }
    }
}

// Classes

// The results: weight (classes), mean (classes, columns), scatter (classes, columns, columns), and the rounding error
// of each mean. Without the latter, for a column far from 0, the difference of two lists' means would have few digits.
struct Totals {
    double *n, *mean, *scatter, *mean_rest;
    size_t columns;

    // Adds the contribution of the difference of the means; the product of the list itself has been added to the
    // scatter. `delta` is the list's mean minus the shift, which is the mean so far, unless there is none.
    void merge(size_t c, double count, const double* shift, double* delta) const {
        double *middle = mean + c * columns, *rest = mean_rest + c * columns;
        const double fraction = count / (n[c] + count);
        if (n[c] > 0) {
            for (size_t j = 0; j < columns; ++j) delta[j] -= rest[j];
            add_outer(c, n[c] * fraction, delta);
            for (size_t j = 0; j < columns; ++j) delta[j] = rest[j] + delta[j] * fraction;
        }
        for (size_t j = 0; j < columns; ++j) {
            middle[j] = shift[j] + delta[j];
            const double part = middle[j] - shift[j];
            rest[j] = (shift[j] - (middle[j] - part)) + (delta[j] - part);
        }
        n[c] += count;
    }

    void mirror(size_t n_classes) const {
        for (size_t c = 0; c < n_classes; ++c) {
            double* matrix = scatter + c * columns * columns;
            for (size_t i = 1; i < columns; ++i)
                for (size_t j = 0; j < i; ++j) matrix[i * columns + j] = matrix[j * columns + i];
        }
    }

private:
    void add_outer(size_t c, double factor, const double* delta) const {
        double* row = scatter + c * columns * columns;
        for (size_t i = 0; i < columns; ++i, row += columns) {
            const double scaled = delta[i] * factor;
            for (size_t j = i; j < columns; ++j) row[j] += scaled * delta[j];
        }
    }
};

class Lists {
public:
    Lists(const Column* columns, const double* weights, size_t n_classes, const Totals& totals)
        : columns_(columns), count_(totals.columns), weights_(weights), capacity_(list_rows(count_, n_classes)),
          // An odd number of cache lines, so that a row of all columns is distributed over the cache.
          stride_(capacity_ + 8), totals_(totals), rows_(n_classes * capacity_), lengths_(n_classes),
          cells_(count_ * stride_), scaled_(left_columns * stride_), weight_(capacity_), shift_(count_),
          delta_(count_) {
        std::memset(lengths_.get(), 0, n_classes * sizeof(size_t));
    }

    void add(size_t row, size_t c) {
        rows_[c * capacity_ + lengths_[c]++] = row;
        if (lengths_[c] == capacity_) flush(c);
    }

    void flush(size_t c) {
        const size_t n = lengths_[c], padded = (n + lanes - 1) / lanes * lanes;
        if (n == 0) return;
        lengths_[c] = 0;
        const size_t* rows = &rows_[c * capacity_];
        double count = static_cast<double>(n);
        for (size_t k = 0; weights_ && k < padded; ++k) weight_[k] = k < n ? weights_[rows[k]] : 0.0;
        if (weights_) count = sum_weights(padded);
        if (!(count > 0)) return;
        gather(columns_, count_, rows, n, cells_.get(), stride_);
        for (size_t j = 0; j < count_; ++j) center(c, j, n, padded, count);
        add_products(totals_.scatter + c * count_ * count_, padded);
        totals_.merge(c, count, shift_.get(), delta_.get());
    }

private:
    double sum_weights(size_t n) const {
        vd sum = splat(0.0);
        for (size_t r = 0; r < n; r += lanes) sum += load(&weight_[r]);
        return sum_of(sum);
    }

    // The mean of x - shift.
    double mean_beyond(const double* x, double from, size_t n, double count) const {
        const vd shift = splat(from);
        vd sum = splat(0.0);
        for (size_t r = 0; r < n; r += lanes) {
            const vd d = load(x + r) - shift;
            sum += weights_ ? d * load(&weight_[r]) : d;
        }
        return sum_of(sum) / count;
    }

    // Differences from the mean of the list, via a shift near the mean: x - shift is exact for columns far from 0. The
    // first shift is a value, which may be an outlier; it gives a mean, which is the next shift. Equal values become
    // exactly 0.
    void center(size_t c, size_t j, size_t n, size_t padded, double count) {
        double* x = &cells_[j * stride_];
        double shift = totals_.n[c] > 0 ? totals_.mean[c * count_ + j] : x[0];
        for (size_t r = n; r < padded; ++r) x[r] = shift;
        if (!(totals_.n[c] > 0)) {
            shift += mean_beyond(x, shift, padded, count);
            for (size_t r = n; r < padded; ++r) x[r] = shift;
        }
        const double delta = mean_beyond(x, shift, padded, count);
        const vd middle = splat(shift), rest = splat(delta);
        for (size_t r = 0; r < padded; r += lanes) store(x + r, (load(x + r) - middle) - rest);
        for (size_t r = n; r < padded; ++r) x[r] = 0.0;
        shift_[j] = shift, delta_[j] = delta;
    }

    void add_products(double* to, size_t n) {
        for (size_t i = 0; i < count_; i += left_columns) {
            const size_t some = smaller(left_columns, count_ - i);
            const double* x = &cells_[i * stride_];
            for (size_t k = 0; weights_ && k < some; ++k)
                for (size_t r = 0; r < n; r += lanes)
                    store(&scaled_[k * stride_ + r], load(x + k * stride_ + r) * load(&weight_[r]));
            multiply_left(some, weights_ ? scaled_.get() : x, x, count_ - i, stride_, n, to + i * count_ + i, count_);
        }
    }

    const Column* columns_;
    size_t count_;
    const double* weights_;
    size_t capacity_, stride_;
    Totals totals_;
    Scratch<size_t> rows_, lengths_;  // (classes, capacity), (classes)
    Scratch<double> cells_, scaled_, weight_, shift_, delta_;
};

}  // namespace

void class_scatter(const Column* columns, size_t n_columns, Column codes, const double* weights, size_t rows,
                   size_t n_classes, uint8_t* incomplete, double* n, double* mean, double* scatter) {
    Scratch<double> mean_rest(n_classes * n_columns);
    std::memset(mean_rest.get(), 0, n_classes * n_columns * sizeof(double));
    const Totals totals{n, mean, scatter, mean_rest.get(), n_columns};
    Lists lists(columns, weights, n_classes, totals);
    Checkpoint checkpoint;
    for (size_t start = 0; start < rows; start += mark_rows) {
        const size_t some = smaller(mark_rows, rows - start);
        checkpoint.after(some * n_columns * (n_columns / 8 + 1));
        mark_incomplete(columns, n_columns, start, some, incomplete + start);
        uint32_t code[mark_rows];
        convert_codes(codes, start, some, code);
        for (size_t r = 0; r < some; ++r) {
            const bool counts =
                code[r] < n_classes && !incomplete[start + r] && !(weights && weights[start + r] == 0.0);
            if (counts) lists.add(start + r, code[r]);
        }
    }
    for (size_t c = 0; c < n_classes; ++c) lists.flush(c);
    totals.mirror(n_classes);
}

}  // namespace countwise::COUNTWISE_LEVEL
