// Bindings of the kernels that look at many columns at once.
#include "module.h"
#include "support/strings.h"

namespace countwise {

namespace {

// Further from 0, a difference from a low could wrap around to a place in the table.
constexpr std::int64_t most_low = std::int64_t{1} << 62;

nb::object find_infinity(nb::handle columns) {
    const Columns column(columns, false);
    const std::size_t rows = column.count() ? column.rows() : 0;
    std::size_t j = 0, row = 0;
    const bool found =
        unlocked([&] { return kernels().find_infinity(column.data(), column.count(), rows, &j, &row); });
    if (!found) return nb::none();
    return nb::make_tuple(j, row);
}

nb::tuple mark_columns(nb::handle columns, std::int64_t low, std::size_t span) {
    const Columns column(columns, false);
    const std::size_t rows = column.count() ? column.rows() : 0;
    const nb::object marks = new_array("zeros", nb::make_tuple(column.count(), span + 1), "uint8");
    const nb::object outside = new_array("zeros", nb::int_(column.count()), "uint8");
    const Array mark(marks, "marks"), far(outside, "outside");
    unlocked([&] {
        kernels().mark_columns(column.data(), column.count(), rows, low, span, mark.data<std::uint8_t>(),
                               far.data<std::uint8_t>());
    });
    return nb::make_tuple(marks, outside);
}

void encode_columns(nb::handle columns, nb::list lows, nb::list lookups, nb::list others, nb::list codes) {
    const Columns column(columns, false);
    const std::size_t n = column.count(), rows = n ? column.rows() : 0;
    if (lows.size() != n || lookups.size() != n || others.size() != n || codes.size() != n)
        refuse_value("lows, lookups, others and codes must have an entry for each column");
    std::vector<Array> kept;
    kept.reserve(2 * n);
    std::vector<CodeTable> tables;
    std::vector<void*> to;
    for (std::size_t j = 0; j < n; ++j) {
        kept.push_back(codes_array(lookups[j], "lookups"));
        const Array& lookup = kept.back();
        kept.emplace_back(codes[j], "codes", true);
        const Array& code = kept.back();
        if (!lookup.contiguous() || lookup.size() == 0) refuse_value("a lookup must be contiguous and not empty");
        if (code.dimensions() != 1 || !code.contiguous() || code.type() != lookup.type() || code.size() != rows)
            refuse_value("codes must be contiguous, of the lookup's type and the columns' length");
        const std::int64_t low = nb::cast<std::int64_t>(lows[j]);
        if (low > most_low || low < -most_low) refuse_value("a low must lie within 2**62 of 0");
        tables.push_back({lookup.data<const void>(), lookup.size(), low,
                          nb::cast<std::uint32_t>(others[j]), lookup.type()});
        to.push_back(code.data<void>());
    }
    unlocked([&] { kernels().encode_columns(column.data(), n, rows, tables.data(), to.data()); });
}

// Whether offsets ascend and stay within the letters.
template <class Offset>
bool within(const Offset* offsets, std::size_t n, std::size_t letters) {
    for (std::size_t i = 1; i < n; ++i)
        if (offsets[i] < offsets[i - 1]) return false;
    return offsets[0] >= 0 && static_cast<std::uint64_t>(offsets[n - 1]) <= letters;
}

nb::object factorize_strings(nb::handle offsets, nb::handle letters, std::size_t limit) {
    const Array place = column_array(offsets, "offsets"), letter = column_array(letters, "letters");
    const bool wide = place.type() == Type::i64;
    if ((!wide && place.type() != Type::i32) || !place.contiguous())
        refuse_type("offsets must be contiguous int32 or int64");
    if (letter.type() != Type::u8 || !letter.contiguous()) refuse_type("letters must be contiguous uint8");
    const std::size_t n = place.size(), most = letter.size();
    if (n == 0 || !(wide ? within(place.data<const std::int64_t>(), n, most)
                         : within(place.data<const std::int32_t>(), n, most)))
        refuse_value("offsets must ascend within the letters, one more of them than strings");
    const nb::object codes = new_array("empty", nb::int_(n - 1), "int32");
    const Array to(codes, "codes");
    std::vector<std::int64_t> first;
    const bool few = unlocked([&] {
        return codes_of_strings(place.data<const void>(), wide, n - 1, letter.data<const std::uint8_t>(),
                                            limit, to.data<std::int32_t>(), first);
    });
    if (!few) return nb::none();
    nb::list rows;
    for (std::int64_t row : first) rows.append(row);
    return nb::make_tuple(codes, rows);
}

}  // namespace

void define_columns(nb::module_& m) {
    using namespace nb::literals;
    m.def("factorize_strings", &factorize_strings, "offsets"_a, "letters"_a, "limit"_a);
    m.def("find_infinity", &find_infinity, "columns"_a);
    m.def("mark_columns", &mark_columns, "columns"_a, "low"_a, "span"_a);
    m.def("encode_columns", &encode_columns, "columns"_a, "lows"_a, "lookups"_a, "others"_a, "codes"_a);
}

}  // namespace countwise
