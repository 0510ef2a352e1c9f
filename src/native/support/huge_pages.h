// Scratch memory of megabytes.
#pragma once
#include "simd.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace countwise::COUNTWISE_LEVEL {

// As Scratch, but in large pages where the system has them: to be given a small page takes longer than to fill it.
template <class T>
class HugeScratch {
public:
    explicit HugeScratch(size_t count) : block_(::operator new(room_for<T>(count, edge_of(count)))) {
        const std::uintptr_t edge = edge_of(count);
        data_ = reinterpret_cast<T*>((reinterpret_cast<std::uintptr_t>(block_) + edge - 1) & ~(edge - 1));
#if defined(__linux__) && defined(MADV_HUGEPAGE)
        if (edge == page) madvise(data_, count * sizeof(T) / page * page, MADV_HUGEPAGE);
#endif
    }
    ~HugeScratch() { ::operator delete(block_); }
    HugeScratch(const HugeScratch&) = delete;
    HugeScratch& operator=(const HugeScratch&) = delete;
    T* get() const { return data_; }
    T& operator[](size_t i) const { return data_[i]; }

private:
    static constexpr size_t page = size_t{1} << 21;
    static size_t edge_of(size_t count) { return count < page / sizeof(T) ? 64 : page; }
    void* block_;
    T* data_;
};

}  // namespace countwise::COUNTWISE_LEVEL
