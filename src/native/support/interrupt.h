// Lets a signal, such as Ctrl-C, end a long kernel.
#pragma once

namespace countwise {

// Throws Interrupted if the calling thread is to stop. Called from time to time by every kernel that may run long; it
// takes about as long as reading a clock.
void check_interrupt();

// Has no state: the Python exception, if any, is that of the thread.
struct Interrupted {};

}  // namespace countwise
