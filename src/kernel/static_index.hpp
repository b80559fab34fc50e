#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "program.hpp"

namespace tyrex {

// The condition by which the index finds a predicate; the rest of its conditions are verified.
struct Access {
    enum class Kind : std::uint8_t { Always, Equal, Above, Below };

    Kind kind = Kind::Always;
    int column = -1;
    Bits bits = 0;        // of the column's type
    bool strict = false;  // of Above and Below: the bound itself does not fulfil it
};

// Where the events of a predicate go: a list of a family.
struct Insert {
    std::uint32_t family;
    std::uint32_t slot;
};

constexpr std::uint32_t no_list = 0xffffffff;

// What can be asked of one event alone, and what follows if it holds. Equal ones are shared by all rules.
struct Predicate {
    Access access;
    std::vector<Program> rest;
    std::vector<Insert> inserts;
    std::vector<std::uint32_t> terminates;  // rules, in order of deployment
    std::vector<std::uint32_t> sets;        // rules whose deadline it sets
    std::vector<std::uint32_t> subscriptions;
};

// Finds the predicates that an event fulfils, in time that does not grow with those it has nothing to do with:
// by hashing for equalities, by walking sorted bounds up to the event's value for ranges.
class StaticIndex {
public:
    explicit StaticIndex(const Store& store) : store_(store) {}

    void add(std::uint32_t predicate, const Access& access);
    void remove(std::uint32_t predicate, const Access& access);
    bool empty() const { return size_ == 0; }

    // Call `found` with each predicate whose access condition the event at `index` fulfils.
    template <typename Found>
    void match(std::size_t index, Found found) const {
        for (const std::uint32_t predicate : always_) found(predicate);
        for (const ByColumn& by : columns_) {
            const Value value = store_.value(index, by.column);
            if (value.null) continue;
            if (!by.equal.empty()) {
                const Bits key = as_key(value, by.type, by.type).bits;
                const auto at = by.equal.find(key);
                if (at != by.equal.end()) {
                    for (const std::uint32_t predicate : at->second) found(predicate);
                }
            }
            for (const Bound& bound : by.above) {
                const int order = compare(value.bits, bound.bits, by.type);
                if (order < 0 || (order == 0 && bound.strict)) break;
                found(bound.predicate);
            }
            for (const Bound& bound : by.below) {
                const int order = compare(value.bits, bound.bits, by.type);
                if (order > 0 || (order == 0 && bound.strict)) break;
                found(bound.predicate);
            }
        }
    }

private:
    struct Bound {
        Bits bits;
        bool strict;
        std::uint32_t predicate;
    };
    struct ByColumn {
        int column;
        Type type;
        std::unordered_map<Bits, std::vector<std::uint32_t>> equal;
        std::vector<Bound> above;  // lowest first
        std::vector<Bound> below;  // highest first
    };

    static int compare(Bits x, Bits y, Type type) {
        if (type == Type::Float) {
            return as_float(x) < as_float(y) ? -1 : (as_float(x) > as_float(y) ? 1 : 0);
        }
        return as_int(x) < as_int(y) ? -1 : (as_int(x) > as_int(y) ? 1 : 0);
    }
    ByColumn& by_column(int column);

    const Store& store_;
    std::vector<std::uint32_t> always_;
    std::vector<ByColumn> columns_;
    std::size_t size_ = 0;
};

}  // namespace tyrex
