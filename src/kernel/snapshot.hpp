#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine.hpp"

namespace tyrex {

// A list, by where its family keeps it.
struct ListPlace {
    std::uint32_t family;
    std::uint32_t slot;
};

// The state of an engine as bytes: its stored events, its lists, its deadlines, what waits, and its clock.
//
// What the rules are is not in it. Whoever restores has deployed the same rules in the same order, and names
// them, their types and their lists in the order in which they were named when the state was saved.
std::string save(Engine& engine, const std::vector<std::uint32_t>& rules, const std::vector<ListPlace>& lists);

// Fails with std::invalid_argument if the bytes are no such state.
void load(Engine& engine, std::string_view state, const std::vector<std::uint32_t>& rules,
          const std::vector<ListPlace>& lists);

}  // namespace tyrex
