// Release of the global interpreter lock while a kernel runs, and how a kernel ends early.
#include "interrupt.h"

#include <chrono>
#include <thread>
#include <utility>

#include "module.h"

namespace countwise {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto interval = std::chrono::milliseconds(100);  // between two looks at the signals

thread_local PyThreadState* released = nullptr;  // of this thread, while a kernel runs in it
thread_local Clock::time_point next_look;
thread_local const char* stop_flag = nullptr;

// The thread ends early if the byte is not 0; the caller keeps the bytearray as long as it is set.
void set_stop_flag(nb::handle flag) {
    if (!flag.is_none() && !(PyByteArray_Check(flag.ptr()) && PyByteArray_Size(flag.ptr()) > 0))
        refuse_type("flag must be None or a bytearray that is not empty.");
    stop_flag = flag.is_none() ? nullptr : PyByteArray_AsString(flag.ptr());
}

void acquire(PyThreadState* state) {
    alive([&] { PyEval_RestoreThread(state); });
}

}  // namespace

void hang() {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

Unlocked::Unlocked() {
    next_look = {};
    released = PyEval_SaveThread();
}

Unlocked::~Unlocked() { acquire(std::exchange(released, nullptr)); }

void raise_interrupted() {
    if (!PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw nb::python_error();
}

void check_interrupt() {
    if (stop_flag) {  // a helper; Python handles signals in the main thread only
        if (__atomic_load_n(stop_flag, __ATOMIC_RELAXED)) throw Interrupted();
        return;
    }
    if (!released) return;
    const Clock::time_point now = Clock::now();
    const bool due = next_look != Clock::time_point() && now >= next_look;
    if (due || next_look == Clock::time_point()) next_look = now + interval;
    if (!due) return;
    acquire(released);
    const bool raised = PyErr_CheckSignals() != 0;  // may run Python code, and kernels in it
    released = PyEval_SaveThread();
    next_look = Clock::now() + interval;
    if (raised) throw Interrupted();
}

const Bindings bindings([](nb::module_& m) {
    using namespace nb::literals;
    m.def("set_stop_flag", &set_stop_flag, "flag"_a.none());
});

}  // namespace countwise
