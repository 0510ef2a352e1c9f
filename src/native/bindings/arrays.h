// Access to NumPy arrays by the buffer protocol, without copies.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "support/abi.h"

namespace countwise {

namespace nb = nanobind;

[[noreturn]] inline void refuse_value(const std::string& message) { throw nb::value_error(message.c_str()); }
[[noreturn]] inline void refuse_type(const std::string& message) { throw nb::type_error(message.c_str()); }

// The memory of an array, held during the lifetime of this object.
class Array {
public:
    Array(nb::handle object, const std::string& name, bool writable = false);

    size_t size(int axis = 0) const { return static_cast<size_t>(view_->shape[axis]); }
    int dimensions() const { return view_->ndim; }
    bool is_objects() const { return objects_; }
    Type type() const { return type_; }
    bool contiguous() const;
    std::string shape() const;
    Column column() const { return {static_cast<const char*>(view_->buf), view_->strides[0], type_}; }
    template <class T>
    T* data() const {
        return static_cast<T*>(view_->buf);
    }

private:
    struct Release {
        void operator()(Py_buffer* view) const {
            PyBuffer_Release(view);
            delete view;
        }
    };
    // The buffer must not move in memory, because it may point into itself.
    std::unique_ptr<Py_buffer, Release> view_;
    Type type_ = Type::f64;
    bool objects_ = false;
};

// An array that may be None; its data pointer is then null.
using MaybeArray = std::optional<Array>;
template <class T>
const T* data_of(const MaybeArray& array) {
    return array ? array->data<const T>() : nullptr;
}
inline Column column_of(const MaybeArray& array) { return array ? array->column() : Column{nullptr, 0, Type::f64}; }

// How an array is accessed: whether a non-contiguous array is copied, and whether the array is written to.
enum class Access { copy, in_place, write };
constexpr size_t any = SIZE_MAX;  // a length that is not checked

// Returns a C-contiguous array of the given type and shape.
Array require(nb::handle object, const std::string& name, Type type, const std::vector<size_t>& shape,
              Access access = Access::copy);
MaybeArray require_or_none(nb::handle object, const std::string& name, Type type, const std::vector<size_t>& shape);

// Returns a 1-D numeric array, of any stride.
Array column_array(nb::handle object, const std::string& name);
// The same for weights of any type; None is accepted.
MaybeArray weight_column(nb::handle object, size_t rows);
// Returns a 1-D array of uint8, uint16 or uint32, of any stride.
Array codes_array(nb::handle object, const std::string& name, size_t rows = any);
// Returns an array of log joint probabilities: float64, C-contiguous, (rows, classes).
Array out_array(nb::handle object, bool writable = true);

inline bool is_float(Type type) { return type == Type::f64 || type == Type::f32; }
// The type of counts with these weights.
inline const char* count_type(const MaybeArray& weights) {
    return weights && is_float(weights->type()) ? "float64" : "int64";
}

// Returns a Python number that fits the type.
template <class T>
T number(nb::handle object, const std::string& name) {
    T value;
    if (!nb::try_cast<T>(object, value))
        refuse_value(name + (std::is_integral_v<T> ? " must be an integer of at most 64 bits, not negative if a size."
                                                   : " must be a number."));
    return value;
}

void check_rows(const std::string& name, size_t found, size_t rows);
// Rejects numbers of values or classes that exceed the range of codes; the sizes of tables might overflow.
void check_count(const std::string& name, size_t found, size_t most = size_t{UINT32_MAX} + 1);
// Rejects positions that do not ascend or lie outside 0 to `most`.
void check_ascending(const Array& starts, const std::string& name, size_t most);

// A list of columns of equal length.
class Columns {
public:
    Columns(nb::handle objects, bool codes);
    size_t count() const { return columns_.size(); }
    const Column* data() const { return columns_.data(); }
    // The common length; 0 without columns.
    size_t rows() const {
        if (columns_.empty()) return 0;
        check(arrays_[0].size());
        return arrays_[0].size();
    }
    void check(size_t rows) const;

private:
    std::vector<Array> arrays_;
    std::vector<Column> columns_;
};

// Optional float64 weights of rows.
class RowWeights {
public:
    RowWeights(nb::handle object, size_t rows) : array_(require_or_none(object, "weights", Type::f64, {rows})) {}
    const double* data() const { return data_of<double>(array_); }

private:
    MaybeArray array_;
};

// Returns a C-contiguous copy.
nb::object copied(nb::handle object);
nb::object new_array(bool zeros, const std::vector<size_t>& shape, const char* dtype);

template <class T>
constexpr const char* dtype_name() {
    if constexpr (std::is_same_v<T, double>) return "float64";
    else if constexpr (std::is_same_v<T, int64_t>) return "int64";
    else if constexpr (std::is_same_v<T, int32_t>) return "int32";
    else if constexpr (std::is_same_v<T, uint32_t>) return "uint32";
    else {
        static_assert(std::is_same_v<T, uint8_t>);
        return "uint8";
    }
}

// A new NumPy array and access to its memory.
template <class T>
class NewArray {
public:
    explicit NewArray(const std::vector<size_t>& shape, bool zeros = false, const char* dtype = dtype_name<T>())
        : object(new_array(zeros, shape, dtype)), memory_(object, "a new array") {}
    static NewArray of(const std::vector<T>& values) {
        NewArray made({values.size()});
        std::copy(values.begin(), values.end(), made.data());
        return made;
    }
    T* data() const { return memory_.data<T>(); }
    Column column() const { return memory_.column(); }

    const nb::object object;

private:
    Array memory_;
};
constexpr bool zeros = true;

}  // namespace countwise
