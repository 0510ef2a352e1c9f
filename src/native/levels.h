// The kernels of the level that is being compiled; what they do is said in countwise/_kernels/reference.py.
#pragma once
#include "abi.h"

namespace countwise::COUNTWISE_LEVEL {

using std::int64_t;
using std::ptrdiff_t;
using std::size_t;
using std::uint32_t;

void class_moments(const Column* columns, size_t n_columns, Column codes, const double* weights, size_t rows,
                   size_t n_classes, double* n, double* mean, double* m2);
void count_codes(Column column, Column given, size_t rows, size_t n_values, size_t n_given, int64_t* counts);
void count_codes_integer(Column column, Column given, Column weights, size_t rows, size_t n_values,
                         size_t n_given, int64_t* counts);
void count_codes_float(Column column, Column given, Column weights, size_t rows, size_t n_values,
                       size_t n_given, double* counts);
int add_lookup(const Column* columns, size_t n_columns, const double* const* tables, const size_t* n_values,
               size_t rows, size_t classes, double* out);
void add_gaussian(const Column* columns, size_t n_columns, const double* mean, const double* inverse_sd,
                  const double* log_norm, size_t rows, size_t classes, double* out);
void add_poisson(const Column* columns, size_t n_columns, const double* rate, size_t rows, size_t classes,
                 double* out);
size_t normalize(double* out, size_t rows, size_t classes, bool proba);
void argmax_rows(const double* out, size_t rows, size_t classes, ptrdiff_t* best);
int csr_class_sums(const Csr& matrix, Column codes, const double* weights, size_t n_classes, double* sums);
int csr_add(const Csr& matrix, const double* table, size_t classes, double* out);
bool is_integral(Column column, size_t rows);
bool integer_range(Column column, size_t rows, int64_t* low, int64_t* high);
void integer_marks(Column column, size_t rows, int64_t low, size_t span, std::uint8_t* marks);
size_t integer_values(Column column, size_t rows, int64_t* values);
bool find_infinity(const Column* columns, size_t n_columns, size_t rows, size_t* column, size_t* row);
void mark_columns(const Column* columns, size_t n_columns, size_t rows, int64_t low, size_t span,
                  std::uint8_t* marks, std::uint8_t* outside);
void encode_columns(const Column* columns, size_t n_columns, size_t rows, const CodeTable* tables, void* const* codes);
void gauss_log_sums_exact(const Points& points, const double* queries, size_t n, double* sums);
size_t gauss_expand(const Points& points, double tolerance, int64_t* boxes, double* taylor);
void gauss_log_sums(const Points& points, const Boxes& boxes, const double* queries, size_t n, double* sums);
void gauss_loo_log_sums(const Points& points, const Boxes& boxes, double* sums);
void merge_sets(const double* const* values, const size_t* sizes, size_t n_classes, Type type, double* merged,
                void* codes);
void merge_weights(Column codes, size_t n, const Column* weights, const size_t* sizes, size_t n_classes, bool whole,
                   void* merged);
int class_totals(const Entries& entries, size_t start, size_t stop, size_t n_classes, double* totals);
void class_marks(const Entries& entries, size_t first, size_t stop, size_t n_classes, size_t step, uint32_t* counts);
void counts_before(const Entries& entries, const Marks& marks, size_t place, size_t n_classes, double* counts);
int64_t best_cut(const Entries& entries, size_t start, size_t stop, size_t n_classes, const double* totals,
                 double tolerance, const Marks& marks);
void count_right(const Right& rows, const double* const* terms, size_t n_terms, double* sums);
void pair_counts(const Column* columns, size_t n_columns, size_t rows, const size_t* sizes, const size_t* pairs,
                 size_t n_pairs, int64_t* const* tables);
void count_families(const Column* columns, size_t n_columns, size_t rows, const size_t* sizes, const Family* families,
                    size_t n, Column weights);
void kmeans_1d(const double* values, const double* weights, size_t n, size_t k, int64_t* starts);
void cut_codes(Column column, size_t rows, const double* edges, size_t n_edges, Type type, void* out);
void gaussian_left_out(const LeftOut& law, const double* values, size_t n, char* out, ptrdiff_t stride);
void product_log_sums(const Products& points, const ProductQueries& queries, double tolerance, double* logs);
double sum_log_share(const double* joint, size_t rows, size_t classes, size_t c, Column weights, double least);
void class_scatter(const Column* columns, size_t n_columns, Column codes, const double* weights, size_t rows,
                   size_t n_classes, std::uint8_t* incomplete, double* n, double* mean, double* scatter);
void add_quadratic(const Column* columns, size_t n_columns, const double* centers, const double* factors,
                   size_t height, size_t rows, size_t classes, double* out, std::uint8_t* incomplete);
void add_linear(const Column* columns, size_t n_columns, const double* center, const double* slopes, size_t rows,
                size_t classes, double* out, std::uint8_t* incomplete);
bool good_tests(const Column* columns, size_t n_columns, const Tests& tests, size_t n_limits, size_t n_groups,
                const std::int32_t* children, int64_t most_branches);
Routed route_entries(const Column* columns, const Instances& instances, const int64_t* starts, const Tests& tests);
int64_t apply_tests(const Column* columns, size_t n_columns, const uint32_t* rows, const std::int32_t* start, size_t n,
                    const Tests& tests, const std::int32_t* children, std::int32_t* out);
size_t presort(Column column, size_t rows, uint32_t* entries);
int64_t part_room(const Segments& from, const Parting& parting);
int64_t part_segments(const Segments& from, const Parting& parting, uint32_t* entries, int64_t* starts);
int best_thresholds(const Segments& segments, const Labels& labels, bool entropy, double least, int64_t* places,
                    double* gains);
int best_thresholds_of_numbers(const Segments& segments, const Answers& answers, bool deviations, double least,
                               int64_t* places, double* gains);
void few_values(const Column* columns, size_t n_columns, size_t rows, size_t limit, double* values, int64_t* counts);
void bin_counts(const Column* columns, size_t n_columns, size_t rows, const BinMap* maps, const double* weights,
                uint32_t* counts, double* sums);
void bin_collect(const Column* columns, size_t n_columns, size_t rows, const BinMap* maps, const double* weights,
                  const BinSlots* slots);
void bin_codes(const Column* columns, size_t n_columns, size_t rows, const BinMap* maps, const BinEdges* edges,
               std::uint8_t* const* codes);
void bin_amend(const double* values, const uint32_t* rows, size_t n, const double* edges, size_t steps,
               std::uint8_t* codes);
int count_entries(Column column, size_t rows, const NodeEntries& nodes, Column codes, Column weights, size_t n_cells,
                  size_t n_classes, void* table);
int count_matrix(const std::uint8_t* matrix, size_t rows, size_t columns, const NodeEntries& nodes, Column codes,
                 Column weights, size_t n_cells, size_t n_classes, void* table);
int sum_entries(Column column, size_t rows, const NodeEntries& nodes, const double* values, const double* weights,
                size_t n_cells, const double* centers, double* table);
void best_bins(const void* table, Type type, size_t nodes, size_t n_cells, size_t width, size_t n_bins,
               Criterion criterion, double least, int64_t* places, double* gains);
void branch_gains(const void* table, Type type, size_t nodes, size_t n_cells, size_t width, size_t n_values,
                  Criterion criterion, double least, double* gains);
void pair_sums(const PairRows& queries, const PairRows& rows, const PairLaw& law, double* sums);
void search(const Planted& planted, const PairLaw& law, const PairQuery& query);
void edit_distances(const uint32_t* letters, const int64_t* starts, size_t n, const uint32_t* other_letters,
                    const int64_t* other_starts, size_t n_others, uint32_t* out);

}  // namespace countwise::COUNTWISE_LEVEL
