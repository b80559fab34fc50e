#include "program.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tyrex {

namespace {

Value sum(std::int64_t x, std::int64_t y, std::uint64_t& overflows) {
    std::int64_t result;
    if (__builtin_add_overflow(x, y, &result)) return ++overflows, Value{};
    return of_int(result);
}

Value difference(std::int64_t x, std::int64_t y, std::uint64_t& overflows) {
    std::int64_t result;
    if (__builtin_sub_overflow(x, y, &result)) return ++overflows, Value{};
    return of_int(result);
}

Value product(std::int64_t x, std::int64_t y, std::uint64_t& overflows) {
    std::int64_t result;
    if (__builtin_mul_overflow(x, y, &result)) return ++overflows, Value{};
    return of_int(result);
}

// The remainder with the sign of the divisor.
Value modulo(std::int64_t x, std::int64_t y) {
    if (y == 0) return {};
    if (y == -1) return of_int(0);
    const std::int64_t rest = x % y;
    return of_int(rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest);
}

Value modulo(double x, double y) {
    if (y == 0.0 || std::isinf(x)) return {};
    double rest = std::fmod(x, y);
    if (rest == 0.0) {
        rest = std::copysign(0.0, y);
    } else if ((rest < 0) != (y < 0)) {
        rest += y;
    }
    return of_float(rest);
}

// As math.pow: a power that is too large is infinite, one that is not a real number is null.
Value power(double x, double y) {
    const double result = std::pow(x, y);
    if (std::isnan(result)) return {};
    if (x == 0.0 && y < 0.0 && !std::isinf(y)) return {};
    return of_float(result);
}

int order(double x, double y) { return x < y ? -1 : (x > y ? 1 : 0); }
int order(std::int64_t x, std::int64_t y) { return x < y ? -1 : (x > y ? 1 : 0); }

// To so many decimals, halves to even: on the exact decimal expansion, as Python rounds.
Value round_to(double x, std::int64_t digits) {
    if (std::isinf(x) || x == 0.0) return of_float(x);
    if (digits > 330) return of_float(x);
    char text[1500];
    char* const begin = text;
    char* const end = std::to_chars(text, text + sizeof text, std::fabs(x), std::chars_format::fixed, 1100).ptr;
    char* const dot = std::find(begin, end, '.');
    std::string all(begin, dot);
    const auto whole = static_cast<std::int64_t>(all.size());
    all.append(dot + 1, end);
    const std::int64_t keep = whole + digits;  // digits of `all` that stay
    if (keep < 0) return of_float(std::copysign(0.0, x));
    std::string kept = all.substr(0, static_cast<std::size_t>(keep));
    const std::string rest = all.substr(static_cast<std::size_t>(keep));
    const bool above_zero = std::any_of(rest.begin() + 1, rest.end(), [](char c) { return c != '0'; });
    const bool odd = !kept.empty() && ((kept.back() - '0') & 1) != 0;
    if (rest[0] > '5' || (rest[0] == '5' && (above_zero || odd))) {
        std::size_t i = kept.size();
        while (i > 0 && kept[i - 1] == '9') kept[--i] = '0';
        if (i > 0) {
            ++kept[i - 1];
        } else {
            kept.insert(0, 1, '1');
        }
    }
    if (kept.empty()) kept.push_back('0');
    kept.push_back('e');
    kept.append(std::to_string(-digits));
    double result = 0.0;
    const auto read = std::from_chars(kept.data(), kept.data() + kept.size(), result);
    if (read.ec == std::errc::result_out_of_range) {
        result = digits < 0 ? std::numeric_limits<double>::infinity() : 0.0;
    }
    return of_float(std::copysign(result, x));
}

Value round_to(std::int64_t x, std::int64_t digits, std::uint64_t& overflows) {
    if (digits >= 0) return of_int(x);
    if (digits < -20) return of_int(0);
    __int128 unit = 1;
    for (std::int64_t i = 0; i < -digits; ++i) unit *= 10;
    const __int128 value = x;
    __int128 quotient = value / unit;
    __int128 rest = value % unit;
    if (rest < 0) {
        rest += unit;
        --quotient;
    }
    if (2 * rest > unit || (2 * rest == unit && (quotient & 1) != 0)) ++quotient;
    const __int128 result = quotient * unit;
    if (result > std::numeric_limits<std::int64_t>::max() || result < std::numeric_limits<std::int64_t>::min()) {
        ++overflows;
        return {};
    }
    return of_int(static_cast<std::int64_t>(result));
}

std::int64_t count_characters(std::string_view text) {
    return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; });
}

}  // namespace

bool satisfies(int order, Comparison comparison) {
    switch (comparison) {
        case Comparison::Equal: return order == 0;
        case Comparison::Unequal: return order != 0;
        case Comparison::Less: return order < 0;
        case Comparison::LessEqual: return order <= 0;
        case Comparison::Greater: return order > 0;
        case Comparison::GreaterEqual: return order >= 0;
    }
    return false;
}

Value Machine::to_int(double whole) {
    if (whole >= -0x1p63 && whole < 0x1p63) return of_int(static_cast<std::int64_t>(whole));
    ++overflows;
    return {};
}

Value Machine::run(const Program& program, std::span<const Chosen> events, const Chosen* candidate) {
    const std::size_t base = depth_;
    if (stack_.size() < base + program.size() + 1) stack_.resize(2 * (base + program.size() + 1));
    Value* stack = stack_.data() + base;
    std::size_t top = 0;  // the number of values on the stack

    // Operators on the values at the top; null in, null out.
    const auto unary = [&](auto f) {
        Value& x = stack[top - 1];
        if (!x.null) x = f(x.bits);
    };
    const auto binary = [&](auto f) {
        --top;
        Value& x = stack[top - 1];
        const Value y = stack[top];
        x = x.null || y.null ? Value{} : f(x.bits, y.bits);
    };
    // Comparisons: null on either side is false.
    const auto compare = [&](Comparison comparison, auto order_of) {
        --top;
        Value& x = stack[top - 1];
        const Value y = stack[top];
        x = of_bool(!x.null && !y.null && satisfies(order_of(x.bits, y.bits), comparison));
    };
    const auto order_of_type = [&](Type type, Bits x, Bits y) {
        switch (type) {
            case Type::Float: return order(as_float(x), as_float(y));
            case Type::String: {
                const int found = x == y ? 0 : strings_.text(as_string(x)).compare(strings_.text(as_string(y)));
                return found < 0 ? -1 : (found > 0 ? 1 : 0);
            }
            default: return order(as_int(x), as_int(y));
        }
    };
    const auto extreme = [&](const Instruction& instruction, int wanted) {
        const auto count = static_cast<std::size_t>(instruction.b);
        Value best;
        for (std::size_t i = top - count; i < top; ++i) {
            if (stack[i].null) continue;
            if (best.null ||
                order_of_type(static_cast<Type>(instruction.a), stack[i].bits, best.bits) == wanted) {
                best = stack[i];
            }
        }
        top -= count;
        stack[top++] = best;
    };

    for (std::size_t at = 0; at < program.size(); ++at) {
        const Instruction& instruction = program[at];
        const auto comparison = static_cast<Comparison>(instruction.a);
        switch (instruction.op) {
            case Op::Constant: stack[top++] = {instruction.bits, false}; break;
            case Op::Null: stack[top++] = {}; break;
            case Op::Load: {
                const Chosen& event = instruction.a == candidate_event ? *candidate : events[instruction.a];
                stack[top++] = event.value(instruction.b);
                break;
            }
            case Op::Negate_Int: unary([&](Bits x) { return difference(0, as_int(x), overflows); }); break;
            case Op::Negate_Float: unary([](Bits x) { return of_float(-as_float(x)); }); break;
            case Op::Not: {
                Value& x = stack[top - 1];
                x = of_bool(x.null || x.bits == 0);
                break;
            }
            case Op::Add_Int:
                binary([&](Bits x, Bits y) { return sum(as_int(x), as_int(y), overflows); });
                break;
            case Op::Subtract_Int:
                binary([&](Bits x, Bits y) { return difference(as_int(x), as_int(y), overflows); });
                break;
            case Op::Multiply_Int:
                binary([&](Bits x, Bits y) { return product(as_int(x), as_int(y), overflows); });
                break;
            case Op::Modulo_Int: binary([](Bits x, Bits y) { return modulo(as_int(x), as_int(y)); }); break;
            case Op::Add_Float: binary([](Bits x, Bits y) { return of_float(as_float(x) + as_float(y)); }); break;
            case Op::Subtract_Float:
                binary([](Bits x, Bits y) { return of_float(as_float(x) - as_float(y)); });
                break;
            case Op::Multiply_Float:
                binary([](Bits x, Bits y) { return of_float(as_float(x) * as_float(y)); });
                break;
            case Op::Divide_Float:
                binary([](Bits x, Bits y) {
                    return as_float(y) == 0.0 ? Value{} : of_float(as_float(x) / as_float(y));
                });
                break;
            case Op::Modulo_Float: binary([](Bits x, Bits y) { return modulo(as_float(x), as_float(y)); }); break;
            case Op::To_Float:
                unary([](Bits x) { return of_float(static_cast<double>(as_int(x))); });
                break;
            case Op::To_Float_Below: {
                Value& x = stack[top - 2];
                if (!x.null) x = of_float(static_cast<double>(as_int(x.bits)));
                break;
            }
            case Op::Compare_Int:
                compare(comparison, [](Bits x, Bits y) { return order(as_int(x), as_int(y)); });
                break;
            case Op::Compare_Float:
                compare(comparison, [](Bits x, Bits y) { return order(as_float(x), as_float(y)); });
                break;
            case Op::Compare_Int_Float:
                compare(comparison, [](Bits x, Bits y) { return compare_exactly(as_int(x), as_float(y)); });
                break;
            case Op::Compare_Float_Int:
                compare(comparison, [](Bits x, Bits y) { return -compare_exactly(as_int(y), as_float(x)); });
                break;
            case Op::Compare_String:
                compare(comparison, [&](Bits x, Bits y) { return order_of_type(Type::String, x, y); });
                break;
            case Op::Truth: {
                Value& x = stack[top - 1];
                x = of_bool(!x.null && x.bits == 1);
                break;
            }
            case Op::Jump_If_False:
            case Op::Jump_If_True: {
                const bool is_true = !stack[top - 1].null && stack[top - 1].bits == 1;
                if (is_true == (instruction.op == Op::Jump_If_True)) {
                    at = static_cast<std::size_t>(instruction.b) - 1;
                } else {
                    --top;
                }
                break;
            }
            case Op::Present: stack[top - 1] = of_bool(!stack[top - 1].null); break;
            case Op::Precedes: {
                const Chosen& earlier = events[instruction.a];
                const Chosen& later = events[static_cast<std::size_t>(instruction.b)];
                stack[top++] = of_bool(earlier.sequence() < later.sequence() &&
                                       later.time() - earlier.time() <= as_int(instruction.bits));
                break;
            }
            case Op::Aggregate:
                depth_ = base + top;
                {
                    const Value value = aggregates(owner, static_cast<std::uint32_t>(instruction.bits), events);
                    stack = stack_.data() + base;  // the stack may have moved
                    stack[top++] = value;
                }
                depth_ = base;
                break;
            case Op::Abs_Int:
                unary([&](Bits x) { return as_int(x) < 0 ? difference(0, as_int(x), overflows) : of_int(as_int(x)); });
                break;
            case Op::Abs_Float: unary([](Bits x) { return of_float(std::fabs(as_float(x))); }); break;
            case Op::Floor: unary([&](Bits x) { return to_int(std::floor(as_float(x))); }); break;
            case Op::Ceil: unary([&](Bits x) { return to_int(std::ceil(as_float(x))); }); break;
            case Op::Round: unary([&](Bits x) { return to_int(std::nearbyint(as_float(x))); }); break;
            case Op::Round_Float_To:
                binary([](Bits x, Bits y) { return round_to(as_float(x), as_int(y)); });
                break;
            case Op::Round_Int_To:
                binary([&](Bits x, Bits y) { return round_to(as_int(x), as_int(y), overflows); });
                break;
            case Op::Sqrt:
                unary([](Bits x) { return as_float(x) < 0 ? Value{} : of_float(std::sqrt(as_float(x))); });
                break;
            case Op::Pow: binary([](Bits x, Bits y) { return power(as_float(x), as_float(y)); }); break;
            case Op::Least: extreme(instruction, -1); break;
            case Op::Greatest: extreme(instruction, 1); break;
            case Op::Lower:
            case Op::Upper:
                unary([&](Bits x) {
                    return of_string(strings_.intern(
                        casing(strings_.text(as_string(x)), instruction.op == Op::Upper)));
                });
                break;
            case Op::Length:
                unary([&](Bits x) { return of_int(count_characters(strings_.text(as_string(x)))); });
                break;
            case Op::Concat: {
                const auto count = static_cast<std::size_t>(instruction.b);
                std::string all;
                bool null = false;
                for (std::size_t i = top - count; i < top; ++i) {
                    null = null || stack[i].null;
                    if (!null) all += strings_.text(as_string(stack[i].bits));
                }
                top -= count;
                stack[top++] = null ? Value{} : of_string(strings_.intern(all));
                break;
            }
            case Op::Coalesce: {
                const auto count = static_cast<std::size_t>(instruction.b);
                Value first;
                for (std::size_t i = top - count; i < top && first.null; ++i) first = stack[i];
                top -= count;
                stack[top++] = first;
                break;
            }
            case Op::If: {
                top -= 2;
                const Value condition = stack[top - 1];
                stack[top - 1] = stack[!condition.null && condition.bits == 1 ? top : top + 1];
                break;
            }
        }
    }
    return stack[0];
}

}  // namespace tyrex
