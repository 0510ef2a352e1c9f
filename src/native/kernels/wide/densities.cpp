// Adds log densities of numeric columns to the rows, for every class.
//
// Vectors run over rows, so that 2 classes cost a fifth of 10, and a missing value is tested once for all classes. Sums
// of up to four classes stay in registers during the loop over columns.
//
// The term of a value is computed by the same operations whether or not adjacent values are missing, so that the result
// of a row does not depend on adjacent rows.
#include "support/tiles.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

// Distribution parameters; x and aux are the values of a column.
struct Gaussian {
    const double *mean, *scale, *log_norm;  // (columns, classes); scale is inverse_sd * sqrt(1/2)
    const double* norm_total;               // (groups, classes): sum of log_norm over a group of columns
};

template <bool ZeroRates>
struct Poisson {
    const double *log_rate, *rate;

    COUNTWISE_INLINE vd term(size_t at, vd x, vd log_factorial) const {
        const vd product = x * splat(log_rate[at]);
        const vd safe = ZeroRates ? only(x != splat(0.0), product) : product;  // 0 log 0 = 0
        return safe - (splat(rate[at]) + log_factorial);
    }
};

struct ColumnTile {
    const double* x[group_columns];
    const double* aux[group_columns];
    size_t first, count;  // columns of the table
};

// Adds the terms of `Classes` classes, from class c on, for `Vectors` vectors of rows.
template <size_t Classes, size_t Vectors, bool HasMissing, bool Aux, class Density>
COUNTWISE_INLINE void add_terms(const Density& density, const ColumnTile& tile, size_t classes, size_t c, size_t r,
                                double* sums) {
    vd sum[Classes][Vectors];
    for (size_t k = 0; k < Classes; ++k)
        for (size_t v = 0; v < Vectors; ++v) sum[k][v] = load(sums + (c + k) * tile_rows + r + v * lanes);
    for (size_t j = 0; j < tile.count; ++j) {
        const size_t at = (tile.first + j) * classes + c;
        vd x[Vectors], aux[Vectors];
        for (size_t v = 0; v < Vectors; ++v) {
            x[v] = load(tile.x[j] + r + v * lanes);
            aux[v] = Aux ? load(tile.aux[j] + r + v * lanes) : splat(0.0);
        }
        // One class after another, to keep few parameters in registers at a time.
        for (size_t k = 0; k < Classes; ++k)
            for (size_t v = 0; v < Vectors; ++v) {
                const vd term = density.term(at + k, x[v], aux[v]);
                sum[k][v] += HasMissing ? only(not_nan(x[v]), term) : term;
            }
    }
    for (size_t k = 0; k < Classes; ++k)
        for (size_t v = 0; v < Vectors; ++v) store(sums + (c + k) * tile_rows + r + v * lanes, sum[k][v]);
}

// Squares and norms are summed separately, so that a row without missing values needs no addition for its norms: their
// total is known. It is the same number, because the norms of a row with missing values are added in the same order.
template <size_t Classes, size_t Vectors, bool HasMissing, bool Aux>
COUNTWISE_INLINE void add_terms(const Gaussian& density, const ColumnTile& tile, size_t classes, size_t c, size_t r,
                                double* sums) {
    if constexpr (HasMissing && Classes == 4) {  // twice as many sums; two classes at a time stay in registers
        add_terms<2, Vectors, HasMissing, Aux>(density, tile, classes, c, r, sums);
        add_terms<2, Vectors, HasMissing, Aux>(density, tile, classes, c + 2, r, sums);
        return;
    }
    vd squares[Classes][Vectors], norms[Classes][Vectors];
    for (size_t k = 0; k < Classes; ++k)
        for (size_t v = 0; v < Vectors; ++v) squares[k][v] = norms[k][v] = splat(0.0);
    for (size_t j = 0; j < tile.count; ++j) {
        const size_t at = (tile.first + j) * classes + c;
        vd x[Vectors];
        for (size_t v = 0; v < Vectors; ++v) x[v] = load(tile.x[j] + r + v * lanes);
        for (size_t k = 0; k < Classes; ++k) {
            const vd mean = splat(density.mean[at + k]), scale = splat(density.scale[at + k]);
            for (size_t v = 0; v < Vectors; ++v) {
                // The difference first: x * s - mean * s would cancel for a column far from 0.
                vd z = (x[v] - mean) * scale;
                if (HasMissing) {
                    z = only(not_nan(x[v]), z);
                    norms[k][v] += only(not_nan(x[v]), splat(density.log_norm[at + k]));
                }
                squares[k][v] += z * z;
            }
        }
    }
    const double* total = density.norm_total + tile.first / group_columns * classes + c;
    for (size_t k = 0; k < Classes; ++k)
        for (size_t v = 0; v < Vectors; ++v) {
            double* at = sums + (c + k) * tile_rows + r + v * lanes;
            store(at, load(at) + ((HasMissing ? norms[k][v] : splat(total[k])) - squares[k][v]));
        }
}

template <bool HasMissing, bool Aux, class Density>
void add_tile(const Density& density, const ColumnTile& tile, size_t classes, double* sums, Ahead& ahead) {
    size_t c = 0;
    for (; c + 4 <= classes; c += 4)
        for (size_t r = 0; r < tile_rows; r += 2 * lanes) {
            ahead.some();
            add_terms<4, 2, HasMissing, Aux>(density, tile, classes, c, r, sums);
        }
    if (c + 2 <= classes) {
        for (size_t r = 0; r < tile_rows; r += 4 * lanes) {
            ahead.some();
            add_terms<2, 4, HasMissing, Aux>(density, tile, classes, c, r, sums);
        }
        c += 2;
    }
    if (c < classes)
        for (size_t r = 0; r < tile_rows; r += 4 * lanes) {
            ahead.some();
            add_terms<1, 4, HasMissing, Aux>(density, tile, classes, c, r, sums);
        }
}

size_t calls_of_ahead(size_t classes) {
    return classes / 4 * (tile_rows / (2 * lanes)) + (classes % 4 + 1) / 2 * (tile_rows / (4 * lanes));
}

constexpr size_t small_counts = 1024;

struct Factorials {
    double log[2 * small_counts];  // twice, so that every masked index is valid
    Factorials() {
        // Exact products while they are exact, for full accuracy of small factorials.
        double product = 1.0;
        for (size_t i = 0; i < 2 * small_counts; ++i) {
            if (i > 0 && i <= 18) product *= static_cast<double>(i);
            log[i] = i <= 18 ? std::log(product) : log_gamma(static_cast<double>(i) + 1.0);
        }
    }
    static double log_gamma(double x) {
#if defined(__GLIBC__) || defined(__APPLE__)
        int sign;  // lgamma itself writes to a global variable
        return ::lgamma_r(x, &sign);
#else
        return std::lgamma(x);
#endif
    }
};

// A static variable with a constructor would be locked forever in a process that was forked during the construction.
const Factorials& factorials() {
    static const Factorials* table = nullptr;
    const Factorials* found = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
    if (found) return *found;
    const Factorials* const made = new Factorials;
    if (__atomic_compare_exchange_n(&table, &found, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return *made;
    delete made;
    return *found;
}

// log(x!) of small integers by the table; returns false if there are other numbers.
bool small_factorials(const double* x, double* aux) {
    int64_t whole[tile_rows];
    vi other = splat_bits(0);
    for (size_t r = 0; r < tile_rows; r += lanes) {
        const vd value = load(x + r);
        const vi small = (value >= splat(0.0)) & (value < splat(small_counts));
        const vd safe = only(small, value), rounded = safe + splat(round_magic);
        other = other | (rounded - splat(round_magic) != safe) | (not_nan(value) & ~small);
        store(whole + r, bits(rounded) & splat_bits(2 * small_counts - 1));
    }
    const double* table = factorials().log;
    for (size_t r = 0; r < tile_rows; ++r) aux[r] = table[whole[r]];
    return !any(other);
}

// log(x!) of any number. A negative or infinite count becomes 0 with an infinite log factorial, that is, a probability
// of 0.
void any_factorials(const double* x, double* clean, double* aux) {
    for (size_t r = 0; r < tile_rows; ++r) {
        const double value = x[r];
        const bool inside = value >= 0 && value < HUGE_VAL;
        clean[r] = inside || value != value ? value : 0.0;
        if (inside && value < small_counts && value == static_cast<double>(static_cast<uint32_t>(value)))
            aux[r] = factorials().log[static_cast<uint32_t>(value)];
        else if (inside) aux[r] = Factorials::log_gamma(value + 1.0);
        else aux[r] = value != value ? 0.0 : HUGE_VAL;
    }
}

void add_factorials(ColumnTile& tile, double* clean, double* aux) {
    for (size_t j = 0; j < tile.count; ++j, clean += tile_rows, aux += tile_rows) {
        tile.aux[j] = aux;
        if (small_factorials(tile.x[j], aux)) continue;
        any_factorials(tile.x[j], clean, aux);
        tile.x[j] = clean;
    }
}

constexpr size_t least_ahead = 12;  // columns; prefetching does not pay for fewer

template <bool Aux, class Density>
void add_columns(const Density& density, const Column* columns, size_t n_columns, size_t rows, size_t classes,
                 double* out) {
    Scratch<double> cells(group_columns * tile_rows), aux(Aux ? group_columns * tile_rows : 0),
        clean(Aux ? group_columns * tile_rows : 0), sums(classes * tile_rows);
    ColumnTile tile;
    Checkpoint checkpoint;
    for (size_t start = 0; start < rows; start += tile_rows) {
        const size_t n = smaller(tile_rows, rows - start);
        checkpoint.after(n * n_columns * (classes + 1));
        std::memset(sums.get(), 0, classes * tile_rows * sizeof(double));
        for (tile.first = 0; tile.first < n_columns; tile.first += group_columns) {
            tile.count = smaller(group_columns, n_columns - tile.first);
            tile_by_columns(columns + tile.first, tile.count, start, n, cells.get(), tile.x);
            if constexpr (Aux) add_factorials(tile, clean.get(), aux.get());
            Ahead ahead;
            const size_t next = tile.first + tile.count;
            if (next < n_columns) {
                ahead.add(columns + next, smaller(group_columns, n_columns - next), start, n);
            } else if (n_columns > least_ahead) {
                ahead.add(out + start * classes, n * classes);
                if (start + n < rows)
                    ahead.add(columns, smaller(group_columns, n_columns), start + n,
                              smaller(tile_rows, rows - start - n));
            }
            ahead.distribute(calls_of_ahead(classes));
            if (any_nan(tile.x, tile.count)) add_tile<true, Aux>(density, tile, classes, sums.get(), ahead);
            else add_tile<false, Aux>(density, tile, classes, sums.get(), ahead);
        }
        tile_to_rows<true>(sums.get(), classes, n, out + start * classes);
    }
}

}  // namespace

void add_gaussian(const Column* columns, size_t n_columns, const double* mean, const double* inverse_sd,
                  const double* log_norm, size_t rows, size_t classes, double* out) {
    Scratch<double> scale(n_columns * classes);
    for (size_t i = 0; i < n_columns * classes; ++i) scale[i] = inverse_sd[i] * 0.70710678118654752440;
    Scratch<double> total((n_columns / group_columns + 1) * classes);
    std::memset(total.get(), 0, (n_columns / group_columns + 1) * classes * sizeof(double));
    for (size_t j = 0; j < n_columns; ++j)
        for (size_t c = 0; c < classes; ++c) total[j / group_columns * classes + c] += log_norm[j * classes + c];
    add_columns<false>(Gaussian{mean, scale.get(), log_norm, total.get()}, columns, n_columns, rows, classes, out);
}

void add_poisson(const Column* columns, size_t n_columns, const double* rate, size_t rows, size_t classes,
                 double* out) {
    Scratch<double> log_rate(n_columns * classes);
    bool zero_rates = false;
    for (size_t i = 0; i < n_columns * classes; ++i) {
        log_rate[i] = std::log(rate[i]);
        zero_rates |= !(log_rate[i] - log_rate[i] == 0.0);
    }
    if (zero_rates) add_columns<true>(Poisson<true>{log_rate.get(), rate}, columns, n_columns, rows, classes, out);
    else add_columns<true>(Poisson<false>{log_rate.get(), rate}, columns, n_columns, rows, classes, out);
}

}  // namespace countwise::COUNTWISE_LEVEL
