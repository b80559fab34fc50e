#include "blake2b.hpp"

#include <bit>
#include <cstring>

namespace tyrex {

namespace {

static_assert(std::endian::native == std::endian::little, "the digest reads words as the machine stores them");

constexpr std::uint64_t initial[8] = {
    0x6a09e667f3bcc908ULL, 0xbb67ae8584caa73bULL, 0x3c6ef372fe94f82bULL, 0xa54ff53a5f1d36f1ULL,
    0x510e527fade682d1ULL, 0x9b05688c2b3e6c1fULL, 0x1f83d9abfb41bd6bULL, 0x5be0cd19137e2179ULL};

constexpr std::uint8_t schedule[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

void compress(std::uint64_t* state, const std::uint8_t* block, std::uint64_t length, bool last) {
    std::uint64_t words[16];
    std::memcpy(words, block, sizeof words);
    std::uint64_t v[16];
    std::memcpy(v, state, 64);
    std::memcpy(v + 8, initial, 64);
    v[12] ^= length;
    if (last) v[14] = ~v[14];
    const auto g = [&](int a, int b, int c, int d, std::uint64_t x, std::uint64_t y) {
        v[a] = v[a] + v[b] + x;
        v[d] = std::rotr(v[d] ^ v[a], 32);
        v[c] = v[c] + v[d];
        v[b] = std::rotr(v[b] ^ v[c], 24);
        v[a] = v[a] + v[b] + y;
        v[d] = std::rotr(v[d] ^ v[a], 16);
        v[c] = v[c] + v[d];
        v[b] = std::rotr(v[b] ^ v[c], 63);
    };
    for (int round = 0; round < 12; ++round) {
        const std::uint8_t* s = schedule[round % 10];
        g(0, 4, 8, 12, words[s[0]], words[s[1]]);
        g(1, 5, 9, 13, words[s[2]], words[s[3]]);
        g(2, 6, 10, 14, words[s[4]], words[s[5]]);
        g(3, 7, 11, 15, words[s[6]], words[s[7]]);
        g(0, 5, 10, 15, words[s[8]], words[s[9]]);
        g(1, 6, 11, 12, words[s[10]], words[s[11]]);
        g(2, 7, 8, 13, words[s[12]], words[s[13]]);
        g(3, 4, 9, 14, words[s[14]], words[s[15]]);
    }
    for (int i = 0; i < 8; ++i) state[i] ^= v[i] ^ v[i + 8];
}

}  // namespace

std::array<std::uint8_t, 16> blake2b_16(std::string_view message) {
    std::uint64_t state[8];
    std::memcpy(state, initial, sizeof state);
    state[0] ^= 0x01010000 ^ 16;
    std::uint64_t done = 0;
    const auto* at = reinterpret_cast<const std::uint8_t*>(message.data());
    std::size_t left = message.size();
    while (left > 128) {
        done += 128;
        compress(state, at, done, false);
        at += 128;
        left -= 128;
    }
    std::uint8_t block[128] = {};
    if (left > 0) std::memcpy(block, at, left);
    compress(state, block, done + left, true);
    std::array<std::uint8_t, 16> digest;
    std::memcpy(digest.data(), state, 16);
    return digest;
}

}  // namespace tyrex
