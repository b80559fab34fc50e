#include "team.hpp"

#include <algorithm>
#include <optional>

namespace tyrex {

namespace {

constexpr std::uint16_t nobody = 0xffff;
constexpr std::size_t worth_threads = 128;  // events: waking a thread costs as much as some dozens of them

std::uint16_t share_of(std::uint64_t hash, std::size_t count) {
    return static_cast<std::uint16_t>(hash % count);
}

std::uint64_t hash_time(Time time) { return hash_value(of_int(time), Type::Int, {}); }

}  // namespace

Team::Team(std::vector<std::shared_ptr<Engine>> engines, std::size_t threads)
    : engines_(std::move(engines)), workers_(threads) {}

template <typename Action>
std::vector<std::shared_ptr<Batch>> Team::each(bool in_threads, Action action) {
    std::vector<std::shared_ptr<Batch>> batches(engines_.size());
    const auto task = [&](std::size_t number) {
        Engine& engine = *engines_[number];
        engine.begin();
        action(engine, number);
        batches[number] = engine.end();
    };
    if (in_threads) {
        workers_.run(engines_.size(), task);
    } else {
        for (std::size_t number = 0; number < engines_.size(); ++number) task(number);
    }
    return batches;
}

std::vector<std::shared_ptr<Batch>> Team::send(const Parcel& parcel) {
    const Shares shares = shares_of(parcel);
    return each(parcel.order.size() >= worth_threads, [&](Engine& engine, std::size_t number) {
        engine.send(unpack(parcel, engine.strings(), &shares.engines[number]));
    });
}

std::vector<std::shared_ptr<Batch>> Team::advance(Time time) {
    return each(engines_[0]->waiting() >= worth_threads, [&](Engine& engine, std::size_t) { engine.advance(time); });
}

std::vector<std::shared_ptr<Batch>> Team::flush(bool has_until, Time until) {
    return each(engines_[0]->waiting() >= worth_threads,
                [&](Engine& engine, std::size_t) { engine.flush(has_until, until); });
}

// --- Who gets what ---------------------------------------------------------------------------------------

Team::Shares Team::shares_of(const Parcel& parcel) const {
    Shares shares;
    shares.engines.resize(engines_.size());
    shares.rows.reserve(places_.size() * std::max<std::size_t>(1, parcel.blocks.size()));  // they stay in place
    for (const Place& place : places_) {
        for (std::size_t i = 0; i < place.count; ++i) {
            Share& share = shares.engines[place.first + i];
            share.number = static_cast<std::uint16_t>(i);
            share.shares.resize(parcel.blocks.size(), nullptr);
            share.foreign.resize(parcel.blocks.size(), false);
        }
        divide(parcel, place, shares);
    }
    return shares;
}

void Team::divide(const Parcel& parcel, const Place& place, Shares& shares) const {
    const auto give = [&](std::size_t block, const std::vector<std::uint16_t>* rows) {
        for (std::size_t i = 0; i < place.count; ++i) {
            shares.engines[place.first + i].shares[block] = rows == nullptr ? nullptr : rows->data();
        }
    };
    std::vector<std::optional<Source::Hashes>> hashes(parcel.blocks.size());
    bool whole = true;
    bool nothing = true;
    for (std::size_t b = 0; b < parcel.blocks.size(); ++b) {
        const Parcel::Block& block = parcel.blocks[b];
        const Route& route = place.routes[block.type];
        const bool by_value = place.count > 1 && route.by == Route::By::Value && route.column >= 0;
        if (by_value) hashes[b].emplace(parcel.columns[block.columns[static_cast<std::size_t>(route.column)]]);
        whole = whole && place.count == 1 && route.by != Route::By::Nobody;
        nothing = nothing && route.by == Route::By::Nobody;
    }
    if (whole) return;
    if (nothing) {
        for (std::size_t i = 0; i < place.count; ++i) {
            shares.engines[place.first + i].foreign.assign(parcel.blocks.size(), true);
        }
        return;
    }
    const auto share = [&](std::size_t b, std::size_t row) {
        const Parcel::Block& block = parcel.blocks[b];
        const Route& route = place.routes[block.type];
        if (route.by == Route::By::Nobody) return nobody;
        if (place.count == 1 || route.by == Route::By::First) return std::uint16_t{0};
        if (hashes[b]) return share_of((*hashes[b])[row], place.count);
        return share_of(hash_time(parcel.times[block.times][row]), place.count);
    };
    if (parcel.table) {
        std::vector<std::uint16_t>& rows = shares.rows.emplace_back(parcel.order.size());
        for (std::size_t row = 0; row < rows.size(); ++row) rows[row] = share(parcel.order[row], row);
        for (std::size_t b = 0; b < parcel.blocks.size(); ++b) give(b, &rows);
        return;
    }
    std::vector<std::size_t> counts(parcel.blocks.size(), 0);
    for (const std::uint32_t which : parcel.order) ++counts[which];
    for (std::size_t b = 0; b < parcel.blocks.size(); ++b) {
        const Route& route = place.routes[parcel.blocks[b].type];
        if (route.by == Route::By::Nobody) {
            for (std::size_t i = 0; i < place.count; ++i) shares.engines[place.first + i].foreign[b] = true;
        } else if (place.count > 1) {
            std::vector<std::uint16_t>& rows = shares.rows.emplace_back(counts[b]);
            for (std::size_t row = 0; row < rows.size(); ++row) rows[row] = share(b, row);
            give(b, &rows);
        }
    }
}

void Team::set_places(std::vector<Place> places) {
    places_ = std::move(places);
    if (engines_[0]->waiting() > 0) reroute();
}

bool Team::belongs_to(std::size_t engine, const Pending& pending, const Strings& strings) const {
    for (const Place& place : places_) {
        if (engine < place.first || engine >= place.first + place.count) continue;
        const Route& route = place.routes[pending.type];
        if (route.by == Route::By::Nobody) return false;
        if (place.count == 1 || route.by == Route::By::First) return engine == place.first;
        std::uint64_t hash = hash_time(pending.time);
        if (route.by == Route::By::Value && route.column >= 0) {
            const Value value = pending.values[static_cast<std::size_t>(route.column)];
            const Type type = engines_[engine]->store(pending.type).type(route.column);
            const bool has_text = type == Type::String && !value.null;
            hash = hash_value(value, type, has_text ? strings.text(as_string(value.bits)) : std::string_view());
        }
        return engine == place.first + share_of(hash, place.count);
    }
    return false;
}

// Let every event that waits be where it belongs by now. All engines know of the same ones, in the same order.
void Team::reroute() {
    std::vector<std::vector<Pending>> held;
    for (const std::shared_ptr<Engine>& engine : engines_) held.push_back(engine->take_pending());
    for (std::size_t i = 0; i < held[0].size(); ++i) {
        std::size_t from = 0;
        while (held[from][i].foreign()) ++from;  // somebody has it
        const Pending original = held[from][i];
        const Strings& strings = engines_[from]->strings();
        const auto settle = [&](std::size_t e) {
            Pending& own = held[e][i];
            const bool belongs = belongs_to(e, original, strings);
            if (belongs && own.foreign()) {
                own = original;
                engines_[e]->hold_texts(own, strings);
            } else if (!belongs && !own.foreign()) {
                engines_[e]->release_texts(own);
                own = {own.time, own.arrival, own.type, Pending::elsewhere, {}};
            }
        };
        for (std::size_t e = 0; e < engines_.size(); ++e) {
            if (e != from) settle(e);
        }
        settle(from);  // last, as the others read its texts
    }
    for (std::size_t e = 0; e < engines_.size(); ++e) engines_[e]->give_pending(std::move(held[e]));
}

}  // namespace tyrex
