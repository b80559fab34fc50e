#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tyrex {

// The 16-byte BLAKE2b digest of a message, without a key (RFC 7693).
std::array<std::uint8_t, 16> blake2b_16(std::string_view message);

}  // namespace tyrex
