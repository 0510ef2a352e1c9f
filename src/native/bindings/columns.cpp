// Bindings of the kernels that process many columns at once.
#include "module.h"
#include "support/strings.h"

namespace countwise {

KERNEL(bool, find_infinity, const Column* columns, size_t n_columns, size_t rows, size_t* column, size_t* row);
// Marks each of `span` numbers from `low` on, plus one mark for missing values. `outside` is set if anything else
// occurs.
KERNEL(void, mark_columns, const Column* columns, size_t n_columns, size_t rows, int64_t low, size_t span,
       uint8_t* marks, uint8_t* outside);
KERNEL(void, encode_columns, const Column* columns, size_t n_columns, size_t rows, const CodeTable* tables,
       void* const* codes);

namespace {

// For larger values, a difference from a low could wrap around to a valid index.
constexpr int64_t most_low = int64_t{1} << 62;
constexpr size_t most_span = size_t{1} << 31;

nb::object find_infinity(nb::handle columns) {
    const Columns column(columns, false);
    const size_t rows = column.rows();
    size_t j = 0, row = 0;
    const bool found = unlocked([&] { return kernels::find_infinity(column.data(), column.count(), rows, &j, &row); });
    if (!found) return nb::none();
    return nb::make_tuple(j, row);
}

nb::tuple mark_columns(nb::handle columns, int64_t low, size_t span) {
    const Columns column(columns, false);
    const size_t rows = column.rows();
    check_count("span", span, most_span);
    const NewArray<uint8_t> marks({column.count(), span + 1}, zeros), outside({column.count()}, zeros);
    unlocked(
        [&] { kernels::mark_columns(column.data(), column.count(), rows, low, span, marks.data(), outside.data()); });
    return nb::make_tuple(marks.object, outside.object);
}

void encode_columns(nb::handle columns, nb::list lows, nb::list lookups, nb::list others, nb::list codes) {
    const Columns column(columns, false);
    const size_t n = column.count(), rows = column.rows();
    if (lows.size() != n || lookups.size() != n || others.size() != n || codes.size() != n)
        refuse_value("lows, lookups, others and codes must have one entry for each column.");
    std::vector<Array> kept;
    kept.reserve(2 * n);
    std::vector<CodeTable> tables;
    std::vector<void*> to;
    for (size_t j = 0; j < n; ++j) {
        kept.push_back(codes_array(lookups[j], "lookups"));
        const Array& lookup = kept.back();
        kept.emplace_back(codes[j], "codes", true);
        const Array& code = kept.back();
        if (!lookup.contiguous() || lookup.size() == 0) refuse_value("lookups must be contiguous and not empty.");
        if (code.dimensions() != 1 || !code.contiguous() || code.type() != lookup.type() || code.size() != rows)
            refuse_value("codes must be contiguous and have the types of the lookups and the length of the columns.");
        const int64_t low = number<int64_t>(lows[j], "lows");
        if (low > most_low || low < -most_low) refuse_value("lows must lie between -2**62 and 2**62.");
        tables.push_back(
            {lookup.data<const void>(), lookup.size(), low, number<uint32_t>(others[j], "others"), lookup.type()});
        to.push_back(code.data<void>());
    }
    unlocked([&] { kernels::encode_columns(column.data(), n, rows, tables.data(), to.data()); });
}

// Whether offsets ascend and lie within the letters.
template <class Offset>
bool within(const Offset* offsets, size_t n, size_t letters) {
    for (size_t i = 1; i < n; ++i)
        if (offsets[i] < offsets[i - 1]) return false;
    return offsets[0] >= 0 && static_cast<uint64_t>(offsets[n - 1]) <= letters;
}

nb::object factorize_strings(nb::handle offsets, nb::handle letters, size_t limit) {
    const Array place = column_array(offsets, "offsets"),
                letter = require(letters, "letters", Type::u8, {any}, Access::in_place);
    const bool wide = place.type() == Type::i64;
    if ((!wide && place.type() != Type::i32) || !place.contiguous())
        refuse_type("offsets must be contiguous int32 or int64.");
    const size_t n = place.size(), most = letter.size();
    if (n == 0 || !(wide ? within(place.data<const int64_t>(), n, most) : within(place.data<const int32_t>(), n, most)))
        refuse_value("offsets must ascend and lie within letters, with one more offset than strings.");
    const NewArray<int32_t> codes({n - 1});
    std::vector<int64_t> first;
    const bool few = unlocked([&] {
        return codes_of_strings(place.data<const void>(), wide, n - 1, letter.data<const uint8_t>(), limit,
                                codes.data(), first);
    });
    if (!few) return nb::none();
    nb::list rows;
    for (int64_t row : first) rows.append(row);
    return nb::make_tuple(codes.object, rows);
}

}  // namespace

const Bindings bindings([](nb::module_& m) {
    using namespace nb::literals;
    m.def("factorize_strings", &factorize_strings, "offsets"_a, "letters"_a, "limit"_a);
    m.def("find_infinity", &find_infinity, "columns"_a);
    m.def("mark_columns", &mark_columns, "columns"_a, "low"_a, "span"_a);
    m.def("encode_columns", &encode_columns, "columns"_a, "lows"_a, "lookups"_a, "others"_a, "codes"_a);
});

}  // namespace countwise
