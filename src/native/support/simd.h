// Vectors of the level's width, with exp and log.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "abi.h"
#include "interrupt.h"

#ifndef COUNTWISE_LEVEL
#error "COUNTWISE_LEVEL names the namespace of the level that is being compiled"
#endif

#define COUNTWISE_INLINE inline __attribute__((always_inline))
#define COUNTWISE_APART __attribute__((noinline))

namespace countwise::COUNTWISE_LEVEL {

// 64-byte vectors are used only if registers have 64 bytes; other levels would spill them.
#if defined(__AVX512F__)
constexpr size_t lanes = 8;
#elif defined(__AVX__)
constexpr size_t lanes = 4;
#else
constexpr size_t lanes = 2;
#endif

typedef double vd __attribute__((vector_size(lanes * 8)));
typedef int64_t vi __attribute__((vector_size(lanes * 8)));
typedef uint64_t vu __attribute__((vector_size(lanes * 8)));
typedef float vf __attribute__((vector_size(lanes * 4)));
typedef double vd4 __attribute__((vector_size(32)));

template <class V>
COUNTWISE_INLINE V load_as(const void* from) {
    V v;
    std::memcpy(&v, from, sizeof v);
    return v;
}

COUNTWISE_INLINE vd load(const double* from) { return load_as<vd>(from); }

COUNTWISE_INLINE vd load(const float* from) { return __builtin_convertvector(load_as<vf>(from), vd); }

template <class V>
COUNTWISE_INLINE void store(void* to, V v) {
    std::memcpy(to, &v, sizeof v);
}

template <class V, class T>
COUNTWISE_INLINE V splat_as(T x) {
    return x - V{};  // not plus, because -0.0 + 0.0 is 0.0
}

COUNTWISE_INLINE vd splat(double x) { return splat_as<vd>(x); }
COUNTWISE_INLINE vi splat_bits(int64_t x) { return splat_as<vi>(x); }
COUNTWISE_INLINE vi bits(vd v) { return load_as<vi>(&v); }
COUNTWISE_INLINE vd from_bits(vi v) { return load_as<vd>(&v); }
COUNTWISE_INLINE vd only(vi mask, vd v) { return from_bits(mask & bits(v)); }
COUNTWISE_INLINE vi not_nan(vd v) { return v == v; }

COUNTWISE_INLINE vd select(vi mask, vd yes, vd no) { return mask ? yes : no; }

COUNTWISE_INLINE vd abs_of(vd v) { return from_bits(bits(v) & splat_bits(INT64_MAX)); }

COUNTWISE_INLINE bool any(vi mask) {
    int64_t all = 0;
    for (size_t i = 0; i < lanes; ++i) all |= mask[i];
    return all != 0;
}

COUNTWISE_INLINE double sum_of(vd v) {
    double total = v[0];
    for (size_t i = 1; i < lanes; ++i) total += v[i];
    return total;
}

template <class T>
COUNTWISE_INLINE T smaller(T a, T b) {
    return b < a ? b : a;
}
template <class T>
COUNTWISE_INLINE T larger(T a, T b) {
    return a < b ? b : a;
}

// Selects four of the eight doubles of two vectors by their positions.
template <int A, int B, int C, int D>
COUNTWISE_INLINE vd4 shuffle(vd4 a, vd4 b) {
#if defined(__clang__) || __GNUC__ >= 12
    return __builtin_shufflevector(a, b, A, B, C, D);
#else
    typedef int64_t Positions __attribute__((vector_size(32)));
    return __builtin_shuffle(a, b, Positions{A, B, C, D});
#endif
}

// Transposes four rows of four doubles.
COUNTWISE_INLINE void transpose(vd4& a, vd4& b, vd4& c, vd4& d) {
    const vd4 ab0 = shuffle<0, 4, 2, 6>(a, b), ab1 = shuffle<1, 5, 3, 7>(a, b);
    const vd4 cd0 = shuffle<0, 4, 2, 6>(c, d), cd1 = shuffle<1, 5, 3, 7>(c, d);
    a = shuffle<0, 1, 4, 5>(ab0, cd0);
    b = shuffle<0, 1, 4, 5>(ab1, cd1);
    c = shuffle<2, 3, 6, 7>(ab0, cd0);
    d = shuffle<2, 3, 6, 7>(ab1, cd1);
}

// Separates consecutive pairs into first and second elements.
COUNTWISE_INLINE void unzip(vd4& a, vd4& b) {
    const vd4 pairs[2] = {a, b};
    a = shuffle<0, 2, 4, 6>(pairs[0], pairs[1]);
    b = shuffle<1, 3, 5, 7>(pairs[0], pairs[1]);
}

COUNTWISE_INLINE vd4 load4(const double* from) { return load_as<vd4>(from); }
COUNTWISE_INLINE vd4 load4(const float* from) {
    typedef float vf4 __attribute__((vector_size(16)));
    return __builtin_convertvector(load_as<vf4>(from), vd4);
}

// Calls check_interrupt() after about a million steps (a millisecond) of work, counted in values or the like.
class Checkpoint {
public:
    COUNTWISE_INLINE void after(size_t work) {
        done_ += work;
        if (__builtin_expect(done_ >= enough, 0)) {
            done_ = 0;
            check_interrupt();
        }
    }

private:
    static constexpr size_t enough = size_t{1} << 20;
    size_t done_ = 0;
};

// Calls work(start, stop) for parts of 0 .. n of about a million steps, so that a long loop can be interrupted between
// them, without a test in the loop itself. An item takes `cost` steps; parts are multiples of 4096 items.
template <class Work>
COUNTWISE_INLINE void in_parts(size_t n, size_t cost, const Work& work) {
    const size_t part = larger<size_t>(((size_t{1} << 20) / larger<size_t>(cost, 1)) / 4096, 1) * 4096;
    for (size_t start = 0; start < n; start += part) {
        if (start) check_interrupt();
        work(start, smaller(n, start + part));
    }
}

// Adding 1.5 * 2**52 leaves the nearest integer in the low bits.
constexpr double round_magic = 6755399441055744.0;

struct Reduced {
    vd value;  // exp of the remainder
    vd whole;  // the power of 2, plus round_magic
};

// exp(x) = 2**k exp(r), |r| <= log(2)/2, where exp(r) is computed by its series to r**13: the next term is below 5e-18.
COUNTWISE_INLINE Reduced exp_reduced(vd x) {
    const vd whole = x * splat(1.4426950408889634074) + splat(round_magic);
    const vd k = whole - splat(round_magic);
    const vd r = (x - k * splat(6.93147180369123816490e-01)) - k * splat(1.90821492927058770002e-10);
    const vd r2 = r * r, r4 = r2 * r2;
    // In pairs (Estrin's scheme), because one long chain of additions would be slow.
    const vd p23 = splat(1.0 / 2) + r * splat(1.0 / 6);
    const vd p45 = splat(1.0 / 24) + r * splat(1.0 / 120);
    const vd p67 = splat(1.0 / 720) + r * splat(1.0 / 5040);
    const vd p89 = splat(1.0 / 40320) + r * splat(1.0 / 362880);
    const vd p1011 = splat(1.0 / 3628800) + r * splat(1.0 / 39916800);
    const vd p1213 = splat(1.0 / 479001600) + r * splat(1.0 / 6227020800.0);
    const vd low = p23 + r2 * p45;
    const vd high = (p67 + r2 * p89) + r4 * (p1011 + r2 * p1213);
    return {splat(1.0) + (r + r2 * (low + r4 * high)), whole};
}

COUNTWISE_INLINE vd power_of_2(vd whole) { return from_bits((bits(whole) + splat_bits(1023)) << 52); }

// exp for arguments up to 700; below -708 it is 0.
COUNTWISE_INLINE vd exp_or_0(vd x) {
    const vi normal = x > splat(-708.0);
    const Reduced e = exp_reduced(select(normal, x, splat(0.0)));
    return only(normal, e.value * power_of_2(e.whole));
}

// exp for arguments up to 700, including denormal results: the power of 2 is applied in two halves.
COUNTWISE_INLINE vd exp_of(vd x) {
    const vi positive = x > splat(-746.0);
    const Reduced e = exp_reduced(select(positive, x, splat(0.0)));
    const vd half = (e.whole - splat(round_magic)) * splat(0.5) + splat(round_magic);
    const vd rest = (e.whole - half) + splat(round_magic);
    return only(positive, e.value * power_of_2(half) * power_of_2(rest));
}

// log(2**k (1 + f)) for 1 + f in [0.71, 1.41): log(1 + f) = 2 atanh(s) with s = f / (2 + f).
COUNTWISE_INLINE vd log_of_parts(vd k, vd f) {
    const vd s = f / (splat(2.0) + f), z = s * s, z2 = z * z;
    // log(1 + f) = f - (f f / 2 - s (f f / 2 + R(z))): the series of atanh, with economized last terms.
    const vd odd = splat(6.666666666666735130e-01) +
                   z2 * (splat(2.857142874366239149e-01) +
                         z2 * (splat(1.818357216161805012e-01) + z2 * splat(1.479819860511658591e-01)));
    const vd even =
        splat(3.999999999940941908e-01) + z2 * (splat(2.222219843214978396e-01) + z2 * splat(1.531383769920937332e-01));
    const vd r = z * odd + z2 * even;
    const vd half = splat(0.5) * f * f;
    return k * splat(6.93147180369123816490e-01) -
           ((half - (s * (half + r) + k * splat(1.90821492927058770002e-10))) - f);
}

// log(1 + x) for x from 0 to 1.
COUNTWISE_INLINE vd log_1_plus(vd x) {
    const vi high = x > splat(0.41);
    return log_of_parts(only(high, splat(1.0)), select(high, (x - splat(1.0)) * splat(0.5), x));
}

// log for positive, finite, normal arguments: x = 2**k m, m near 1.
COUNTWISE_INLINE vd log_of(vd x) {
    const vu all = load_as<vu>(&x), exponent_bits = splat_as<vu>(uint64_t{0xfff0000000000000u});
    // Subtract the bits of sqrt(1/2), so that m is in [0.71, 1.41).
    const vu exponent = (all - splat_as<vu>(uint64_t{0x3fe6a09e00000000u})) & exponent_bits, near_1 = all - exponent;
    // The exponent as a double: biased to be positive, shifted down, and placed below the bits of 2**52.
    const vu low = (exponent + splat_as<vu>(uint64_t{1024} << 52)) >> 52;
    const vu high = low | splat_as<vu>(uint64_t{0x4330000000000000u});
    const vd k = load_as<vd>(&high) - splat(4503599627370496.0 + 1024.0);
    return log_of_parts(k, load_as<vd>(&near_1) - splat(1.0));
}

// Adds a number to a sum, and the rounding error to the rest.
COUNTWISE_INLINE void two_sum(double& total, double& rest, double x) {
    const double next = total + x, added = next - total;
    rest += (total - (next - added)) + (x - added);
    total = next;
}

// A sum that keeps its rounding errors: sums of the same terms in different orders must compare equal.
struct Precise {
    double sum = 0, error = 0;
    COUNTWISE_INLINE void add(double x) { two_sum(sum, error, x); }
    COUNTWISE_INLINE double value() const { return sum + error; }
};

// Scratch memory of the kernels, freed at the end of its scope and aligned to a cache line. Large blocks use huge pages
// if the system supports them, because requesting a small page takes longer than filling it.
template <class T>
class Scratch {
public:
    explicit Scratch(size_t count) : block_(::operator new(bytes_of(count))) {
        const std::uintptr_t edge = edge_of(count);
        data_ = reinterpret_cast<T*>((reinterpret_cast<std::uintptr_t>(block_) + edge - 1) & ~(edge - 1));
#if defined(__linux__) && defined(MADV_HUGEPAGE)
        if (edge == page) madvise(data_, count * sizeof(T) / page * page, MADV_HUGEPAGE);
#endif
    }
    ~Scratch() { ::operator delete(block_); }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    T* get() const { return data_; }
    T& operator[](size_t i) const { return data_[i]; }

private:
    static constexpr size_t page = size_t{1} << 21;
    static size_t edge_of(size_t count) { return count < page / sizeof(T) ? 64 : page; }
    // If the size overflows, request more than any allocation can provide.
    static size_t bytes_of(size_t count) {
        const size_t more = edge_of(count);
        return count > (SIZE_MAX / 2 - more) / sizeof(T) ? SIZE_MAX / 2 : count * sizeof(T) + more;
    }
    void* block_;
    T* data_;
};

}  // namespace countwise::COUNTWISE_LEVEL
