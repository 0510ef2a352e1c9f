// Weight, mean and squared deviations of columns by class, in one pass.
//
// Each block of rows has separate sums of the differences from a shift (the mean so far, or the first value). It is
// merged by Chan's formula, so that no raw sum of squares is ever formed. Missing values are masked, at the same cost
// whether there are any or not.
//
// Row-major tables: vectors run over columns, and a row adds to the sums of its class. Separate columns with few
// classes: vectors run over rows, once for each class, under a mask.
#include "support/tiles.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr size_t most_vectors = group_columns / lanes;

// The moments of one group of columns, (columns, classes). A mean is the sum of two numbers; the second is the rounding
// error of the first. Otherwise, for a column far from 0, the difference of two blocks' means would have few digits.
struct Moments {
    double *n, *mean, *m2, *mean_rest;

    // Merges a block's sums of w d, w d d and w, where d is the difference from the shift. The shift must be the mean
    // so far, unless there is none.
    void merge(size_t i, double shift, double sum, double squares, double count) const {
        if (!(count > 0)) return;
        const double deviations = squares - sum * (sum / count), block_m2 = deviations < 0 ? 0.0 : deviations;
        double rest = sum / count;
        if (n[i] == 0) {
            m2[i] = block_m2;
        } else {
            const double delta = rest - mean_rest[i], fraction = count / (n[i] + count);
            rest = mean_rest[i] + delta * fraction;
            m2[i] += block_m2 + delta * delta * (n[i] * fraction);
        }
        n[i] += count;
        mean[i] = shift + rest;
        const double part = mean[i] - shift;
        mean_rest[i] = (shift - (mean[i] - part)) + (rest - part);
    }
};

// Row-major

// The sums of one block for a group of columns. Class `n_classes` receives the rows that are ignored.
struct BlockSums {
    size_t columns, vectors, width, n_classes, replicas;
    size_t offset[most_vectors];  // first column of each vector
    Scratch<double> shift;        // (classes + 1, width); NaN until a value is seen
    Scratch<double> total;        // (classes + 1, replicas, 3, width): of d, of d * d, of the weights
    Scratch<uint8_t> unset;       // (classes + 1): whether some shift is still NaN

    BlockSums(size_t count, size_t classes, bool padded)
        : columns(count), vectors((count + lanes - 1) / lanes), width(vectors * lanes), n_classes(classes),
          // Consecutive rows of one class would wait for each other's sums; narrow tables use replicas in turn.
          replicas(vectors == 1   ? 4
                   : vectors == 2 ? 2
                                  : 1),
          shift((classes + 1) * width), total((classes + 1) * replicas * 3 * width), unset(classes + 1) {
        // In a row-major matrix the last vector overlaps the previous one; the overlapping sums are never read.
        for (size_t v = 0; v < vectors; ++v) offset[v] = padded ? v * lanes : smaller(v * lanes, count - lanes);
    }
    size_t place(size_t column) const { return column / lanes * lanes + (column - offset[column / lanes]); }
};

// Before a block: set shifts to the means so far and sums to zero.
void begin_block(BlockSums& s, const Moments& moments) {
    for (size_t c = 0; c <= s.n_classes; ++c) {
        double* shift = &s.shift[c * s.width];
        for (size_t i = 0; i < s.width; ++i) shift[i] = 0.0;
        s.unset[c] = 0;
        for (size_t j = 0; j < s.columns && c < s.n_classes; ++j) {
            const bool seen = moments.n[j * s.n_classes + c] > 0;
            shift[s.place(j)] = seen ? moments.mean[j * s.n_classes + c] : NAN;
            s.unset[c] |= !seen;
        }
    }
    std::memset(s.total.get(), 0, (s.n_classes + 1) * s.replicas * 3 * s.width * sizeof(double));
}

// After a block: merge its sums.
void end_block(const BlockSums& s, bool weighted, const Moments& moments) {
    for (size_t c = 0; c < s.n_classes; ++c)
        for (size_t j = 0; j < s.columns; ++j) {
            const size_t at = s.place(j);
            double sum = 0.0, squares = 0.0, count = 0.0;
            for (size_t k = 0; k < s.replicas; ++k) {
                const double* total = &s.total[(c * s.replicas + k) * 3 * s.width];
                sum += total[at];
                squares += total[s.width + at];
                const double* counter = total + 2 * s.width + at;
                count +=
                    weighted ? *counter : static_cast<double>(cell<int64_t>(reinterpret_cast<const char*>(counter)));
            }
            moments.merge(j * s.n_classes + c, s.shift[c * s.width + at], sum, squares, count);
        }
}

template <class T>
COUNTWISE_INLINE void set_shift(BlockSums& s, const T* row, size_t c) {
    double* shift = &s.shift[c * s.width];
    vi unset = splat_bits(0);
    for (size_t v = 0; v < s.vectors; ++v) {
        const vd old = load(shift + v * lanes);
        const vd now = select(not_nan(old), old, load(row + s.offset[v]));
        store(shift + v * lanes, now);
        unset = unset | (now != now);
    }
    s.unset[c] = any(unset);
}

// Adds n rows (at most a tile) that are `stride` bytes apart.
template <bool Weighted, class T>
void add_rows(BlockSums& s, const char* first, ptrdiff_t stride, size_t n, const uint32_t* codes, const double* w) {
    // Local copies, because the compiler must assume that vector stores change the originals.
    const size_t width = s.width, vectors = s.vectors, turns = s.replicas;
    size_t offset[most_vectors];
    std::memcpy(offset, s.offset, sizeof offset);
    const double* const shifts = s.shift.get();
    double* const totals = s.total.get();
    uint8_t* const unset = s.unset.get();
    for (size_t r = 0; r < n; ++r) {
        const T* row = reinterpret_cast<const T*>(first + static_cast<ptrdiff_t>(r) * stride);
        const size_t c = codes[r];
        if (unset[c]) set_shift(s, row, c);
        const double* shift = shifts + c * width;
        double* total = totals + (c * turns + (r & (turns - 1))) * 3 * width;
        const vd weight = Weighted ? splat(w[r]) : splat(1.0);
        for (size_t v = 0; v < vectors; ++v) {
            double* sum = total + v * lanes;
            const vd x = load(row + offset[v]);
            const vi observed = not_nan(x);
            const vd d = only(observed, x - load(shift + v * lanes));
            const vd wd = Weighted ? d * weight : d;
            store(sum, load(sum) + wd);
            store(sum + width, load(sum + width) + wd * d);
            if (Weighted) store(sum + 2 * width, load(sum + 2 * width) + only(observed, weight));
            else store(sum + 2 * width, load_as<vi>(sum + 2 * width) - observed);
        }
    }
}

template <class T>
void add_rows(BlockSums& s, const char* first, ptrdiff_t stride, size_t n, const uint32_t* codes, const double* w) {
    if (w) add_rows<true, T>(s, first, stride, n, codes, w);
    else add_rows<false, T>(s, first, stride, n, codes, w);
}

bool is_row_major(const Column* columns, size_t count) {
    return count >= lanes && is_float(columns->type) && neighbors(columns, count) == count;
}

// Rows of weight 0, or with a code out of range, go to the class that is never read.
void tile_codes(Column codes, const double* w, size_t start, size_t n, size_t n_classes, uint32_t* to) {
    convert_codes(codes, start, n, to);
    const uint32_t nobody = static_cast<uint32_t>(n_classes);
    for (size_t r = 0; r < n; ++r) to[r] = smaller(to[r], nobody);
    if (w)
        for (size_t r = 0; r < n; ++r) to[r] = w[start + r] == 0.0 ? nobody : to[r];
}

class RowMajor {
public:
    RowMajor(const Column* columns, size_t count, size_t n_classes)
        : columns_(columns), direct_(is_row_major(columns, count)), sums_(count, n_classes, !direct_),
          by_columns_(direct_ ? 0 : group_columns * tile_rows), by_rows_(direct_ ? 0 : sums_.width * tile_rows) {}

    void add_block(Column codes, const double* w, size_t start, size_t stop, const Moments& moments) {
        begin_block(sums_, moments);
        uint32_t tile[tile_rows];
        for (size_t r = start; r < stop; r += tile_rows) {
            const size_t count = smaller(tile_rows, stop - r);
            tile_codes(codes, w, r, count, sums_.n_classes, tile);
            add_tile(r, count, tile, w ? w + r : nullptr);
        }
        end_block(sums_, w != nullptr, moments);
    }

private:
    void add_tile(size_t start, size_t n, const uint32_t* codes, const double* w) {
        if (direct_) {
            const ptrdiff_t stride = columns_->stride;
            const char* first = columns_->data + static_cast<ptrdiff_t>(start) * stride;
            if (columns_->type == Type::f64) add_rows<double>(sums_, first, stride, n, codes, w);
            else add_rows<float>(sums_, first, stride, n, codes, w);
        } else {
            pack(start, n);
            const ptrdiff_t stride = static_cast<ptrdiff_t>(sums_.width * sizeof(double));
            add_rows<double>(sums_, reinterpret_cast<const char*>(by_rows_.get()), stride, n, codes, w);
        }
    }

    // Copies columns of any type into rows of whole vectors.
    void pack(size_t start, size_t n) {
        const double* x[group_columns];
        tile_by_columns(columns_, sums_.columns, start, n, by_columns_.get(), x);
        const size_t width = sums_.width;
        size_t j = 0;
        for (; j + 4 <= sums_.columns; j += 4)
            for (size_t r = 0; r < n; r += 4) {
                vd4 a = load4(x[j] + r), b = load4(x[j + 1] + r), c = load4(x[j + 2] + r), d = load4(x[j + 3] + r);
                transpose(a, b, c, d);
                double* to = &by_rows_[r * width + j];
                store(to, a), store(to + width, b), store(to + 2 * width, c), store(to + 3 * width, d);
            }
        for (; j < width; ++j)
            for (size_t r = 0; r < n; ++r) by_rows_[r * width + j] = j < sums_.columns ? x[j][r] : 0.0;
    }

    const Column* columns_;
    bool direct_;
    BlockSums sums_;
    Scratch<double> by_columns_, by_rows_;
};

// By columns

class ByColumns {
public:
    ByColumns(const Column* columns, size_t count, size_t n_classes)
        : columns_(columns), count_(count), n_classes_(n_classes), cells_(group_columns * tile_rows),
          masks_(n_classes * tile_rows), totals_(count * n_classes) {}

    void add_block(Column codes, const double* w, size_t start, size_t stop, const Moments& moments) {
        for (size_t i = 0; i < count_ * n_classes_; ++i)
            totals_[i] = {splat(0.0), splat(0.0), splat(0.0), splat_bits(0), moments.mean[i], moments.n[i] > 0};
        for (size_t r = start; r < stop; r += tile_rows) {
            const size_t rows = smaller(tile_rows, stop - r);
            const double* x[group_columns];
            tile_by_columns(columns_, count_, r, rows, cells_.get(), x);
            Ahead ahead;
            ahead.add(columns_, count_, r + rows, smaller(tile_rows, stop - r - rows));
            ahead.distribute(count_);
            set_masks(codes, w, r, rows);
            for (size_t j = 0; j < count_; ++j) {
                ahead.some();
                for (size_t c = 0; c < n_classes_; ++c) add_cells(x[j], c, w != nullptr, totals_[j * n_classes_ + c]);
            }
        }
        for (size_t i = 0; i < count_ * n_classes_; ++i) {
            const Total& t = totals_[i];
            double weight = sum_of(t.weight);
            for (size_t k = 0; k < lanes; ++k) weight += static_cast<double>(t.count[k]);
            moments.merge(i, t.shift, sum_of(t.sum), sum_of(t.squares), weight);
        }
    }

private:
    struct Total {
        vd sum, squares, weight;
        vi count;  // used instead of the weight if all weights are 1
        double shift;
        bool has_shift;
    };

    // Sets one mask for each class, and the weights; rows beyond n have weight 0.
    void set_masks(Column codes, const double* w, size_t start, size_t n) {
        uint32_t code[tile_rows];
        for (size_t r = n; r < tile_rows; ++r) code[r] = UINT32_MAX;
        tile_codes(codes, w, start, n, n_classes_, code);
        for (size_t c = 0; c < n_classes_; ++c)
            for (size_t r = 0; r < tile_rows; ++r) masks_[c * tile_rows + r] = -static_cast<int64_t>(code[r] == c);
        for (size_t r = 0; w && r < tile_rows; ++r) weights_[r] = r < n ? w[start + r] : 0.0;
    }

    void set_shift(const double* x, const int64_t* mask, Total& total) const {
        for (size_t r = 0; r < tile_rows && !total.has_shift; ++r)
            if (mask[r] && x[r] == x[r]) total.shift = x[r], total.has_shift = true;
    }

    void add_cells(const double* x, size_t c, bool weighted, Total& total) const {
        const int64_t* mask = &masks_[c * tile_rows];
        if (!total.has_shift) set_shift(x, mask, total);
        if (weighted) add_cells<true>(x, mask, total);
        else add_cells<false>(x, mask, total);
    }

    template <bool Weighted>
    void add_cells(const double* x, const int64_t* mask, Total& total) const {
        const vd shift = splat(total.shift);
        // Two sums in turn, because one sum would wait for its last addition.
        const vd zero = splat(0.0);
        vd sum[2] = {zero, zero}, squares[2] = {zero, zero}, weight[2] = {zero, zero};
        vi count[2] = {splat_bits(0), splat_bits(0)};
        for (size_t r = 0; r < tile_rows; r += 2 * lanes)
            for (size_t k = 0; k < 2; ++k) {
                const vd at = load(x + r + k * lanes);
                const vi observed = load_as<vi>(mask + r + k * lanes) & not_nan(at);
                const vd d = only(observed, at - shift);
                const vd w = Weighted ? only(observed, load(weights_ + r + k * lanes)) : splat(1.0);
                const vd wd = Weighted ? w * d : d;
                sum[k] += wd;
                squares[k] += wd * d;
                if (Weighted) weight[k] += w;
                else count[k] = count[k] - observed;
            }
        total.sum += sum[0] + sum[1];
        total.squares += squares[0] + squares[1];
        if (Weighted) total.weight += weight[0] + weight[1];
        else total.count = total.count + (count[0] + count[1]);
    }

    const Column* columns_;
    size_t count_, n_classes_;
    Scratch<double> cells_;
    Scratch<int64_t> masks_;
    Scratch<Total> totals_;
    double weights_[tile_rows];
};

template <class Sum>
void add_group(Sum sum, Column codes, const double* w, size_t rows, size_t n_classes, const Moments& moments) {
    // The first block is short, because its shift is a single value, which may be an outlier; later shifts are means.
    size_t block = 256, blocks = 0;
    for (size_t start = 0; start < rows;) {
        const size_t stop = smaller(start + block, rows);
        sum.add_block(codes, w, start, stop, moments);
        start = stop;
        block = larger<size_t>(4096, 8 * n_classes);
        if (++blocks % 16 == 0) check_interrupt();
    }
}

}  // namespace

void class_moments(const Column* columns, size_t n_columns, Column codes, const double* weights, size_t rows,
                   size_t n_classes, double* n, double* mean, double* m2) {
    Scratch<double> mean_rest(group_columns * n_classes);
    for (size_t first = 0; first < n_columns; first += group_columns) {
        const size_t count = smaller(group_columns, n_columns - first), to = first * n_classes;
        const Column* group = columns + first;
        std::memset(mean_rest.get(), 0, count * n_classes * sizeof(double));
        const Moments moments{n + to, mean + to, m2 + to, mean_rest.get()};
        // A pass for each class costs about half a cycle per value; a row of few columns costs about 25 cycles.
        const size_t few = count <= 4 ? 16 : 5;
        if (n_classes <= few && !is_row_major(group, count))
            add_group<ByColumns>({group, count, n_classes}, codes, weights, rows, n_classes, moments);
        else add_group<RowMajor>({group, count, n_classes}, codes, weights, rows, n_classes, moments);
    }
}

}  // namespace countwise::COUNTWISE_LEVEL
