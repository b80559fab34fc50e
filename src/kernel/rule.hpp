#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "program.hpp"
#include "sliding.hpp"

namespace tyrex {

enum class Policy : std::uint8_t { Each, First, Last };

// A value of an event of the match, as a part of the key of a list's bucket.
struct KeyPart {
    std::uint8_t event;
    std::int16_t column;
    Type from;
    Type to;  // of the list's attribute

    bool operator==(const KeyPart&) const = default;
};

// A list as a rule looks it up: in the bucket that its other events decide.
struct Lookup {
    std::uint32_t family = 0;
    std::uint32_t slot = 0;
    std::vector<KeyPart> key;
};

// An event to be chosen.
struct Step {
    std::uint32_t type;
    Lookup list;
    std::uint8_t anchor;
    Time window;
    Policy policy;
    std::uint64_t k;
    std::vector<Program> conditions;
};

// A stretch of the history: `within` a window before an event, or between two events.
struct Stretch {
    bool between;
    std::uint8_t earlier;  // with `between`
    std::uint8_t later;    // the anchor, without
    Time window;
};

struct NegationCode {
    std::uint32_t type;
    Lookup list;
    std::vector<Program> conditions;
    Stretch stretch;
};

struct AggregateCode {
    Aggregation function;
    std::uint32_t type;
    int column;  // -1 is the timestamp; of no meaning for Count
    Lookup list;
    std::vector<Program> conditions;
    Stretch stretch;
    bool shared;          // depends on the terminator alone, so that its value serves all rules
    std::int64_t sliding;  // the family's number of it, or -1
    Sequence known_for = ~Sequence{0};
    Value known;
};

// A value of the composite event: an attribute of an event as it is, an aggregate, or a program.
struct OutputCode {
    enum class Kind : std::uint8_t { Attribute, Aggregate, Program };

    Kind kind;
    std::uint8_t event;
    std::int16_t column;
    std::uint32_t aggregate;
    Program program;
};

struct RuleCode {
    std::string name;
    std::uint64_t order = 0;  // of deployment
    std::uint32_t defines = 0;
    bool alive = true;
    bool paused = false;
    bool stored = false;  // some rule or subscription looks at what it makes

    std::uint8_t given = 1;  // the events that are not chosen: the terminator, and what set a deadline
    std::vector<std::uint32_t> types;  // of all its events, in order of declaration
    std::vector<Step> steps;
    std::vector<NegationCode> negations;
    std::vector<Program> guards;
    std::vector<OutputCode> outputs;
    std::vector<std::uint8_t> consumes;
    bool types_repeat = false;  // so that one event could be chosen twice

    // What goes before the first chosen event depends on that alone, so that it is kept between terminators.
    bool keeps_beginnings = false;
    bool begins_alone = false;     // and there is at most one choice of it, which is kept with it
    std::uint32_t beginnings = 0;  // their place in the buckets of the first step

    Time deadline = -1;
    std::vector<Program> given_conditions;  // of a deadline: tested when it is set
    int finest = -1;                        // of a calendar timer: 0 (S) to 5 (Year)
    std::vector<Program> timer_conditions;
    std::unordered_set<Row> consumed_first;  // of a deadline: what set it and is consumed

};

struct RuleCounts {
    std::uint64_t evaluated = 0;  // how often its terminator came
    std::uint64_t fired = 0;      // composite events
};

// What simple rules have in common: one event is chosen by `last` or `first`, and the composite takes over
// attributes. Rules that differ only in state and window, as those made from a template do, have the same shape,
// and are evaluated together.
struct Shape {
    struct Output {
        std::uint8_t event;
        std::int16_t column;

        bool operator==(const Output&) const = default;
    };

    bool last = false;
    std::uint32_t family = 0;
    std::uint32_t type = 0;
    std::uint32_t defines = 0;
    std::optional<KeyPart> key;
    std::vector<Output> outputs;

    bool operator==(const Shape&) const = default;
};

constexpr std::uint32_t no_shape = 0xffffffff;

// Where a simple rule differs from others of its shape.
struct Member {
    std::uint32_t shape = no_shape;
    std::uint32_t slot = 0;
    Time window = 0;
    bool paused = false;
    bool stored = false;
};

}  // namespace tyrex
