// Adds quadratic and linear forms of the values of a row to the rows of every class.
//
// Vectors run over rows, so that the result of a row does not depend on adjacent rows. Sums stay in registers during
// the loop over columns.
#include "complete.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

bool has_nan(const double* sums) { return any_nan(&sums, 1); }

// Calls add(x, sums, next) for each tile of rows: x[j] are the values of column j, sums (classes x tile_rows) is to be
// set, and the next tile starts at row `next`. The sums are added to the complete rows. If NaN `Shows` in the sums of
// the first class for any column, values are tested only where these are NaN.
template <bool Shows, class Add>
void add_tiles(const Column* columns, size_t count, size_t rows, size_t classes, double* out, uint8_t* incomplete,
               const Add& add) {
    Scratch<double> cells(count * tile_rows), sums(classes * tile_rows);
    Scratch<const double*> x(count);
    Checkpoint checkpoint;
    for (size_t start = 0; start < rows; start += tile_rows) {
        const size_t n = smaller(tile_rows, rows - start);
        checkpoint.after(n * count * (count + classes));
        // A group of columns at a time is transposed within the L1 cache.
        for (size_t j = 0; j < count; j += group_columns)
            tile_by_columns(columns + j, smaller(group_columns, count - j), start, n, &cells[j * tile_rows], &x[j]);
        add(x.get(), sums.get(), start + n);
        uint8_t* const marks = incomplete + start;
        bool any_missing = false;
        if (Shows && classes > 0 && !has_nan(sums.get())) std::memset(marks, 0, n);
        else any_missing = mark_incomplete(columns, count, start, n, marks);
        for (size_t r = 0; any_missing && r < n; ++r)
            for (size_t c = 0; c < classes && marks[r]; ++c)
                sums[c * tile_rows + r] = -0.0;  // adding it changes nothing, not even the sign of a 0
        tile_to_rows<true>(sums.get(), classes, n, out + start * classes);
    }
}

// Quadratic

constexpr size_t block_rows = 6;  // of a factor; with 2 vectors of rows, 12 sums are in registers

// A few rows of a factor, by columns; columns outside first .. last are 0 in all rows.
struct FactorRows {
    const double* cells;
    size_t first, last;
};

template <size_t N>
void add_squares(const FactorRows& factor, const double* z, double* squares) {
    constexpr size_t vectors = N <= 2 ? 4 : 2;
    for (size_t r = 0; r < tile_rows; r += vectors * lanes) {
        vd sum[N][vectors];
        for (size_t k = 0; k < N; ++k)
            for (size_t v = 0; v < vectors; ++v) sum[k][v] = splat(0.0);
        const double* f = factor.cells + factor.first * N;
        for (size_t j = factor.first; j < factor.last; ++j, f += N) {
            vd x[vectors];
            for (size_t v = 0; v < vectors; ++v) x[v] = load(z + j * tile_rows + r + v * lanes);
            for (size_t k = 0; k < N; ++k) {
                const vd scale = splat(f[k]);
                for (size_t v = 0; v < vectors; ++v) sum[k][v] += x[v] * scale;
            }
        }
        for (size_t v = 0; v < vectors; ++v) {
            double* to = squares + r + v * lanes;
            vd total = load(to);
            for (size_t k = 0; k < N; ++k) total += sum[k][v] * sum[k][v];
            store(to, total);
        }
    }
}

void add_squares(size_t n, const FactorRows& factor, const double* z, double* squares) {
    switch (n) {
        case 1: return add_squares<1>(factor, z, squares);
        case 2: return add_squares<2>(factor, z, squares);
        case 3: return add_squares<3>(factor, z, squares);
        case 4: return add_squares<4>(factor, z, squares);
        case 5: return add_squares<5>(factor, z, squares);
        default: return add_squares<block_rows>(factor, z, squares);
    }
}

// The factors of all classes in blocks of rows.
class Factors {
public:
    Factors(const double* factors, size_t classes, size_t height, size_t columns)
        : height_(height), blocks_((height + block_rows - 1) / block_rows), cells_(classes * height * columns),
          rows_(classes * blocks_) {
        for (size_t c = 0; c < classes; ++c)
            for (size_t b = 0; b < blocks_; ++b) {
                const size_t at = (c * height + b * block_rows) * columns;
                rows_[c * blocks_ + b] = pack(factors + at, size_of(b), columns, &cells_[at]);
            }
    }
    size_t blocks() const { return blocks_; }
    size_t size_of(size_t block) const { return smaller(block_rows, height_ - block * block_rows); }
    const FactorRows& rows(size_t c, size_t block) const { return rows_[c * blocks_ + block]; }

private:
    // A triangular factor costs half of a full one: zeros at either end of all rows are skipped.
    static FactorRows pack(const double* from, size_t n, size_t columns, double* to) {
        FactorRows rows{to, columns, 0};
        for (size_t j = 0; j < columns; ++j) {
            bool any_cell = false;
            for (size_t k = 0; k < n; ++k) {
                to[j * n + k] = from[k * columns + j];
                any_cell |= !(to[j * n + k] == 0.0);
            }
            if (any_cell) rows.first = smaller(rows.first, j), rows.last = j + 1;
        }
        return rows;
    }

    size_t height_, blocks_;
    Scratch<double> cells_;
    Scratch<FactorRows> rows_;
};

// Linear

template <size_t N>
void add_products(const double* const* x, size_t count, const double* center, const double* slopes, double* sums) {
    constexpr size_t vectors = N <= 2 ? 4 : 2;  // more would not stay in registers
    for (size_t r = 0; r < tile_rows; r += vectors * lanes) {
        vd sum[N][vectors];
        for (size_t k = 0; k < N; ++k)
            for (size_t v = 0; v < vectors; ++v) sum[k][v] = splat(0.0);
        for (size_t j = 0; j < count; ++j) {
            const vd middle = splat(center[j]);
            vd z[vectors];
            for (size_t v = 0; v < vectors; ++v) z[v] = load(x[j] + r + v * lanes) - middle;
            for (size_t k = 0; k < N; ++k) {
                const vd slope = splat(slopes[k * count + j]);
                for (size_t v = 0; v < vectors; ++v) sum[k][v] += z[v] * slope;
            }
        }
        for (size_t k = 0; k < N; ++k)
            for (size_t v = 0; v < vectors; ++v) store(sums + k * tile_rows + r + v * lanes, sum[k][v]);
    }
}

void add_products(size_t n, const double* const* x, size_t count, const double* center, const double* slopes,
                  double* sums) {
    switch (n) {
        case 1: return add_products<1>(x, count, center, slopes, sums);
        case 2: return add_products<2>(x, count, center, slopes, sums);
        case 3: return add_products<3>(x, count, center, slopes, sums);
        default: return add_products<4>(x, count, center, slopes, sums);
    }
}

// Row-major tables: vectors run along the row, which needs no tiles. A NaN shows in the sums, so that values are tested
// only in rows with a NaN.
template <class T>
class RowProducts {
public:
    RowProducts(const Column* columns, size_t count, const double* center, const double* slopes, size_t classes)
        : first_(*columns), count_(count), width_((count + lanes - 1) / lanes * lanes), classes_(classes),
          center_(width_), slopes_(classes * width_) {
        for (size_t i = 0; i < width_; ++i) {
            // The last vector overlaps the previous one; repeated columns have a slope of 0.
            const size_t j = offset(i / lanes * lanes) + i % lanes;
            const bool repeated = j < i / lanes * lanes;
            center_[i] = center[j];
            for (size_t c = 0; c < classes; ++c) slopes_[c * width_ + i] = repeated ? 0.0 : slopes[c * count + j];
        }
    }

    void add(size_t rows, double* out, uint8_t* incomplete) const {
        size_t r = 0;
        Checkpoint checkpoint;
        for (; r + 2 <= rows; r += 2) {
            checkpoint.after(2 * count_ * classes_);
            add_rows<2>(r, out, incomplete);
        }
        if (r < rows) add_rows<1>(r, out, incomplete);
    }

private:
    size_t offset(size_t i) const { return smaller(i, count_ - lanes); }
    const T* row(size_t r) const {
        return reinterpret_cast<const T*>(first_.data + static_cast<ptrdiff_t>(r) * first_.stride);
    }

    template <size_t Rows>
    COUNTWISE_INLINE void add_rows(size_t r, double* out, uint8_t* incomplete) const {
        for (size_t c = 0; c < classes_; c += 4) switch (smaller<size_t>(classes_ - c, 4)) {
                case 1: add_classes<Rows, 1>(r, c, out, incomplete); break;
                case 2: add_classes<Rows, 2>(r, c, out, incomplete); break;
                case 3: add_classes<Rows, 3>(r, c, out, incomplete); break;
                default: add_classes<Rows, 4>(r, c, out, incomplete);
            }
    }

    template <size_t Rows, size_t N>
    void add_classes(size_t r, size_t c, double* out, uint8_t* incomplete) const {
        const T* from[Rows];
        for (size_t k = 0; k < Rows; ++k) from[k] = row(r + k);
        vd sum[Rows][N];
        for (size_t k = 0; k < Rows; ++k)
            for (size_t i = 0; i < N; ++i) sum[k][i] = splat(0.0);
        const double *middle = center_.get(), *slope = &slopes_[c * width_];
        for (size_t at = 0; at < width_; at += lanes) {
            vd z[Rows];
            for (size_t k = 0; k < Rows; ++k) z[k] = load(from[k] + offset(at)) - load(middle + at);
            for (size_t i = 0; i < N; ++i) {
                const vd s = load(slope + i * width_ + at);
                for (size_t k = 0; k < Rows; ++k) sum[k][i] += z[k] * s;
            }
        }
        for (size_t k = 0; k < Rows; ++k) {
            double total[N];
            for (size_t i = 0; i < N; ++i) total[i] = sum_of(sum[k][i]);
            if (c == 0) incomplete[r + k] = total[0] != total[0] && any(nan_among(from[k], count_));
            for (size_t i = 0; i < N && !incomplete[r + k]; ++i) out[(r + k) * classes_ + c + i] += total[i];
        }
    }

    Column first_;
    size_t count_, width_, classes_;
    Scratch<double> center_, slopes_;
};

}  // namespace

void add_quadratic(const Column* columns, size_t n_columns, const double* centers, const double* factors, size_t height,
                   size_t rows, size_t classes, double* out, uint8_t* incomplete) {
    const Factors packed(factors, classes, height, n_columns);
    Scratch<double> centered(n_columns * tile_rows);
    double* z = centered.get();
    add_tiles<false>(columns, n_columns, rows, classes, out, incomplete,
                     [&](const double* const* x, double* sums, size_t next) {
                         Ahead ahead;
                         ahead.add(columns, n_columns, next, smaller(tile_rows, rows - next));
                         ahead.distribute(classes * packed.blocks());
                         for (size_t c = 0; c < classes; ++c, sums += tile_rows) {
                             for (size_t j = 0; j < n_columns; ++j) {
                                 const vd center = splat(centers[c * n_columns + j]);
                                 for (size_t r = 0; r < tile_rows; r += lanes)
                                     store(z + j * tile_rows + r, load(x[j] + r) - center);
                             }
                             std::memset(sums, 0, tile_rows * sizeof(double));
                             for (size_t b = 0; b < packed.blocks(); ++b) {
                                 ahead.some();
                                 add_squares(packed.size_of(b), packed.rows(c, b), z, sums);
                             }
                             for (size_t r = 0; r < tile_rows; r += lanes)
                                 store(sums + r, load(sums + r) * splat(-0.5));
                         }
                     });
}

void add_linear(const Column* columns, size_t n_columns, const double* center, const double* slopes, size_t rows,
                size_t classes, double* out, uint8_t* incomplete) {
    // Row by row, the lanes of a vector are summed for each class, which pays off with many columns and few classes.
    const bool long_rows = classes > 0 && n_columns >= larger<size_t>(12, 16 * classes);
    if (long_rows && is_float(columns->type) && neighbors(columns, n_columns) == n_columns) {
        if (columns->type == Type::f64)
            return RowProducts<double>(columns, n_columns, center, slopes, classes).add(rows, out, incomplete);
        return RowProducts<float>(columns, n_columns, center, slopes, classes).add(rows, out, incomplete);
    }
    add_tiles<true>(columns, n_columns, rows, classes, out, incomplete,
                    [&](const double* const* x, double* sums, size_t) {
                        for (size_t c = 0; c < classes; c += 4)
                            add_products(smaller<size_t>(classes - c, 4), x, n_columns, center, slopes + c * n_columns,
                                         sums + c * tile_rows);
                    });
}

}  // namespace countwise::COUNTWISE_LEVEL
