#include "arrays.h"

#include <cstring>

namespace countwise {

namespace {

std::string dtype_of(nb::handle object) {
    if (!nb::hasattr(object, "dtype")) return "a " + nb::cast<std::string>(object.type().attr("__name__"));
    const nb::object dtype = object.attr("dtype");
    return nb::cast<std::string>(nb::steal(PyObject_Str(dtype.ptr())));
}

// The type of a buffer's cells by its format (a letter, perhaps after a mark of native byte order) and size.
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

}  // namespace

Array::Array(nb::handle object, const std::string& name, bool writable) {
    const int flags = PyBUF_STRIDES | PyBUF_FORMAT;
    Py_buffer view{};
    auto held = std::make_unique<Py_buffer>();
    if (PyObject_GetBuffer(object.ptr(), held.get(), flags | (writable ? PyBUF_WRITABLE : 0)) != 0) {
        PyErr_Clear();
        if (writable && PyObject_GetBuffer(object.ptr(), &view, flags) == 0) {
            PyBuffer_Release(&view);
            refuse_value(name + " is read-only; it is to be added to in place");
        }
        PyErr_Clear();
        refuse_type(name + " is " + dtype_of(object) + "; an array of numbers is needed");
    }
    view_.reset(held.release());
    objects_ = view_->format && std::strcmp(view_->format, "O") == 0;
    if (!objects_ && !(view_->format && type_from(view_->format, view_->itemsize, &type_)))
        refuse_type(name + " is " + dtype_of(object) +
                    "; it must be float32, float64, an integer or bool, in native byte order");
    if (view_->ndim == 0) refuse_value(name + " has no dimension; an array of one or more is needed");
}

bool Array::contiguous() const {
    const bool aligned = reinterpret_cast<std::uintptr_t>(view_->buf) % static_cast<std::size_t>(view_->itemsize) == 0;
    return aligned && PyBuffer_IsContiguous(view_.get(), 'C');
}

std::string Array::shape() const {
    std::string text = "(";
    for (int i = 0; i < view_->ndim; ++i) text += (i ? ", " : "") + std::to_string(view_->shape[i]);
    return text + ")";
}

void check_rows(const std::string& name, std::size_t found, std::size_t rows) {
    if (found != rows)
        refuse_value(name + " has " + std::to_string(found) + " rows; " + std::to_string(rows) + " are needed");
}

Array column_array(nb::handle object, const std::string& name) {
    Array array(object, name);
    if (array.is_objects()) refuse_type(name + " holds objects; numbers are needed");
    if (array.dimensions() != 1)
        refuse_value(name + " has " + std::to_string(array.dimensions()) + " dimensions; it needs 1");
    return array;
}

Array codes_array(nb::handle object, const std::string& name) {
    Array array(object, name);
    const Type type = array.type();
    if (array.is_objects() || array.dimensions() != 1 ||
        (type != Type::u8 && type != Type::u16 && type != Type::u32))
        refuse_type(name + ": codes are 1-D uint8, uint16 or uint32, not " + dtype_of(object) + " " +
                    array.shape());
    return array;
}

Array codes_array(nb::handle object, const std::string& name, std::size_t rows) {
    Array array = codes_array(object, name);
    check_rows(name, array.size(), rows);
    return array;
}

Array out_array(nb::handle object, bool writable) {
    Array array(object, "out", writable);
    if (array.is_objects() || array.type() != Type::f64)
        refuse_type("out is " + dtype_of(object) + "; it must be float64");
    if (array.dimensions() != 2 || !array.contiguous())
        refuse_value("out must be C-contiguous (rows, classes), not of shape " + array.shape());
    return array;
}

Array float_array(nb::handle object, const std::string& name, int dimensions) {
    Array array(object, name);
    if (array.is_objects() || array.type() != Type::f64)
        refuse_type(name + " is " + dtype_of(object) + "; it must be float64");
    if (array.dimensions() != dimensions)
        refuse_value(name + " has shape " + array.shape() + "; it needs " + std::to_string(dimensions) +
                     (dimensions == 1 ? " dimension" : " dimensions"));
    if (array.contiguous()) return array;
    return Array(nb::module_::import_("numpy").attr("array")(object, nb::arg("order") = "C"), name);
}

Columns::Columns(nb::handle objects, bool codes) {
    std::size_t j = 0;
    for (nb::handle object : objects) {
        const std::string name = "column " + std::to_string(j++);
        arrays_.push_back(codes ? codes_array(object, name) : column_array(object, name));
        columns_.push_back(arrays_.back().column());
    }
}

void Columns::check(std::size_t rows) const {
    for (std::size_t j = 0; j < arrays_.size(); ++j) check_rows("column " + std::to_string(j), arrays_[j].size(), rows);
}

RowWeights::RowWeights(nb::handle object, std::size_t rows) {
    if (object.is_none()) return;
    array_.push_back(float_array(object, "weights", 1));
    check_rows("weights", array_[0].size(), rows);
}

nb::object new_array(const char* maker, nb::object shape, const char* dtype) {
    return nb::module_::import_("numpy").attr(maker)(shape, dtype);
}

}  // namespace countwise
