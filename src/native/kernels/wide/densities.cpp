// Log densities of numeric columns, added to the rows of every class.
//
// Vectors run over rows, so that 2 classes cost a fifth of 10 and a missing cell is looked at once for all
// classes. Sums of up to four classes stay in registers while the columns pass.
//
// Every cell's term is computed by the same operations whether or not its neighbors are missing, so that
// a row's result does not depend on the rows next to it.
#include "support/tiles.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

// Parameters of one class of one column; x and aux are the column's cells.
struct Gaussian {
    const double *mean, *scale, *log_norm;  // (columns, classes); scale is inverse_sd * sqrt(1/2)
    const double* norm_total;               // (groups, classes): log_norm added up over a group of columns
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
template <size_t Classes, size_t Vectors, bool Gaps, bool Aux, class Law>
COUNTWISE_INLINE void add_terms(const Law& law, const ColumnTile& tile, size_t classes, size_t c, size_t r,
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
        // One class after the other, to have few parameters in registers at a time.
        for (size_t k = 0; k < Classes; ++k)
            for (size_t v = 0; v < Vectors; ++v) {
                const vd term = law.term(at + k, x[v], aux[v]);
                sum[k][v] += Gaps ? only(not_nan(x[v]), term) : term;
            }
    }
    for (size_t k = 0; k < Classes; ++k)
        for (size_t v = 0; v < Vectors; ++v) store(sums + (c + k) * tile_rows + r + v * lanes, sum[k][v]);
}

// Squares and norms are added up apart, so that a row without gaps needs no addition for its norms: their total
// is known, and it is the same number, because the norms of a row with gaps are added in the same order.
template <size_t Classes, size_t Vectors, bool Gaps, bool Aux>
COUNTWISE_INLINE void add_terms(const Gaussian& law, const ColumnTile& tile, size_t classes, size_t c, size_t r,
                                double* sums) {
    if constexpr (Gaps && Classes == 4) {  // twice as many sums: two classes at a time stay in registers
        add_terms<2, Vectors, Gaps, Aux>(law, tile, classes, c, r, sums);
        add_terms<2, Vectors, Gaps, Aux>(law, tile, classes, c + 2, r, sums);
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
            const vd mean = splat(law.mean[at + k]), scale = splat(law.scale[at + k]);
            for (size_t v = 0; v < Vectors; ++v) {
                // The difference first: x * s - mean * s would cancel where the column sits far from 0.
                vd z = (x[v] - mean) * scale;
                if (Gaps) {
                    z = only(not_nan(x[v]), z);
                    norms[k][v] += only(not_nan(x[v]), splat(law.log_norm[at + k]));
                }
                squares[k][v] += z * z;
            }
        }
    }
    const double* total = law.norm_total + tile.first / group_columns * classes + c;
    for (size_t k = 0; k < Classes; ++k)
        for (size_t v = 0; v < Vectors; ++v) {
            double* at = sums + (c + k) * tile_rows + r + v * lanes;
            store(at, load(at) + ((Gaps ? norms[k][v] : splat(total[k])) - squares[k][v]));
        }
}

template <bool Gaps, bool Aux, class Law>
void add_tile(const Law& law, const ColumnTile& tile, size_t classes, double* sums, Ahead& ahead) {
    size_t c = 0;
    for (; c + 4 <= classes; c += 4)
        for (size_t r = 0; r < tile_rows; r += 2 * lanes) {
            ahead.some();
            add_terms<4, 2, Gaps, Aux>(law, tile, classes, c, r, sums);
        }
    if (c + 2 <= classes) {
        for (size_t r = 0; r < tile_rows; r += 4 * lanes) {
            ahead.some();
            add_terms<2, 4, Gaps, Aux>(law, tile, classes, c, r, sums);
        }
        c += 2;
    }
    if (c < classes)
        for (size_t r = 0; r < tile_rows; r += 4 * lanes) {
            ahead.some();
            add_terms<1, 4, Gaps, Aux>(law, tile, classes, c, r, sums);
        }
}

size_t calls_of_ahead(size_t classes) {
    return classes / 4 * (tile_rows / (2 * lanes)) + (classes % 4 + 1) / 2 * (tile_rows / (4 * lanes));
}

constexpr size_t small_counts = 1024;

struct Factorials {
    double log[2 * small_counts];  // twice, so that every index from a few bits is inside
    Factorials() {
        // Exact products as long as they are exact, to be right where it is easiest to notice.
        double product = 1.0;
        for (size_t i = 0; i < 2 * small_counts; ++i) {
            if (i > 0 && i <= 18) product *= static_cast<double>(i);
            log[i] = i <= 18 ? std::log(product) : log_gamma(static_cast<double>(i) + 1.0);
        }
    }
    static double log_gamma(double x) {
#if defined(__GLIBC__) || defined(__APPLE__)
        int sign;  // lgamma itself writes a global variable
        return ::lgamma_r(x, &sign);
#else
        return std::lgamma(x);
#endif
    }
};

const Factorials& factorials() {
    static const Factorials table;
    return table;
}

// log(x!) of small whole numbers, by the table; false if there are other numbers too.
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

// log(x!) of any number. A count below 0 or infinite becomes 0 with an infinite log factorial: impossible.
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

constexpr size_t least_ahead = 12;  // columns; for fewer of them it takes longer than it spares

template <bool Aux, class Law>
void add_columns(const Law& law, const Column* columns, size_t n_columns, size_t rows, size_t classes, double* out) {
    Scratch<double> cells(group_columns * tile_rows), aux(Aux ? group_columns * tile_rows : 0),
        clean(Aux ? group_columns * tile_rows : 0), sums(classes * tile_rows);
    ColumnTile tile;
    for (size_t start = 0; start < rows; start += tile_rows) {
        const size_t n = smaller(tile_rows, rows - start);
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
            ahead.spread(calls_of_ahead(classes));
            if (any_nan(tile.x, tile.count)) add_tile<true, Aux>(law, tile, classes, sums.get(), ahead);
            else add_tile<false, Aux>(law, tile, classes, sums.get(), ahead);
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
