// Scratch memory of megabytes.
#pragma once
#include "simd.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace countwise::COUNTWISE_LEVEL {

// As Scratch, but in large pages where the system has them: to be given a small page takes longer than to fill it.
template <class T>
class Large {
public:
    explicit Large(size_t count) : block_(::operator new(bytes(count) + (bytes(count) < page ? 64 : page))) {
        const std::uintptr_t edge = bytes(count) < page ? 64 : page;
        data_ = reinterpret_cast<T*>((reinterpret_cast<std::uintptr_t>(block_) + edge - 1) & ~(edge - 1));
#if defined(__linux__) && defined(MADV_HUGEPAGE)
        if (bytes(count) >= page) madvise(data_, bytes(count) / page * page, MADV_HUGEPAGE);
#endif
    }
    ~Large() { ::operator delete(block_); }
    Large(const Large&) = delete;
    Large& operator=(const Large&) = delete;
    T* get() const { return data_; }
    T& operator[](size_t i) const { return data_[i]; }

private:
    static constexpr size_t page = size_t{1} << 21;
    static size_t bytes(size_t count) { return count * sizeof(T); }
    void* block_;
    T* data_;
};

}  // namespace countwise::COUNTWISE_LEVEL
