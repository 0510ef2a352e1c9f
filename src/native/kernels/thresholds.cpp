// The place in each segment that parts the classes best.
#include "thresholds.h"

#include <type_traits>

namespace countwise::COUNTWISE_LEVEL {

namespace {

// The best place of a segment whose classes have been counted once. `bits` is log2 of the weight.
template <bool Entropy, class Code, class Counter>
BestPlace search(const Classed<Code>& from, Counter& counter, double f_of_n, double bits, double least, Sides& sides) {
    using Score = typename Choose<Entropy>::Score;
    const double n = counter.weight(), sum = counter.sum();
    const Score score{n, Entropy ? sum - f_of_n : sum / n};
    const double whole = larger(Entropy ? -score.base / n : 1.0 - score.base / n, 0.0);
    BestPlace best(1e-12 * whole + 4e-15 * (Entropy ? 1.0 + larger(bits, 0.0) : 1.0), least);
    const size_t places = from.n - 1;
    for (size_t first = 0; first < places; first += chunk) {
        const size_t m = smaller(chunk, places - first);
        counter.count(sides, first, m);
        best.look(score, sides, from.entries + first + 1, from.start + static_cast<int64_t>(first) + 1, m);
    }
    counter.clear();
    return best;
}

// The weight of all if it and all weights are whole and not too large, else 0.
size_t whole_weight(const double* weights, size_t n, double most) {
    bool whole = true;
    for (size_t i = 0; i < n; ++i)
        whole &= (weights[i] >= 1.0) & (weights[i] <= most) & (std::floor(weights[i]) == weights[i]);
    if (!whole) return 0;
    const double sum = total_of(weights, n);
    return sum <= most ? static_cast<size_t>(sum) : 0;
}

template <bool Entropy, class Code>
class Thresholds {
public:
    Thresholds(size_t n_classes, bool weighted, double least)
        : classes_(n_classes), whole_(n_classes), any_(weighted ? n_classes : 0), least_(least) {
        std::memset(whole_.get(), 0, n_classes * sizeof(WholeClass));
        if (weighted) std::memset(static_cast<void*>(any_.get()), 0, n_classes * sizeof(AnyClass));
    }

    BestPlace best(const Classed<Code>& from) {
        if (from.weights) return best_weighted(from);
        const double* f = Entropy ? table_.up_to(from.n) : nullptr;
        if (classes_ <= 2 && from.n <= INT32_MAX) {
            TwoClasses<Entropy, Code> counter(from, f);
            return best_whole(from, counter, f, from.n);
        }
        WholeClasses<Entropy, Code, false> counter(from, whole_.get(), classes_, f);
        return best_whole(from, counter, f, from.n);
    }

private:
    template <class Counter>
    BestPlace best_whole(const Classed<Code>& from, Counter& counter, const double* f, size_t weight) {
        const double of_n = Entropy ? f[weight] : 0.0;
        return search<Entropy>(from, counter, of_n, of_n / static_cast<double>(weight), least_, sides_);
    }

    BestPlace best_weighted(const Classed<Code>& from) {
        // A table should not cost more than it spares.
        const double most = Entropy ? larger(8.0 * static_cast<double>(from.n), 65536.0) : 2147483647.0;
        const size_t weight = whole_weight(from.weights, from.n, smaller(most, 2147483647.0));
        if (weight) {
            const double* f = Entropy ? table_.up_to(weight) : nullptr;
            WholeClasses<Entropy, Code, true> counter(from, whole_.get(), classes_, f);
            return best_whole(from, counter, f, weight);
        }
        const double sum = total_of(from.weights, from.n);
        const double scale = scale_for(sum);
        AnyClasses<Entropy, Code> counter(from, any_.get(), classes_, scale);
        const double of_n = Entropy ? x_log_x(counter.weight()) : 0.0;
        return search<Entropy>(from, counter, of_n, Entropy ? std::log2(sum) : 0.0, least_ * scale, sides_);
    }

    const size_t classes_;
    Scratch<WholeClass> whole_;
    Scratch<AnyClass> any_;
    LogTable table_;
    Sides sides_;
    const double least_;
};

// Codes of type `From` are gathered as `Code`.
template <class From, class Code, bool Entropy>
int search_all(const Segments& segments, const Labels& labels, double least, int64_t* places, double* gains) {
    const From* codes = reinterpret_cast<const From*>(labels.codes.data);
    const size_t room = largest_batch(segments);
    Scratch<Code> code(room);
    Scratch<double> weight(labels.weights ? room : 0);
    Thresholds<Entropy, Code> thresholds(labels.n_classes, labels.weights, least);
    const auto read = [&](const uint32_t* entries, size_t n) {
        gather(codes, entries, n, code.get());
        if (labels.weights) gather(labels.weights, entries, n, weight.get());
        Code most = 0;
        for (size_t i = 0; i < n; ++i) most = larger(most, code[i]);
        return n == 0 || most < labels.n_classes;
    };
    return each_segment(segments, labels.instances, places, gains, read,
                        [&](const uint32_t* entries, size_t at, size_t n, int64_t start) {
                            const double* weights = labels.weights ? weight.get() + at : nullptr;
                            return thresholds.best({entries, code.get() + at, weights, n, start});
                        });
}

}  // namespace

int best_thresholds(const Segments& segments, const Labels& labels, bool entropy, double least, int64_t* places,
                    double* gains) {
    return with_code_type(labels.codes.type, [&](auto zero) {
        using From = decltype(zero);
        using Code = std::conditional_t<sizeof(From) == 1, From, uint32_t>;  // the less there is to compile
        const auto search = entropy ? search_all<From, Code, true> : search_all<From, Code, false>;
        return search(segments, labels, least, places, gains);
    });
}

}  // namespace countwise::COUNTWISE_LEVEL
