// Encodes strings in Arrow's layout in order of first occurrence.
#include "strings.h"

#include <cstring>
#include <vector>

#include "interrupt.h"

namespace countwise {

namespace {

// The length of a string, and bytes from its beginning and its end; for up to sixteen bytes these are the whole string.
struct Text {
    uint64_t first = 0, last = 0;
    size_t length = 0;
    const uint8_t* letters = nullptr;

    bool operator==(const Text& other) const {
        if (first != other.first || last != other.last || length != other.length) return false;
        return length <= 16 || std::memcmp(letters, other.letters, length) == 0;
    }
};

Text text_at(const uint8_t* letters, size_t length) {
    Text text;
    text.length = length;
    text.letters = letters;
    if (length >= 8) {
        std::memcpy(&text.first, letters, 8);
        std::memcpy(&text.last, letters + length - 8, 8);
    } else if (length >= 4) {
        // Via an integer of that width: reading eight bytes right after writing four of them would stall.
        uint32_t first, last;
        std::memcpy(&first, letters, 4);
        std::memcpy(&last, letters + length - 4, 4);
        text.first = first;
        text.last = last;
    } else if (length > 0) {
        text.first = letters[0] | uint64_t{letters[length / 2]} << 8 | uint64_t{letters[length - 1]} << 16;
    }
    return text;
}

uint64_t hash_of(const Text& text) {
    constexpr uint64_t a = 0x9e3779b97f4a7c15u, b = 0xc2b2ae3d27d4eb4fu;
    uint64_t hash = (text.first + text.length) * a;
    for (size_t i = 8; i + 8 < text.length; i += 8) {
        uint64_t word;
        std::memcpy(&word, text.letters + i, 8);
        hash = ((hash ^ (hash >> 29)) + word) * b;
    }
    hash = ((hash ^ (hash >> 32)) + text.last) * b;
    return ((hash ^ (hash >> 32)) * a) >> 32;  // strings often differ in the last letter, the highest byte
}

class Texts {
public:
    // Returns the code of a string, a new one if it has not been seen before.
    int32_t code(const Text& text) {
        size_t at = hash_of(text) & (slots_.size() - 1);
        while (slots_[at] >= 0) {
            if (known_[static_cast<size_t>(slots_[at])] == text) return slots_[at];
            at = (at + 1) & (slots_.size() - 1);
        }
        const int32_t made = static_cast<int32_t>(known_.size());
        known_.push_back(text);
        slots_[at] = made;
        if (2 * known_.size() > slots_.size()) grow();
        return made;
    }
    size_t size() const { return known_.size(); }

private:
    std::vector<Text> known_;
    std::vector<int32_t> slots_ = std::vector<int32_t>(256, -1);

    void grow() {
        slots_.assign(4 * slots_.size(), -1);
        for (size_t i = 0; i < known_.size(); ++i) {
            size_t at = hash_of(known_[i]) & (slots_.size() - 1);
            while (slots_[at] >= 0) at = (at + 1) & (slots_.size() - 1);
            slots_[at] = static_cast<int32_t>(i);
        }
    }
};

template <class Offset>
bool factorize(const Offset* offsets, size_t rows, const uint8_t* letters, size_t limit, int32_t* codes,
               std::vector<int64_t>& first) {
    Texts texts;
    for (size_t i = 0; i < rows; ++i) {
        if (i % 65536 == 0) check_interrupt();
        const size_t from = static_cast<size_t>(offsets[i]), to = static_cast<size_t>(offsets[i + 1]);
        codes[i] = texts.code(text_at(letters + from, to - from));
        if (texts.size() > first.size()) first.push_back(static_cast<int64_t>(i));
        if (first.size() > limit) return false;
    }
    return true;
}

}  // namespace

bool codes_of_strings(const void* offsets, bool wide, size_t rows, const uint8_t* letters, size_t limit, int32_t* codes,
                      std::vector<int64_t>& first) {
    if (wide) return factorize(static_cast<const int64_t*>(offsets), rows, letters, limit, codes, first);
    return factorize(static_cast<const int32_t*>(offsets), rows, letters, limit, codes, first);
}

}  // namespace countwise
