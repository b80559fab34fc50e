#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine.hpp"

namespace tyrex {

// A run of one of several batches, in the order in which one engine alone would have made it.
struct Piece {
    std::uint32_t part;
    std::uint32_t run;
    std::uint64_t number;  // of its first composite among all
};

// A subscription's hit of one of several batches; `number` is that of the composite among all.
struct MergedHit {
    std::uint32_t part;
    std::uint32_t hit;
    std::uint64_t number;
};

// What engines that share a stream made of one call, each its batch, put in order.
struct Merge {
    struct Part {
        std::shared_ptr<Engine> engine;
        std::shared_ptr<Batch> batch;
    };

    explicit Merge(std::vector<Part> given);

    const Run& run(const Piece& piece) const { return parts[piece.part].batch->runs[piece.run]; }
    const Piece& piece_of(std::uint64_t number) const;
    std::vector<MergedHit> hits() const;

    // The composites of one type, by the pieces that have them.
    struct Table {
        std::uint32_t type;
        std::uint64_t rows;
        std::vector<std::size_t> pieces;
    };
    const std::vector<Table>& tables();

    std::vector<Part> parts;
    std::vector<Piece> pieces;
    std::uint64_t size = 0;

private:
    std::vector<Table> tables_;  // made when they are asked for

    struct Cursor;

    void put(std::uint32_t part, std::size_t run);
    void put_generations(std::vector<Cursor*>& meeting);
};

}  // namespace tyrex
