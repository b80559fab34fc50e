#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store.hpp"
#include "strings.hpp"
#include "value.hpp"

namespace tyrex {

// The operations of expressions, for a machine with a stack. Types were settled when the rule was checked, so
// each operation knows the types it meets.
enum class Op : std::uint8_t {
    Constant,     // push `bits`
    Null,         // push null
    Load,         // push attribute `b` of event `a`
    Negate_Int,
    Negate_Float,
    Not,
    Add_Int,
    Subtract_Int,
    Multiply_Int,
    Modulo_Int,
    Add_Float,
    Subtract_Float,
    Multiply_Float,
    Divide_Float,
    Modulo_Float,
    To_Float,     // of an int
    To_Float_Below,  // of the int below the top
    Compare_Int,  // `a` is the comparison; also of bools
    Compare_Float,
    Compare_Int_Float,
    Compare_Float_Int,
    Compare_String,
    Truth,        // null counts as false
    Jump_If_False,  // to `b`, if the top is false; else pop it
    Jump_If_True,
    Present,
    Precedes,     // event `a` before event `b`, at most `bits` before
    Aggregate,    // push the value of aggregate number `b`
    Abs_Int,
    Abs_Float,
    Floor,
    Ceil,
    Round,
    Round_Float_To,
    Round_Int_To,
    Sqrt,
    Pow,
    Least,        // of `b` values of type `a`
    Greatest,
    Lower,
    Upper,
    Length,
    Concat,       // of `b` texts
    Coalesce,     // of `b` values
    If,
};

enum class Comparison : std::uint8_t { Equal, Unequal, Less, LessEqual, Greater, GreaterEqual };

struct Instruction {
    Op op;
    std::uint8_t a = 0;
    std::int16_t b = 0;
    Bits bits = 0;
};

using Program = std::vector<Instruction>;

// The event that a negation or an aggregate looks at, where an instruction names an event.
constexpr std::uint8_t candidate_event = 255;

// An event of the pattern: where it is stored.
struct Chosen {
    const Store* store = nullptr;
    std::size_t index = 0;
    Row row = 0;

    Time time() const { return store->time(index); }
    Sequence sequence() const { return store->sequence(index); }
    Value value(int column) const { return store->value(index, column); }
};

// Runs programs. It holds the stack, and counts what became null because it did not fit.
class Machine {
public:
    // Gives the value of an aggregate for the events of a match.
    using Aggregates = Value (*)(void* owner, std::uint32_t aggregate, std::span<const Chosen> events);
    // Gives the text in upper or in lower case.
    using Casing = std::function<std::string(std::string_view text, bool upper)>;

    explicit Machine(Strings& strings) : strings_(strings) {}

    Value run(const Program& program, std::span<const Chosen> events, const Chosen* candidate = nullptr);

    bool holds(const Program& program, std::span<const Chosen> events, const Chosen* candidate = nullptr) {
        const Value value = run(program, events, candidate);
        return !value.null && value.bits == 1;
    }

    bool all_hold(const std::vector<Program>& programs, std::span<const Chosen> events,
                  const Chosen* candidate = nullptr) {
        for (const Program& program : programs) {
            if (!holds(program, events, candidate)) return false;
        }
        return true;
    }

    std::uint64_t overflows = 0;
    Aggregates aggregates = nullptr;
    void* owner = nullptr;
    Casing casing;

private:
    Value to_int(double whole);

    Strings& strings_;
    std::vector<Value> stack_;
    std::size_t depth_ = 0;  // programs run inside programs: an aggregate has conditions
};

bool satisfies(int order, Comparison comparison);

}  // namespace tyrex
