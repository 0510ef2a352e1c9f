// Bindings of the kernels on sparse tables and on columns of whole numbers.
#include <algorithm>

#include "module.h"

namespace countwise {

namespace {

// The three arrays of a sparse matrix, checked so far that the kernels cannot read outside them.
class SparseRows {
public:
    SparseRows(nb::handle indptr, nb::handle indices, nb::handle data, std::size_t rows, std::size_t columns,
               bool present)
        : indptr_(index_array(indptr, "indptr")),
          indices_(index_array(indices, "indices")),
          data_(column_array(data, "data")),
          matrix_{indptr_.column(), indices_.column(), data_.column(), rows, columns, present} {
        if (indptr_.size() != rows + 1)
            refuse_value("indptr has " + std::to_string(indptr_.size()) + " entries; " + std::to_string(rows) +
                         " rows need " + std::to_string(rows + 1));
        check_order();
    }
    const Csr& matrix() const { return matrix_; }
    [[noreturn]] void refuse_column() const {
        refuse_value("indices hold a column outside 0 to " +
                     std::to_string(static_cast<long long>(matrix_.columns) - 1));
    }

private:
    static Array index_array(nb::handle object, const char* name) {
        Array array = column_array(object, name);
        if (array.type() != Type::i32 && array.type() != Type::i64)
            refuse_type(std::string(name) + " must be int32 or int64");
        return array;
    }
    std::int64_t pointer(std::size_t i) const {
        const char* at = matrix_.indptr.data + static_cast<std::ptrdiff_t>(i) * matrix_.indptr.stride;
        return matrix_.indptr.type == Type::i64 ? *reinterpret_cast<const std::int64_t*>(at)
                                                : *reinterpret_cast<const std::int32_t*>(at);
    }
    void check_order() const {
        bool good = pointer(0) >= 0;
        for (std::size_t i = 0; i < matrix_.rows; ++i) good &= pointer(i) <= pointer(i + 1);
        good &= static_cast<std::uint64_t>(pointer(matrix_.rows)) <= std::min(indices_.size(), data_.size());
        if (!good) refuse_value("indptr must not descend, nor point outside indices and data");
    }

    Array indptr_, indices_, data_;
    Csr matrix_;
};

nb::object csr_class_sums(nb::handle indptr, nb::handle indices, nb::handle data, nb::handle codes,
                          nb::handle weights, std::size_t n_classes, std::size_t n_columns, bool present) {
    const Array code = codes_array(codes, "codes");
    const SparseRows sparse(indptr, indices, data, code.size(), n_columns, present);
    const RowWeights weight(weights, code.size());
    const nb::object sums = new_array("zeros", nb::make_tuple(n_classes, n_columns), "d");
    const Array to(sums, "sums");
    const int bad = unlocked([&] {
        return kernels().csr_class_sums(sparse.matrix(), code.column(), weight.data(), n_classes, to.data<double>());
    });
    if (bad) sparse.refuse_column();
    return sums;
}

void csr_add(nb::handle indptr, nb::handle indices, nb::handle data, nb::handle table, bool present,
             nb::handle out) {
    const Array to = out_array(out), cells = float_array(table, "table", 2);
    if (cells.size(1) != to.size(1))
        refuse_value("table has shape " + cells.shape() + "; it needs " + std::to_string(to.size(1)) + " classes");
    const SparseRows sparse(indptr, indices, data, to.size(0), cells.size(0), present);
    const int bad = unlocked([&] {
        return kernels().csr_add(sparse.matrix(), cells.data<const double>(), to.size(1), to.data<double>());
    });
    if (bad) sparse.refuse_column();
}

bool float_is_integral(nb::handle column) {
    const Array array = column_array(column, "column");
    return unlocked([&] { return kernels().is_integral(array.column(), array.size()); });
}

// The distinct values by a mark for each number of the range, or by sorting where that would be too large.
std::vector<std::int64_t> distinct_values(const Array& array, std::int64_t low, std::uint64_t span) {
    std::vector<std::int64_t> values;
    if (span <= std::max<std::uint64_t>(std::uint64_t{1} << 20, 4 * array.size())) {
        std::vector<std::uint8_t> marks(span + 1);
        kernels().integer_marks(array.column(), array.size(), low, marks.size(), marks.data());
        for (std::uint64_t i = 0; i <= span; ++i)
            if (marks[i]) values.push_back(low + static_cast<std::int64_t>(i));
    } else {
        values.resize(array.size());
        values.resize(kernels().integer_values(array.column(), array.size(), values.data()));
        std::sort(values.begin(), values.end());
        values.erase(std::unique(values.begin(), values.end()), values.end());
    }
    return values;
}

nb::object integer_domain(nb::handle column, nb::int_ limit) {
    const Array array = column_array(column, "column");
    int overflow = 0;  // a limit beyond 64 bits is no limit
    const long long bound = PyLong_AsLongLongAndOverflow(limit.ptr(), &overflow);
    const std::uint64_t most = overflow > 0               ? UINT64_MAX
                               : overflow < 0 || bound < 0 ? 0
                                                           : static_cast<std::uint64_t>(bound);
    std::int64_t low = 0, high = 0;
    bool integral = true, found = false, close = true;
    std::vector<std::int64_t> values;
    unlocked([&] {
        integral = kernels().is_integral(array.column(), array.size());
        if (integral) found = kernels().integer_range(array.column(), array.size(), &low, &high);
        if (found) {
            const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
            close = span < most && !(array.type() == Type::u64 && high < 0);
            if (close) values = distinct_values(array, low, span);
        }
    });
    if (!integral) refuse_value("the column holds a number that is not whole, or is 2**53 or more");
    if (!close) return nb::none();
    const nb::object result = new_array("empty", nb::int_(values.size()), "int64");
    const Array to(result, "values");
    std::copy(values.begin(), values.end(), to.data<std::int64_t>());
    return result;
}

}  // namespace

void define_sparse(nb::module_& m) {
    using namespace nb::literals;
    m.def("csr_class_sums", &csr_class_sums, "indptr"_a, "indices"_a, "data"_a, "codes"_a, "weights"_a.none(),
          "n_classes"_a, "n_columns"_a, "present"_a);
    m.def("csr_add", &csr_add, "indptr"_a, "indices"_a, "data"_a, "table"_a, "present"_a, "out"_a);
}

void define_integers(nb::module_& m) {
    using namespace nb::literals;
    m.def("float_is_integral", &float_is_integral, "column"_a);
    m.def("integer_domain", &integer_domain, "column"_a, "limit"_a);
}

}  // namespace countwise
