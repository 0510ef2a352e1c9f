// NumPy arrays as the kernels take them: by the buffer protocol, without copies.
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

// One array's memory, held as long as this lives.
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
    // Never moved in memory, because a buffer may point into itself.
    std::unique_ptr<Py_buffer, Release> view_;
    Type type_ = Type::f64;
    bool objects_ = false;
};

// An array that may be None; its data then are a null pointer.
using MaybeArray = std::optional<Array>;
template <class T>
const T* data_of(const MaybeArray& array) {
    return array ? array->data<const T>() : nullptr;
}
inline Column column_of(const MaybeArray& array) { return array ? array->column() : Column{nullptr, 0, Type::f64}; }

// What happens to an array that is not contiguous, and whether it is written to.
enum class Access { copy, in_place, write };
constexpr size_t any = SIZE_MAX;  // a length that is not asked for

// A C-contiguous array of one type and shape.
Array require(nb::handle object, const std::string& name, Type type, const std::vector<size_t>& shape,
              Access access = Access::copy);
MaybeArray require_or_none(nb::handle object, const std::string& name, Type type, const std::vector<size_t>& shape);

// A 1-D array of numbers, of any stride.
Array column_array(nb::handle object, const std::string& name);
// The same for weights of any type, or None.
MaybeArray weight_column(nb::handle object, size_t rows);
// A 1-D array of uint8, uint16 or uint32, of any stride.
Array codes_array(nb::handle object, const std::string& name, size_t rows = any);
// Log joint probabilities: float64, C-contiguous, (rows, classes).
Array out_array(nb::handle object, bool writable = true);

inline bool is_float(Type type) { return type == Type::f64 || type == Type::f32; }
// The type of counts with such weights.
inline const char* count_type(const MaybeArray& weights) {
    return weights && is_float(weights->type()) ? "float64" : "int64";
}

void check_rows(const std::string& name, size_t found, size_t rows);
// Refuses counts that no code reaches; the sizes of tables made from them might overflow.
void check_count(const std::string& name, size_t found, size_t most = size_t{UINT32_MAX} + 1);
// Refuses places that descend, or lie outside 0 to `most`.
void check_ascending(const Array& starts, const std::string& name, size_t most);

// A list of columns of equal length.
class Columns {
public:
    Columns(nb::handle objects, bool codes);
    size_t count() const { return columns_.size(); }
    const Column* data() const { return columns_.data(); }
    // The length of all of them; 0 if there are none.
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

// Float64 weights of rows, or none.
class RowWeights {
public:
    RowWeights(nb::handle object, size_t rows) : array_(require_or_none(object, "weights", Type::f64, {rows})) {}
    const double* data() const { return data_of<double>(array_); }

private:
    MaybeArray array_;
};

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

// A new NumPy array and its memory.
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
