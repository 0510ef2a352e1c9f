// Codes of Python objects; the global interpreter lock is held throughout.
#include <cmath>

#include "module.h"
#include "support/cells.h"

namespace countwise {

namespace {

// Cache of recently seen objects by address, because most columns repeat few objects. It holds references, so that an
// address cannot be reused for another object.
class Recent {
public:
    explicit Recent(size_t objects) : places_(objects > few ? sets * ways : 0) {}
    ~Recent() {
        for (Place& place : places_) Py_XDECREF(place.object);
    }
    bool find(PyObject* object, uint32_t* code) {
        if (places_.empty() || (searches_ >= trial && found_ < searches_ / 8))
            return false;  // most objects differ: stop searching the cache
        ++searches_;
        const Place* place = set_of(object);
        for (size_t i = 0; i < ways; ++i)
            if (place[i].object == object) return *code = place[i].code, ++found_, true;
        return false;
    }
    void keep(PyObject* object, uint32_t code) {
        if (places_.empty() || (searches_ >= trial && found_ < searches_ / 8)) return;
        Place* place = set_of(object);
        size_t i = 0;
        while (i < ways && place[i].object) ++i;
        if (i == ways) i = turn_++ % ways;
        Py_INCREF(object);
        Py_XDECREF(place[i].object);
        place[i] = {object, code};
    }

private:
    struct Place {
        PyObject* object = nullptr;
        uint32_t code = 0;
    };
    static constexpr size_t sets = 1024, ways = 4, trial = 4096;
    static constexpr size_t few = 256;  // for so few objects, a cache takes longer than it saves

    Place* set_of(PyObject* object) {
        const uint64_t address = reinterpret_cast<std::uintptr_t>(object) >> 4;
        return &places_[((address * 0x9e3779b97f4a7c15u) >> 54) * ways];
    }

    std::vector<Place> places_;
    size_t searches_ = 0, found_ = 0, turn_ = 0;
};

class Distinct {
public:
    // Computes the code of an object; sets a Python error and returns false on failure.
    bool code_of(PyObject* object, uint32_t* code) {
        PyTypeObject* type = Py_TYPE(object);
        Values& values = PyUnicode_Check(object) ? strings_ : values_of(type);
        if (values.floating) {
            const double number = PyFloat_AsDouble(object);
            if (number == -1.0 && PyErr_Occurred()) return false;
            if (number != number) return nan_code(object, code);
        }
        PyObject* known = PyDict_GetItemWithError(values.codes.ptr(), object);
        if (known) return *code = static_cast<uint32_t>(PyLong_AsUnsignedLong(known)), true;
        if (PyErr_Occurred()) return false;
        *code = static_cast<uint32_t>(nb::len(list_));
        const nb::object number = nb::int_(*code);
        if (PyDict_SetItem(values.codes.ptr(), object, number.ptr()) != 0) return false;
        list_.append(nb::handle(object));
        return true;
    }
    nb::list list() const { return list_; }

private:
    // Values of one type: True and 1 are equal but are distinct values.
    struct Values {
        nb::object type;
        bool floating;
        nb::dict codes;
    };

    Values& values_of(PyTypeObject* type) {
        for (Values& values : by_type_)
            if (values.type.ptr() == reinterpret_cast<PyObject*>(type)) return values;
        const nb::object owned = nb::borrow(reinterpret_cast<PyObject*>(type));
        if (!numpy_floating_.is_valid()) numpy_floating_ = nb::module_::import_("numpy").attr("floating");
        const int is_numpy = PyObject_IsSubclass(owned.ptr(), numpy_floating_.ptr());
        if (is_numpy < 0) PyErr_Clear();
        const bool is_float = PyObject_IsSubclass(owned.ptr(), reinterpret_cast<PyObject*>(&PyFloat_Type)) > 0;
        by_type_.push_back({owned, is_float || is_numpy > 0, nb::dict()});
        return by_type_.back();
    }

    bool nan_code(PyObject* object, uint32_t* code) {
        if (nan_ < 0) {
            nan_ = static_cast<int64_t>(nb::len(list_));
            list_.append(nb::handle(object));
        }
        *code = static_cast<uint32_t>(nan_);
        return true;
    }

    nb::list list_;
    Values strings_{nb::none(), false, nb::dict()};
    std::vector<Values> by_type_;
    nb::object numpy_floating_;
    int64_t nan_ = -1;
};

[[noreturn]] void refuse_object(size_t row, PyObject* object) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
    PyErr_Clear();
    refuse_type("Row " + std::to_string(row) + " contains a " +
                nb::cast<std::string>(nb::handle(object).type().attr("__name__")) +
                ", which is not hashable and cannot be a value.");
}

nb::tuple factorize_objects(nb::handle column) {
    const Array array(column, "column");
    if (!array.is_objects() || array.dimensions() != 1)
        refuse_type("column must be a 1-D object array, not " +
                    std::string(array.is_objects() ? "objects" : "numbers") + " with " +
                    std::to_string(array.dimensions()) + " dimensions.");
    const NewArray<uint32_t> result({array.size()});
    uint32_t* codes = result.data();
    const Column from = array.column();
    Recent recent(array.size());
    Distinct distinct;
    for (size_t i = 0; i < array.size(); ++i) {
        if (i % 65536 == 0 && PyErr_CheckSignals() != 0) throw nb::python_error();
        PyObject* object = cell_at<PyObject*>(from, i);
        if (!object) object = Py_None;  // an uninitialized element
        if (recent.find(object, &codes[i])) continue;
        // Hold a reference, because a comparison may run Python code that changes the array.
        const nb::object held = nb::borrow(object);
        if (!alive([&] { return distinct.code_of(object, &codes[i]); })) refuse_object(i, object);
        recent.keep(object, codes[i]);
    }
    return nb::make_tuple(result.object, distinct.list());
}

}  // namespace

const Bindings bindings([](nb::module_& m) {
    using namespace nb::literals;
    m.def("factorize_objects", &factorize_objects, "column"_a);
});

}  // namespace countwise
