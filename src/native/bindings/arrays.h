// NumPy arrays as the kernels take them: by the buffer protocol, without copies.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <string>
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

    std::size_t size(int axis = 0) const { return static_cast<std::size_t>(view_->shape[axis]); }
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

// A 1-D array of numbers.
Array column_array(nb::handle object, const std::string& name);
// A 1-D array of uint8, uint16 or uint32.
Array codes_array(nb::handle object, const std::string& name);
// The same with a number of rows that must be right.
Array codes_array(nb::handle object, const std::string& name, std::size_t rows);
// The log joint probabilities: float64, C-contiguous, (rows, classes), writable.
Array out_array(nb::handle object, bool writable = true);
// A float64 array of `dimensions` axes that is contiguous: copied only if it is not.
Array float_array(nb::handle object, const std::string& name, int dimensions);

void check_rows(const std::string& name, std::size_t found, std::size_t rows);

// A list of columns of equal length.
class Columns {
public:
    Columns(nb::handle objects, bool codes);
    std::size_t count() const { return columns_.size(); }
    const Column* data() const { return columns_.data(); }
    // The length of all of them.
    std::size_t rows() const {
        check(arrays_[0].size());
        return arrays_[0].size();
    }
    void check(std::size_t rows) const;

private:
    std::vector<Array> arrays_;
    std::vector<Column> columns_;
};

// Weights of rows, or none.
class RowWeights {
public:
    RowWeights(nb::handle object, std::size_t rows);
    const double* data() const { return array_.empty() ? nullptr : array_[0].data<const double>(); }

private:
    std::vector<Array> array_;
};

// A new NumPy array and its memory.
nb::object new_array(const char* maker, nb::object shape, const char* dtype);

}  // namespace countwise
