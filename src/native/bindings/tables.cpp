// Bindings of the kernels on sparse tables and on integer columns.
#include <algorithm>

#include "module.h"
#include "support/cells.h"

namespace countwise {

KERNEL(int, csr_class_sums, const Csr& matrix, Column codes, const double* weights, size_t n_classes, double* sums);
KERNEL(int, csr_add, const Csr& matrix, const double* table, size_t classes, double* out);
KERNEL(bool, is_integral, Column column, size_t rows);
// Returns false if all values are missing. The bounds are uint64 for u64 columns, int64 otherwise.
KERNEL(bool, integer_range, Column column, size_t rows, int64_t* low, int64_t* high);
KERNEL(void, integer_marks, Column column, size_t rows, int64_t low, size_t span, uint8_t* marks);
KERNEL(size_t, integer_values, Column column, size_t rows, int64_t* values);

namespace {

// The three arrays of a sparse matrix, checked so that the kernels cannot read outside them.
class SparseRows {
public:
    SparseRows(nb::handle indptr, nb::handle indices, nb::handle data, size_t rows, size_t columns, bool present)
        : indptr_(index_array(indptr, "indptr")), indices_(index_array(indices, "indices")),
          data_(column_array(data, "data")),
          matrix_{indptr_.column(), indices_.column(), data_.column(), rows, columns, present} {
        check_rows("indptr", indptr_.size(), rows + 1);
        check_order();
    }
    const Csr& matrix() const { return matrix_; }
    [[noreturn]] void refuse_column() const {
        refuse_value("indices contains a column outside 0 to " +
                     std::to_string(static_cast<long long>(matrix_.columns) - 1) + ".");
    }

private:
    static Array index_array(nb::handle object, const char* name) {
        Array array = column_array(object, name);
        if (array.type() != Type::i32 && array.type() != Type::i64)
            refuse_type(std::string(name) + " must be int32 or int64.");
        return array;
    }
    int64_t pointer(size_t i) const {
        return matrix_.indptr.type == Type::i64 ? cell_at<int64_t>(matrix_.indptr, i)
                                                : cell_at<int32_t>(matrix_.indptr, i);
    }
    void check_order() const {
        bool good = pointer(0) >= 0;
        for (size_t i = 0; i < matrix_.rows; ++i) good &= pointer(i) <= pointer(i + 1);
        good &= static_cast<uint64_t>(pointer(matrix_.rows)) <= std::min(indices_.size(), data_.size());
        if (!good) refuse_value("indptr must ascend and must not point outside indices and data.");
    }

    Array indptr_, indices_, data_;
    Csr matrix_;
};

nb::object csr_class_sums(nb::handle indptr, nb::handle indices, nb::handle data, nb::handle codes, nb::handle weights,
                          size_t n_classes, size_t n_columns, bool present) {
    const Array code = codes_array(codes, "codes");
    const SparseRows sparse(indptr, indices, data, code.size(), n_columns, present);
    const RowWeights weight(weights, code.size());
    check_count("n_classes", n_classes);
    const NewArray<double> sums({n_classes, n_columns}, zeros);
    const int bad = unlocked(
        [&] { return kernels::csr_class_sums(sparse.matrix(), code.column(), weight.data(), n_classes, sums.data()); });
    if (bad) sparse.refuse_column();
    return sums.object;
}

void csr_add(nb::handle indptr, nb::handle indices, nb::handle data, nb::handle table, bool present, nb::handle out) {
    const Array to = out_array(out), cells = require(table, "table", Type::f64, {any, to.size(1)});
    const SparseRows sparse(indptr, indices, data, to.size(0), cells.size(0), present);
    const int bad = unlocked(
        [&] { return kernels::csr_add(sparse.matrix(), cells.data<const double>(), to.size(1), to.data<double>()); });
    if (bad) sparse.refuse_column();
}

bool float_is_integral(nb::handle column) {
    const Array array = column_array(column, "column");
    return unlocked([&] { return kernels::is_integral(array.column(), array.size()); });
}

// Returns the distinct values, by marking each number of the range, or by sorting if the range is too large.
std::vector<int64_t> distinct_values(const Array& array, int64_t low, uint64_t span) {
    std::vector<int64_t> values;
    if (span <= std::max<uint64_t>(uint64_t{1} << 20, 4 * array.size())) {
        std::vector<uint8_t> marks(span + 1);
        kernels::integer_marks(array.column(), array.size(), low, marks.size(), marks.data());
        for (uint64_t i = 0; i <= span; ++i)
            if (marks[i]) values.push_back(low + static_cast<int64_t>(i));
    } else {
        values.resize(array.size());
        values.resize(kernels::integer_values(array.column(), array.size(), values.data()));
        std::sort(values.begin(), values.end());
        values.erase(std::unique(values.begin(), values.end()), values.end());
    }
    return values;
}

nb::object integer_domain(nb::handle column, nb::int_ limit) {
    const Array array = column_array(column, "column");
    int overflow = 0;  // a limit that exceeds 64 bits has no effect
    const long long bound = PyLong_AsLongLongAndOverflow(limit.ptr(), &overflow);
    const uint64_t most = overflow > 0 ? UINT64_MAX : overflow < 0 || bound < 0 ? 0 : static_cast<uint64_t>(bound);
    int64_t low = 0, high = 0;
    bool integral = true, found = false, close = true;
    std::vector<int64_t> values;
    unlocked([&] {
        integral = kernels::is_integral(array.column(), array.size());
        if (integral) found = kernels::integer_range(array.column(), array.size(), &low, &high);
        if (found) {
            const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
            close = span < most && !(array.type() == Type::u64 && high < 0);
            if (close) values = distinct_values(array, low, span);
        }
    });
    if (!integral) refuse_value("column contains a number that is not an integer or not below 2**53.");
    if (!close) return nb::none();
    return NewArray<int64_t>::of(values).object;
}

}  // namespace

const Bindings bindings([](nb::module_& m) {
    using namespace nb::literals;
    m.def("csr_class_sums", &csr_class_sums, "indptr"_a, "indices"_a, "data"_a, "codes"_a, "weights"_a.none(),
          "n_classes"_a, "n_columns"_a, "present"_a);
    m.def("csr_add", &csr_add, "indptr"_a, "indices"_a, "data"_a, "table"_a, "present"_a, "out"_a);
    m.def("float_is_integral", &float_is_integral, "column"_a);
    m.def("integer_domain", &integer_domain, "column"_a, "limit"_a);
});

}  // namespace countwise
