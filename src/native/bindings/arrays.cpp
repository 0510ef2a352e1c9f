#include "arrays.h"

#include <cstring>

#include "interrupt.h"

namespace countwise {

namespace {

std::string dtype_of(nb::handle object) {
    if (!nb::hasattr(object, "dtype")) return "a " + nb::cast<std::string>(object.type().attr("__name__"));
    const nb::object dtype = object.attr("dtype");
    return nb::cast<std::string>(nb::steal(PyObject_Str(dtype.ptr())));
}

// The element type of a buffer by its format (a letter, optionally after a mark of native byte order) and item size.
bool type_from(const char* format, Py_ssize_t size, Type* type) {
    const char order = format[0];
    if (order == '@' || order == '=' || order == '^') ++format;
#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    else if (order == '<') ++format;
#endif
    if (format[0] == '\0' || format[1] != '\0') return false;
    const bool floating = std::strchr("fd", format[0]), is_signed = std::strchr("bhilqn", format[0]),
               is_unsigned = std::strchr("BHILQN", format[0]);
    if (format[0] == '?') *type = Type::boolean;
    else if (floating) *type = size == 8 ? Type::f64 : Type::f32;
    else if (is_signed) *type = size == 8 ? Type::i64 : size == 4 ? Type::i32 : size == 2 ? Type::i16 : Type::i8;
    else if (is_unsigned) *type = size == 8 ? Type::u64 : size == 4 ? Type::u32 : size == 2 ? Type::u16 : Type::u8;
    else return false;
    return true;
}

const char* name_of(Type type) {
    constexpr const char* names[] = {"float64", "float32", "int64",  "int32", "int16", "int8",
                                     "uint64",  "uint32",  "uint16", "uint8", "bool"};
    return names[static_cast<size_t>(type)];
}

}  // namespace

Array::Array(nb::handle object, const std::string& name, bool writable) {
    const int flags = PyBUF_STRIDES | PyBUF_FORMAT;
    Py_buffer view{};
    auto held = std::make_unique<Py_buffer>();
    if (PyObject_GetBuffer(object.ptr(), held.get(), flags | (writable ? PyBUF_WRITABLE : 0)) != 0) {
        PyErr_Clear();
        if (writable && PyObject_GetBuffer(object.ptr(), &view, flags) == 0) {
            PyBuffer_Release(&view);
            refuse_value(name + " is read-only; it must be writable.");
        }
        PyErr_Clear();
        refuse_type(name + " is " + dtype_of(object) + "; it must be a numeric array.");
    }
    view_.reset(held.release());
    objects_ = view_->format && std::strcmp(view_->format, "O") == 0;
    if (!objects_ && !(view_->format && type_from(view_->format, view_->itemsize, &type_)))
        refuse_type(name + " is " + dtype_of(object) +
                    "; it must be float32, float64, an integer or bool, in native byte order.");
    if (view_->ndim == 0) refuse_value(name + " has no dimensions; it must have at least one.");
}

bool Array::contiguous() const {
    const bool aligned = reinterpret_cast<std::uintptr_t>(view_->buf) % static_cast<size_t>(view_->itemsize) == 0;
    return aligned && PyBuffer_IsContiguous(view_.get(), 'C');
}

std::string Array::shape() const {
    std::string text = "(";
    for (int i = 0; i < view_->ndim; ++i) text += (i ? ", " : "") + std::to_string(view_->shape[i]);
    return text + ")";
}

void check_rows(const std::string& name, size_t found, size_t rows) {
    if (found != rows)
        refuse_value(name + " has " + std::to_string(found) + " rows; " + std::to_string(rows) + " are needed.");
}

void check_count(const std::string& name, size_t found, size_t most) {
    if (found > most)
        refuse_value(name + " is " + std::to_string(found) + "; it must be at most " + std::to_string(most) + ".");
}

void check_ascending(const Array& starts, const std::string& name, size_t most) {
    const int64_t* at = starts.data<const int64_t>();
    const size_t n = starts.size();
    bool good = n > 0 && at[0] >= 0 && static_cast<size_t>(at[n - 1]) <= most;
    for (size_t i = 1; i < n; ++i) good &= at[i - 1] <= at[i];
    if (!good) refuse_value(name + " must ascend and lie between 0 and " + std::to_string(most) + ".");
}

Array require(nb::handle object, const std::string& name, Type type, const std::vector<size_t>& shape, Access access) {
    Array array(object, name, access == Access::write);
    if (array.is_objects() || array.type() != type)
        refuse_type(name + " is " + dtype_of(object) + "; it must be " + name_of(type) + ".");
    if (array.dimensions() != static_cast<int>(shape.size()))
        refuse_value(name + " has shape " + array.shape() + "; it needs " + std::to_string(shape.size()) +
                     (shape.size() == 1 ? " dimension" : " dimensions") + ".");
    std::string wanted;
    bool good = true;
    for (size_t i = 0; i < shape.size(); ++i) {
        good &= shape[i] == any || array.size(static_cast<int>(i)) == shape[i];
        wanted += (i ? ", " : "") + (shape[i] == any ? "any" : std::to_string(shape[i]));
    }
    if (!good && shape.size() == 1) check_rows(name, array.size(), shape[0]);
    if (!good) refuse_value(name + " has shape " + array.shape() + "; it needs (" + wanted + ").");
    if (array.contiguous()) return array;
    if (access != Access::copy) refuse_value(name + " must be C-contiguous; its shape is " + array.shape() + ".");
    return Array(copied(object), name);
}

MaybeArray require_or_none(nb::handle object, const std::string& name, Type type, const std::vector<size_t>& shape) {
    if (object.is_none()) return std::nullopt;
    return require(object, name, type, shape);
}

Array column_array(nb::handle object, const std::string& name) {
    Array array(object, name);
    if (array.is_objects()) refuse_type(name + " contains objects; it must be numeric.");
    if (array.dimensions() != 1)
        refuse_value(name + " has " + std::to_string(array.dimensions()) + " dimensions; it needs 1.");
    return array;
}

MaybeArray weight_column(nb::handle object, size_t rows) {
    if (object.is_none()) return std::nullopt;
    Array array = column_array(object, "weights");
    check_rows("weights", array.size(), rows);
    return array;
}

Array codes_array(nb::handle object, const std::string& name, size_t rows) {
    Array array(object, name);
    const Type type = array.type();
    if (array.is_objects() || array.dimensions() != 1 || (type != Type::u8 && type != Type::u16 && type != Type::u32))
        refuse_type(name + " must be a 1-D array of uint8, uint16 or uint32, not " + dtype_of(object) + " " +
                    array.shape() + ".");
    if (rows != any) check_rows(name, array.size(), rows);
    return array;
}

Array out_array(nb::handle object, bool writable) {
    return require(object, "out", Type::f64, {any, any}, writable ? Access::write : Access::in_place);
}

Columns::Columns(nb::handle objects, bool codes) {
    size_t j = 0;
    for (nb::handle object : objects) {
        const std::string name = "columns[" + std::to_string(j++) + "]";
        arrays_.push_back(codes ? codes_array(object, name) : column_array(object, name));
        columns_.push_back(arrays_.back().column());
    }
}

void Columns::check(size_t rows) const {
    for (size_t j = 0; j < arrays_.size(); ++j)
        check_rows("columns[" + std::to_string(j) + "]", arrays_[j].size(), rows);
}

nb::object copied(nb::handle object) {
    return alive([&] { return nb::module_::import_("numpy").attr("array")(object, nb::arg("order") = "C"); });
}

nb::object new_array(bool zeros, const std::vector<size_t>& shape, const char* dtype) {
    nb::list lengths;
    for (const size_t n : shape) lengths.append(n);
    return alive([&] { return nb::module_::import_("numpy").attr(zeros ? "zeros" : "empty")(lengths, dtype); });
}

}  // namespace countwise
